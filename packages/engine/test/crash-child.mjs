// A process with an engine and two workers under load, made to be killed. It says on standard output what
// it has had answered, line by line: `E key job` for an enqueue, `C job` for a completion. The first line is `R n`
// with the number of batches that it has to replay. As `drain` it takes nothing new in, and ends when all that is
// left has been done. Told to hurry, its tables commit and checkpoint within milliseconds, a few rows at a time, so
// that it dies in the middle of that.
import { setTimeout as delay } from 'node:timers/promises'
import { worker } from '@fairlead/client'
import { callerOf } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'

const [file, from, mode, haste] = process.argv.slice(2)
const CALLERS = 16
const WAITING_MAX = 200
const HURRIED = { rows: 64, bytes: 65_536, ms: 5, checkpointBytes: 65_536, checkpointMs: 10 }
const by = { caller: callerOf('crash') }
let next = Number(from)
const say = (line) => process.stdout.write(`${line}\n`)

const store = await openSqliteStore(file, {}, haste === 'hurry' ? { pace: HURRIED } : {})
say(`R ${store.report.logBatch - store.report.tablesBatch}`)
const engine = await openEngine({
  store,
  // A dead worker's leases come back soon: each process is another worker.
  policy: { queue: { worker_lost_ms: 300 } },
})

/** Leases of the engine; a completion is told once it was answered. */
const source = {
  async open(hello, listener) {
    const session = await engine.leaseSource().open(hello, listener)
    const complete = session.complete.bind(session)
    session.complete = async (leaseId, result) => {
      await complete(leaseId, result)
      say(`C ${Buffer.from(result.output).toString()}`)
    }
    return session
  },
}

const workers = Array.from({ length: 2 }, () =>
  worker({
    source,
    providerId: 'provider:crash',
    kinds: ['task'],
    concurrency: 8,
    handler: async ({ jobId }) => {
      await delay(Math.random() * 20)
      return Buffer.from(jobId)
    },
  }),
)

if (mode === 'drain') await drain()
else {
  await giveAllBack()
  await Promise.all(Array.from({ length: CALLERS }, enqueueForever))
}

/** A provider that begins nothing: what it is offered goes from it to another, or to it once more. */
async function giveAllBack() {
  const hello = {
    providerId: 'provider:fickle',
    workerId: `fickle-${process.pid}`,
    slots: 2,
    holds: [],
  }
  const session = await engine.leaseSource().open(
    { ...hello, offer: { kinds: ['task'], models: ['*'], platforms: [] } },
    {
      offer: ({ leaseId }) => void delay(5).then(() => session.release(leaseId)),
      held() {},
      lost() {},
      closed() {},
    },
  )
}

/** Each caller waits for its answer before it asks again. */
async function enqueueForever() {
  for (;;) {
    while (engine.stats().waiting.task > WAITING_MAX) await delay(5)
    const key = `k-${next++}`
    const payload = { name: 'echo', args: { key } }
    const jobId = await engine.enqueue({ kind: 'task', payload, idempotency_key: key }, by)
    say(`E ${key} ${jobId}`)
  }
}

async function drain() {
  const isDone = () => engine.stats().waiting.task === 0 && engine.stats().leases === 0
  if (!isDone()) {
    await new Promise((resolve) => void engine.onEvent(() => isDone() && resolve()))
  }
  await Promise.all(workers.map((running) => running.stop()))
  await engine.close()
}
