import type { Options, Report } from './bench.ts'
import { chosen } from './queue/chosen.ts'
import { Measurer } from './queue/measure.ts'
import { cycle, httpBatch, httpSingle, latency, socketSingle } from './rpc/scenarios.ts'

export const name = 'rpc'
export const question =
  'What does Fairlead reach over the network, durable, with workers in other processes?'

const REPEATS = 3
const SECONDS = 5
const LATENCY_SECONDS = 8

export async function run(report: Report, options: Options): Promise<void> {
  const cases = chosen(options.only, Object.keys(CASES) as CaseName[], 'case')
  for (const one of cases) await CASES[one](report, options)
}

/** Runs a scenario a few times, each on a fresh server. */
async function repeated<Figures>(
  report: Report,
  { repeats = REPEATS }: Options,
  what: string,
  once: () => Promise<Figures>,
): Promise<Figures[]> {
  const figures: Figures[] = []
  for (let i = 1; i <= repeats; i++) {
    report.progress(`${what}, ${i} of ${repeats}`)
    figures.push(await once())
  }
  return figures
}

async function rate(
  report: Report,
  options: Options,
  what: string,
  once: (seconds: number) => Promise<number>,
): Promise<number> {
  const seconds = options.seconds ?? SECONDS
  const values = await repeated(report, options, what, () => once(seconds))
  return report.measured({ case: what, subject: 'fairlead', unit: 'jobs/s', values })
}

const CASES = {
  async http(report: Report, options: Options): Promise<void> {
    await rate(report, options, 'enqueue over HTTP, 100 in flight', httpSingle)
    await rate(report, options, 'enqueue over HTTP, batches of 1,000', httpBatch)
  },

  async websocket(report: Report, options: Options): Promise<void> {
    const reached = await rate(
      report,
      options,
      'enqueue over a WebSocket, 100 in flight',
      socketSingle,
    )
    report.bar({ bar: 'single enqueues a second over a WebSocket', reached, atLeast: 8_000 })
  },

  async cycle(report: Report, options: Options): Promise<void> {
    const reached = await rate(report, options, 'full cycle, 4 workers in other processes', cycle)
    report.bar({ bar: 'full cycles a second over WebSockets', reached, atLeast: 5_000 })
    await steadyOfBullmq(report, options)
  },

  async latency(report: Report, options: Options): Promise<void> {
    const what = 'enqueue to handler in another process, 100 jobs/s'
    const seconds = options.seconds ?? LATENCY_SECONDS
    const figures = await repeated(report, options, what, () => latency(seconds))
    const of = (figure: 'p50' | 'p99') =>
      report.measured({
        case: `${what}, ${figure}`,
        subject: 'fairlead',
        unit: 'ms',
        values: figures.map((one) => one[figure]),
      })
    of('p50')
    report.bar({ bar: 'p99 of enqueue to handler, ms', reached: of('p99'), atMost: 15 })
  },
}

type CaseName = keyof typeof CASES

/** For comparison, in the same run: BullMQ with its workers in the process that enqueues. */
async function steadyOfBullmq(report: Report, options: Options): Promise<void> {
  const measurer = new Measurer(report, ['bullmq'])
  try {
    const what = 'steady of BullMQ, 100 in flight'
    const figures = await measurer.inTurns({
      scenario: 'steady',
      what,
      entrants: [{ name: 'bullmq', subject: 'bullmq' }],
      repeats: options.repeats ?? REPEATS,
      sizes: { jobs: 0, drained: 0, seconds: options.seconds ?? SECONDS },
    })
    const values = figures.get('bullmq')?.map(({ rate: reached }) => reached ?? 0) ?? []
    if (values.length === 0) return
    report.measured({ case: what, subject: 'bullmq', unit: 'jobs/s', values })
  } finally {
    await measurer.close()
  }
}
