import { createLimiter, createScheduler, modelKeys } from '@fairlead/limiter'
import type { Options, Report } from './bench.ts'
import { inTurns, medianRatio } from './in-turns.ts'
import { ACCURACY_BACKENDS, accuracyOf } from './limiter/accuracy.ts'
import { MEMORY_OPERATIONS, newPQueue, type PQueue } from './limiter/memory-operations.ts'
import { REDIS_OPERATIONS } from './limiter/redis-operations.ts'
import { type Operation, rateOf } from './limiter/workload.ts'
import { chosen } from './queue/chosen.ts'
import { installPeers } from './queue/servers/install-peers.ts'
import { Servers } from './queue/servers/servers.ts'

export const name = 'limiter'
export const question = 'How many decisions a second does the limiter make, and how exact are they?'

const REPEATS = 7
const SECONDS = 0.5
const IN_FLIGHT = [1, 50, 500]
const SCHEDULED_JOBS = 100_000
const SCHEDULER_WORKERS = 100
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
    const rates = await compared(report, options, {
      what: `memory, ${MEMORY_IN_FLIGHT} in flight`,
      operations,
      inFlight: MEMORY_IN_FLIGHT,
    })
    ratioBar(report, 'memory: pairs of 3 keys', rates, ['fairlead-3', 'p-queue'], 0.45)
    ratioBar(report, 'memory: pairs of 1 key', rates, ['fairlead', 'p-queue'], 1)
  },

  async redis({ report, options, servers }: Run): Promise<void> {
    for (const inFlight of IN_FLIGHT) {
      await servers.use('redis', async ({ url }) => {
        const makers = Object.entries(REDIS_OPERATIONS)
        const operations = await made(report, options, makers, (make) => make(url))
        const what = `redis, ${inFlight} in flight`
        const rates = await compared(report, options, { what, operations, inFlight })
        for (const { close } of operations) await close?.()
        if (inFlight !== MEMORY_IN_FLIGHT) return
        const [pairs, many] = ['redis: pairs of 3 keys', 'redis: reservations by reserveMany']
        ratioBar(report, pairs, rates, ['fairlead-3', 'bare EVALSHA'], 0.25)
        ratioBar(report, pairs, rates, ['fairlead-3', 'rate-limiter-flexible-3'], 1)
        ratioBar(report, many, rates, ['fairlead-many', 'bare EVALSHA'], 0.8)
      })
    }
  },

  async scheduler({ report, options }: Run): Promise<void> {
    const queue = await optional(report, 'p-queue', () => newPQueue(SCHEDULER_WORKERS))
    const rates: Rates = await inTurns(report, {
      what: 'scheduler',
      measures: {
        fairlead: scheduledJobs,
        ...(queue === null ? {} : { 'p-queue': () => jobsOfPQueue(queue) }),
      },
      repeats: options.repeats ?? REPEATS,
    })
    for (const [subject, values] of Object.entries(rates)) {
      report.measured({ case: 'jobs that do nothing', subject, unit: 'jobs/s', values })
    }
    ratioBar(report, 'scheduler: jobs', rates, ['fairlead', 'p-queue'], 0.35)
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
          const used = `accuracy: ${kind} on ${where}, admitted of the capacity`
          report.bar({ bar: used, reached: admitted, atLeast: 0.97 })
          const exact = `accuracy: ${kind} on ${where}, most in any window`
          report.bar({ bar: exact, reached: most, atMost: 1 })
        }
      }
    })
  },
}

/** Runs of each, by subject. */
type Rates = Readonly<Record<string, number[]>>

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
    const operation = await optional(report, subject, () => make(maker))
    if (operation !== null) operations.push(operation)
  }
  return operations
}

/** Null, with a note, where a peer cannot be had. */
async function optional<T>(
  report: Report,
  subject: string,
  make: () => Promise<T>,
): Promise<T | null> {
  try {
    return await make()
  } catch (error) {
    report.note(`${subject} is left out: ${(error as Error).message}`)
    return null
  }
}

async function compared(
  report: Report,
  options: Options,
  { what, operations, inFlight }: { what: string; operations: Operation[]; inFlight: number },
): Promise<Rates> {
  const seconds = options.seconds ?? SECONDS
  const measures = operations.map(
    (one) => [one.name, () => rateOf(one, { inFlight, seconds })] as const,
  )
  const rates: Rates = await inTurns(report, {
    what,
    measures: Object.fromEntries(measures),
    repeats: options.repeats ?? REPEATS,
  })
  const rows = operations.map(({ name, note }) => ({
    subject: name,
    durability: note,
    values: rates[name] ?? [],
  }))
  report.table({ case: what, unit: 'operations/s', rows })
  return rates
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
  const scheduler = createScheduler({ limiter, workers: SCHEDULER_WORKERS })
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

/** As many jobs, submitted in the same way; nothing is limited but how many run. */
async function jobsOfPQueue(queue: PQueue): Promise<number> {
  const started = performance.now()
  await Promise.all(Array.from({ length: SCHEDULED_JOBS }, () => queue.add(async () => {})))
  return (1_000 * SCHEDULED_JOBS) / (performance.now() - started)
}

/** The median of the ratios of the two, run by run. A bar is not judged without both figures. */
function ratioBar(
  report: Report,
  what: string,
  rates: Rates,
  [own, other]: readonly [own: string, other: string],
  atLeast: number,
): void {
  const [above, below] = [rates[own], rates[other]]
  if (above === undefined || below === undefined) return
  report.bar({ bar: `${what}, to ${other}`, reached: medianRatio(above, below), atLeast })
}
