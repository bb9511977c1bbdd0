import { createLimiter, createScheduler, modelKeys } from '@fairlead/limiter'
import type { Options, Report } from './bench.ts'
import { ACCURACY_BACKENDS, accuracyOf } from './limiter/accuracy.ts'
import { MEMORY_OPERATIONS } from './limiter/memory-operations.ts'
import { REDIS_OPERATIONS } from './limiter/redis-operations.ts'
import { type Operation, rateOf } from './limiter/workload.ts'
import { chosen } from './queue/chosen.ts'
import { installPeers } from './queue/servers/install-peers.ts'
import { Servers } from './queue/servers/servers.ts'

export const name = 'limiter'
export const question = 'How many decisions a second does the limiter make, and how exact are they?'

const REPEATS = 3
const SECONDS = 1
const IN_FLIGHT = [1, 50, 500]
const SCHEDULED_JOBS = 100_000
const MEMORY_IN_FLIGHT = 50

type CaseName = keyof typeof CASES

export async function run(report: Report, options: Options): Promise<void> {
  const cases = chosen(options.only, Object.keys(CASES) as CaseName[], 'case')
  const problem = installPeers(report.progress)
  if (problem !== null) report.note(`without peers: ${problem}`)
  const servers = new Servers()
  try {
    for (const one of cases) await CASES[one]({ report, options, servers })
  } finally {
    await servers.close()
  }
}

interface Run {
  readonly report: Report
  readonly options: Options
  readonly servers: Servers
}

const CASES = {
  async memory({ report, options }: Run): Promise<void> {
    const makers = Object.entries(MEMORY_OPERATIONS)
    const operations = await made(report, options, makers, (make) => make())
    const rates = await inTurns(report, options, {
      what: `memory, ${MEMORY_IN_FLIGHT} in flight`,
      operations,
      inFlight: MEMORY_IN_FLIGHT,
    })
    bar(report, 'memory: pairs of 3 keys a second', rates.get('fairlead-3'), 300_000)
    const ratio = ratioOf(rates.get('fairlead'), rates.get('p-queue'))
    bar(report, 'memory: pairs of 1 key, to p-queue', ratio, 1)
  },

  async redis({ report, options, servers }: Run): Promise<void> {
    for (const inFlight of IN_FLIGHT) {
      await servers.use('redis', async ({ url }) => {
        const makers = Object.entries(REDIS_OPERATIONS)
        const operations = await made(report, options, makers, (make) => make(url))
        const what = `redis, ${inFlight} in flight`
        const rates = await inTurns(report, options, { what, operations, inFlight })
        for (const { close } of operations) await close?.()
        if (inFlight !== MEMORY_IN_FLIGHT) return
        const own = rates.get('fairlead-3')
        bar(
          report,
          'redis: pairs of 3 keys, to bare EVALSHA',
          ratioOf(own, rates.get('bare EVALSHA')),
          0.25,
        )
        const peer = ratioOf(own, rates.get('rate-limiter-flexible-3'))
        bar(report, 'redis: pairs of 3 keys, to rate-limiter-flexible', peer, 1)
        bar(
          report,
          'redis: reservations a second by reserveMany',
          rates.get('fairlead-many'),
          100_000,
        )
      })
    }
  },

  async scheduler({ report, options }: Run): Promise<void> {
    const values: number[] = []
    for (let i = 0; i < (options.repeats ?? REPEATS); i++) {
      report.progress(`scheduler: run ${i + 1}`)
      values.push(await scheduledJobs())
    }
    const unit = 'jobs/s'
    const rate = report.measured({
      case: 'scheduler, jobs that do nothing',
      subject: 'fairlead',
      unit,
      values,
    })
    bar(report, 'scheduler: jobs a second', rate, 100_000)
  },

  async accuracy({ report, servers }: Run): Promise<void> {
    await servers.use('redis', async ({ url }) => {
      for (const [where, backend] of [
        ['memory', ACCURACY_BACKENDS.memory()],
        ['redis', ACCURACY_BACKENDS.redis(url)],
      ] as const) {
        for (const kind of ['rolling', 'fixed'] as const) {
          report.progress(`accuracy: ${kind} on ${where}`)
          const { admitted, most } = await accuracyOf(kind, backend)
          bar(report, `accuracy: ${kind} on ${where}, admitted of the capacity`, admitted, 0.97)
          const exact = `accuracy: ${kind} on ${where}, most in any window`
          report.bar({ bar: exact, reached: most, atMost: 1 })
        }
      }
    })
  },
}

