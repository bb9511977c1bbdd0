import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { worker } from '@fairlead/client'
import { callerOf, enqueueJob, openMarket, parsePolicy, taskDemand } from '@fairlead/core'
import { type Engine, openEngine } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { heapBytes, type Options, type Report } from './bench.ts'
import { callerNumber, jobIdNumber } from './fixtures.ts'

export const name = 'delayed'
export const question =
  'How much heap does a delayed job take, and how close to its time does it run?'

const JOBS = 1_000_000
const START = 1_760_000_000_000
const PER_SECOND = 1_000
const WARM_UP_MS = 2_000
/** Requests in one call. */
const BATCH = 1_000

export async function run(report: Report, { jobs = JOBS, seconds = 10 }: Options): Promise<void> {
  const plain = bytesOf(jobs, false)
  const delayed = bytesOf(jobs, true)
  const row = (subject: string, values: number[]) =>
    report.measured({ case: 'heap with its id and index', subject, unit: 'bytes/job', values })
  row('a job that is ready', [plain])
  row('a delayed job', [delayed])
  report.bar({ bar: 'bytes of heap a delayed job', reached: delayed, atMost: 450 })

  const lags = (await fire(report, jobs, seconds)).sort((a, b) => a - b)
  const at = (share: number): number => lags[Math.floor(share * lags.length)] ?? Number.NaN
  for (const [what, share, atMost] of [
    ['median', 0.5, 20],
    ['p99', 0.99, 100],
  ] as const) {
    const subject = `${PER_SECOND} jobs a second, ${jobs.toLocaleString('en')} more delayed`
    report.measured({ case: `after its time, ${what}`, subject, unit: 'ms', values: [at(share)] })
    report.bar({ bar: `ms after its time, ${what}`, reached: at(share), atMost })
  }
}

/** Bytes of a market with so many jobs, for each. */
function bytesOf(jobs: number, isDelayed: boolean): number {
  const demand = taskDemand('mail')
  const caller = callerNumber(1)
  const before = heapBytes()
  const policy = parsePolicy({ queue: { max_depth: jobs } })
  const market = openMarket({ policy, nowMs: START })
  for (let n = 0; n < jobs; n++) {
    enqueueJob(market, {
      id: jobIdNumber(n),
      kind: 'task',
      caller,
      tier: 'FREE',
      fee: 0n,
      sizeBytes: 100,
      demand,
      regions: null,
      ttlAbsSecs: null,
      options: isDelayed ? { runAt: START + 3_600_000 + ((n * 7_919) % 86_400_000) } : null,
      enqueueSeq: n + 1,
    })
  }
  const bytes = (heapBytes() - before) / jobs
  if (market.jobs.size !== jobs) throw new Error('a job is missing')
  return bytes
}

/** How late each job begins in its worker, in ms. */
async function fire(report: Report, jobs: number, seconds: number): Promise<number[]> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-delayed-'))
  const store = await openSqliteStore(join(folder, 'fairlead.db'))
  const engine = await openEngine({
    store,
    policy: { queue: { max_depth: 2 * JOBS, quotas: { leases_max_per_provider: 100_000 } } },
  })
  try {
    await enqueueAll(engine, jobs, (n) => ({ delay_ms: 86_400_000 + n }))
    report.progress(`${jobs.toLocaleString('en')} delayed jobs are in the queue`)
    await engine.checkpoint()
    const count = PER_SECOND * seconds
    const loadMs = WARM_UP_MS + count / 5
    const from = Date.now() + loadMs
    const runAt = (n: number): number => from + Math.floor((1_000 * n) / PER_SECOND)
    await enqueueAll(engine, count, (n) => ({ run_at: runAt(n) }), 'now')
    return await lagsOf(engine, count, runAt)
  } finally {
    await engine.close()
    rmSync(folder, { recursive: true })
  }
}

async function enqueueAll(
  engine: Engine,
  count: number,
  options: (n: number) => object,
  name = 'later',
): Promise<void> {
  const by = { caller: callerOf('bench') }
  for (let first = 0; first < count; first += BATCH) {
    const size = Math.min(BATCH, count - first)
    const requests = Array.from({ length: size }, (_, i) => {
      const n = first + i
      return { kind: 'task', payload: { name, args: { n } }, ...options(n) }
    })
    for (const answer of await engine.enqueueMany(requests, by)) {
      if (answer.status === 'rejected') throw answer.reason
    }
  }
}

async function lagsOf(
  engine: Engine,
  count: number,
  runAt: (n: number) => number,
): Promise<number[]> {
  const lags: number[] = []
  const all = deferred()
  const one = worker({
    source: engine.leaseSource(),
    providerId: 'provider:bench',
    kinds: ['task'],
    concurrency: 400,
    handler: (job) => {
      const { args } = job.payload as unknown as { args: { n: number } }
      lags.push(Date.now() - runAt(args.n))
      if (lags.length === count) all.done()
    },
    onError: all.failed,
  })
  await all.promise
  await one.stop()
  return lags
}

function deferred() {
  let done = (): void => {}
  let failed: (error: unknown) => void = () => {}
  const promise = new Promise<void>((resolve, reject) => {
    done = resolve
    failed = reject
  })
  return { promise, done, failed }
}
