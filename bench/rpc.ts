import type { Options, Report } from './bench.ts'
import { inTurns, medianRatio } from './in-turns.ts'
import { chosen } from './queue/chosen.ts'
import { Measurer } from './queue/measure.ts'
import {
  cycle,
  FAIRLEAD,
  httpBatch,
  httpSingle,
  latency,
  RELAY,
  type Subject,
  socketSingle,
} from './rpc/scenarios.ts'

export const name = 'rpc'
export const question =
  'What does Fairlead reach over the network, durable, with workers in other processes?'

const REPEATS = 5
const SECONDS = 3
const LATENCY_SECONDS = 8

export async function run(report: Report, options: Options): Promise<void> {
  const cases = chosen(options.only, Object.keys(CASES) as CaseName[], 'case')
  for (const one of cases) await CASES[one](report, options)
}

const CASES = {
  async http(report: Report, options: Options): Promise<void> {
    const seconds = options.seconds ?? SECONDS
    const figures = await inTurns(report, {
      what: 'HTTP',
      measures: {
        'enqueue over HTTP, 100 in flight': () => httpSingle(seconds),
        'enqueue over HTTP, batches of 1,000': () => httpBatch(seconds),
      },
      repeats: options.repeats ?? REPEATS,
      warmUps: 0,
    })
    for (const [what, values] of Object.entries(figures)) {
      report.measured({ case: what, subject: 'fairlead', unit: 'jobs/s', values })
    }
  },

  async websocket(report: Report, options: Options): Promise<void> {
    const what = 'enqueue over a WebSocket, 100 in flight'
    const seconds = options.seconds ?? SECONDS
    const figures = await both(report, options, what, (subject) => socketSingle(subject, seconds))
    const reached = ratio(report, what, 'jobs/s', figures)
    report.bar({ bar: 'single enqueues over a WebSocket, to the relay', reached, atLeast: 0.2 })
  },

  async cycle(report: Report, options: Options): Promise<void> {
    const what = 'full cycle, 4 workers in other processes'
    const seconds = options.seconds ?? SECONDS
    const figures = await both(report, options, what, (subject) => cycle(subject, seconds))
    const reached = ratio(report, what, 'jobs/s', figures)
    report.bar({ bar: 'full cycles over WebSockets, to the relay', reached, atLeast: 0.08 })
  },

  bullmq: steadyOfBullmq,

  async latency(report: Report, options: Options): Promise<void> {
    const what = 'enqueue to handler in another process, 100 jobs/s'
    const seconds = options.seconds ?? LATENCY_SECONDS
    // At the same time, and not in turns: a stall of the machine then meets both.
    const { runs } = await inTurns(report, {
      what,
      measures: { runs: () => Promise.all([latency(FAIRLEAD, seconds), latency(RELAY, seconds)]) },
      repeats: options.repeats ?? REPEATS,
      warmUps: 0,
    })
    const of = (figure: 'p50' | 'p99') =>
      ratio(report, `${what}, ${figure}`, 'ms', {
        fairlead: runs.map(([fairlead]) => fairlead[figure]),
        relay: runs.map(([, relay]) => relay[figure]),
      })
    of('p50')
    report.bar({ bar: 'p99 of enqueue to handler, to the relay', reached: of('p99'), atMost: 2.5 })
  },
}

interface Both<Figure> {
  readonly fairlead: readonly Figure[]
  readonly relay: readonly Figure[]
}

/** Fairlead and the relay in turns, each run in fresh processes. */
function both<Figure>(
  report: Report,
  { repeats = REPEATS }: Options,
  what: string,
  measure: (subject: Subject) => Promise<Figure>,
): Promise<Both<Figure>> {
  const measures = { fairlead: () => measure(FAIRLEAD), relay: () => measure(RELAY) }
  return inTurns(report, { what, measures, repeats, warmUps: 0 })
}

/** Shows both, and gives their ratio run by run. */
function ratio(
  report: Report,
  what: string,
  unit: string,
  { fairlead, relay }: Both<number>,
): number {
  report.measured({ case: what, subject: 'fairlead', unit, values: fairlead })
  report.measured({ case: what, subject: 'relay', unit, values: relay })
  return medianRatio(fairlead, relay)
}

type CaseName = keyof typeof CASES

/** For comparison with `cycle`: BullMQ with its workers in the process that enqueues. */
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