/** Those that were asked for and can be had. */
async function made<Maker>(
  report: Report,
  options: Options,
  makers: readonly (readonly [string, Maker])[],
  make: (maker: Maker) => Promise<Operation>,
): Promise<Operation[]> {
  const wanted = makers.filter(
    ([subject]) => options.subjects.length === 0 || options.subjects.includes(subject),
  )
  const operations: Operation[] = []
  for (const [subject, maker] of wanted) {
    try {
      operations.push(await make(maker))
    } catch (error) {
      report.note(`${subject} is left out: ${(error as Error).message}`)
    }
  }
  return operations
}

/** A B C A B C …, because the machine may drift; the first round only warms up. */
async function inTurns(
  report: Report,
  options: Options,
  { what, operations, inFlight }: { what: string; operations: Operation[]; inFlight: number },
): Promise<ReadonlyMap<string, number>> {
  const repeats = options.repeats ?? REPEATS
  const seconds = options.seconds ?? SECONDS
  const values = new Map<string, number[]>(operations.map((one) => [one.name, []]))
  for (let i = 0; i <= repeats; i++) {
    for (const operation of operations) {
      report.progress(
        `${what}: ${operation.name}, ${i === 0 ? 'warming up' : `run ${i} of ${repeats}`}`,
      )
      const rate = await rateOf(operation, { inFlight, seconds })
      if (i > 0) values.get(operation.name)?.push(rate)
    }
  }
  const rows = operations.map((one) => ({
    subject: one.name,
    durability: one.note,
    values: values.get(one.name) ?? [],
  }))
  return report.table({ case: what, unit: 'operations/s', rows })
}

async function scheduledJobs(): Promise<number> {
  const { rpm, tpm, concurrency } = modelKeys('bench', 'model')
  const limiter = createLimiter({
    limits: [
      { key: rpm, kind: 'rolling', capacity: 1e12, windowSecs: 60 },
      { key: tpm, kind: 'rolling', capacity: 1e12, windowSecs: 60 },
      { key: concurrency, kind: 'concurrency', capacity: 1e9, timeoutSecs: 300 },
    ],
  })
  const scheduler = createScheduler({ limiter, workers: 100 })
  const execute = async () => ({ value: null, actualTokens: 7 })
  // Not `{ ...base, tenant }`: in Node 20 each such object has a shape of its own, and making them costs as much as
  // half of the scheduler.
  const job = (tenant: string) => ({
    tenant,
    provider: 'bench',
    model: 'model',
    prompt: 'hello',
    maxOutputTokens: 10,
    execute,
  })
  const started = performance.now()
  await Promise.all(
    Array.from({ length: SCHEDULED_JOBS }, (_, i) => scheduler.submit(job(`tenant-${i % 10}`))),
  )
  const seconds = (performance.now() - started) / 1_000
  await scheduler.shutdown()
  return SCHEDULED_JOBS / seconds
}

/** Nothing is said of a bar whose figures were not asked for. */
function bar(report: Report, text: string, reached: number | undefined, atLeast: number): void {
  if (reached !== undefined) report.bar({ bar: text, reached, atLeast })
}

function ratioOf(own: number | undefined, other: number | undefined): number | undefined {
  return own === undefined || other === undefined ? undefined : own / other
}
