// A process with an engine and a worker under load, made to be killed. It says on standard output what
// it has had answered, line by line: `E key job` for an enqueue, `C job` for a completion.
import { callerOf } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'

const [file, from] = process.argv.slice(2)
const PROVIDER = 'provider:worker'
const by = { caller: callerOf('crash') }
const say = (line) => process.stdout.write(`${line}\n`)

const engine = await openEngine({ store: await openSqliteStore(file) })
await engine
  .registerProvider(PROVIDER, { capabilities: new Set(['task']), models: new Set(['*']) })
  .catch((error) => {
    if (error.code !== 'InvalidState') throw error
  })
engine.onLease(PROVIDER, (offer) => void serve(offer))

async function serve({ leaseId, jobId }) {
  const holder = { leaseId, by: PROVIDER }
  await engine.ack(holder)
  await engine.complete({ ...holder, output: Buffer.from(jobId) })
  say(`C ${jobId}`)
}

// Sixteen callers at once, each waiting for its answer before it asks again.
let next = Number(from)
await Promise.all(
  Array.from({ length: 16 }, async () => {
    for (;;) {
      const key = `k-${next++}`
      const payload = { name: 'echo', args: { key } }
      const jobId = await engine.enqueue({ kind: 'task', payload, idempotency_key: key }, by)
      say(`E ${key} ${jobId}`)
    }
  }),
)
