import { median, type Options, type Report } from './bench.ts'
import { medianRatio } from './in-turns.ts'
import { chosen } from './queue/chosen.ts'
import { Measurer } from './queue/measure.ts'
import { restartSeconds, stopSeconds } from './queue/restart.ts'
import {
  type Figures,
  LATENCY_EVERY_MS,
  percentiles,
  type ScenarioName,
  type Sizes,
} from './queue/scenarios.ts'
import { SUBJECT_NAMES, SUBJECTS, type SubjectName } from './queue/subject.ts'
import { syncAlone } from './yardsticks/sync-alone.ts'

export const name = 'queue'
export const question =
  'How do Fairlead and its peers compare on the same work: 200 bytes a job, an empty handler?'

const REPEATS = 3
const DRAIN_JOBS = 50_000
const ENQUEUE_SECONDS = 2
const STEADY_SECONDS = 5
const LASTING_SECONDS = 90
const RESTART_JOBS = 300_000
const STOP_JOBS = 140_000
const LATENCY_SECONDS = 8
const BACKLOGS = [10_000, 100_000, 1_000_000]
const BACKLOG_DRAINED = 20_000

const POSTGRES_PEERS: readonly SubjectName[] = ['graphile-worker', 'pg-boss']
const PEERS = SUBJECT_NAMES.filter((subject) => SUBJECTS[subject].isPeer)

/** The medians of one case by subject; what was not measured is not in it. */
type Medians = ReadonlyMap<string, number>

export async function run(report: Report, options: Options): Promise<void> {
  const subjects = chosen(options.subjects, SUBJECT_NAMES, 'subject')
  const cases = chosen(options.only, Object.keys(CASES) as CaseName[], 'case')
  const measurer = new Measurer(report, subjects)
  try {
    for (const one of cases) await CASES[one](new Run(report, measurer, subjects, options))
  } finally {
    await measurer.close()
  }
}

const CASES = {
  async enqueue(run: Run): Promise<void> {
    const sizes = { seconds: ENQUEUE_SECONDS }
    const rates = async (scenario: ScenarioName, what: string): Promise<Medians> =>
      run.table({ scenario, sizes, case: `enqueue, ${what}`, unit: 'jobs/s' })
    await rates('enqueue-1', '1 in flight')
    const inFlight = await rates('enqueue-100', '100 in flight')
    run.ratioBar(inFlight, ['bullmq'], {
      bar: 'enqueue with 100 in flight against BullMQ',
      atLeast: 2,
    })
    const keyed = await rates('enqueue-keyed', '100 in flight, each with a key')
    run.ratioBar(keyed, ['bullmq'], { bar: 'enqueue with keys against BullMQ', atLeast: 1.5 })
    const batches = await rates('enqueue-batch', 'batches of 1,000')
    run.ratioBar(batches, POSTGRES_PEERS, {
      bar: 'enqueue in batches against the best PostgreSQL peer',
      atLeast: 2,
    })
  },

  async drain(run: Run): Promise<void> {
    const jobs = run.options.jobs ?? DRAIN_JOBS
    const rates = await run.table({
      scenario: 'drain',
      sizes: { jobs },
      case: `drain, ${shown(jobs)} waiting`,
      unit: 'jobs/s',
    })
    run.ratioBar(rates, PEERS, { bar: 'drain against the best peer', atLeast: 1.2 })
  },

  async steady(run: Run): Promise<void> {
    const rates = await run.table({
      scenario: 'steady',
      sizes: { seconds: STEADY_SECONDS },
      case: 'steady, 100 enqueues in flight while workers complete',
      unit: 'jobs/s',
    })
    run.ratioBar(rates, PEERS, { bar: 'steady against the best peer', atLeast: 2.2 })
  },

  async lasting(run: Run): Promise<void> {
    const rates = await run.table({
      scenario: 'steady',
      sizes: { seconds: LASTING_SECONDS },
      case: `steady for ${LASTING_SECONDS} s`,
      unit: 'jobs/s',
      repeats: 1,
    })
    const bar = `steady for ${LASTING_SECONDS} s against the best peer`
    run.ratioBar(rates, PEERS, { bar, atLeast: 1.8 })
  },

  async restart(run: Run): Promise<void> {
    const restarts: number[] = []
    const stops: number[] = []
    for (let i = 1; i <= run.repeats; i++) {
      run.report.progress(`restart and stop, ${i} of ${run.repeats}`)
      restarts.push(await restartSeconds(RESTART_JOBS))
      stops.push(await stopSeconds(STOP_JOBS))
    }
    const subject = 'fairlead'
    const killed = `ready after SIGKILL with ${shown(RESTART_JOBS)} waiting`
    const burst = `clean stop after a burst of ${shown(STOP_JOBS)}`
    const ready = run.report.measured({ case: killed, subject, unit: 's', values: restarts })
    const stopped = run.report.measured({ case: burst, subject, unit: 's', values: stops })
    run.bar(ready, { bar: `seconds until ${killed}`, atMost: 3 })
    run.bar(stopped, { bar: `seconds of a ${burst}`, atMost: 3 })
  },

  async latency(run: Run): Promise<void> {
    const what = 'latency at 100 jobs/s, enqueue to handler'
    const sizes = { seconds: LATENCY_SECONDS }
    const figures = await run.measure({ scenario: 'latency', sizes, case: what })
    const seconds = run.options.seconds ?? LATENCY_SECONDS
    const times = Math.ceil((1_000 * seconds) / LATENCY_EVERY_MS)
    const { tookMs } = await syncAlone({ times, everyMs: LATENCY_EVERY_MS })
    const { p50 = 0, p99 = 0 } = percentiles(tookMs)
    run.report.note(
      `to write 2 KB and sync them took the disk alone p50 ${p50.toFixed(2)} and p99 ${p99.toFixed(2)} ms`,
    )
    const p50s = run.show(figures, { case: `${what}, p50`, unit: 'ms', figure: 'p50' })
    const more = (p50s.get('fairlead') ?? Number.NaN) - (p50s.get('bullmq') ?? Number.NaN)
    run.bar(more, { bar: 'latency p50 beyond that of BullMQ, in ms', atMost: 0.1 })
    const p99s = run.show(figures, { case: `${what}, p99`, unit: 'ms', figure: 'p99' })
    run.ratioBar(p99s, ['bullmq'], { bar: 'latency p99 against BullMQ', atMost: 1 })
  },

  async backlog(run: Run): Promise<void> {
    const sizes = run.options.sizes ?? BACKLOGS
    const [smallest = 0, largest = 0] = [sizes[0], sizes.at(-1)]
    const figures = await measureBacklogs(run, sizes)
    for (const jobs of sizes) {
      const what = `backlog of ${shown(jobs)}`
      const own = figures.get(jobs) ?? new Map()
      run.show(own, { case: `${what}: drain`, unit: 'jobs/s', figure: 'rate' })
      run.show(own, { case: `${what}: RSS`, unit: 'MB', figure: 'rss', per: 1e6 })
      run.show(own, { case: `${what}: RSS of its server`, unit: 'MB', figure: 'server', per: 1e6 })
      run.show(new Map([['fairlead', own.get('fairlead') ?? []]]), {
        case: `${what}: heap a waiting job`,
        unit: 'bytes',
        figure: 'heapPerJob',
      })
      run.show(new Map([['fairlead', own.get('fairlead') ?? []]]), {
        case: `${what}: resident memory a waiting job`,
        unit: 'bytes',
        figure: 'rssPerJob',
      })
    }
    const of = (jobs: number, figure: string): number[] =>
      (figures.get(jobs)?.get('fairlead') ?? []).flatMap((one) => one[figure] ?? [])
    const small = of(smallest, 'rate')
    run.bar(medianRatio(of(largest, 'rate'), small), {
      bar: `drain with ${shown(largest)} waiting against ${shown(smallest)}`,
      atLeast: 0.9,
    })
    run.bar(median(of(largest, 'rssPerJob')), {
      bar: `bytes of resident memory a job with ${shown(largest)} waiting`,
      atMost: 900,
    })
  },
}

/** All sizes within each repeat, for they are compared with each other. */
async function measureBacklogs(
  run: Run,
  sizes: readonly number[],
): Promise<ReadonlyMap<number, Map<string, Figures[]>>> {
  const all = new Map(sizes.map((jobs) => [jobs, new Map<string, Figures[]>()]))
  for (let i = 1; i <= run.repeats; i++) {
    for (const [jobs, figures] of all) {
      const isLargest = jobs === sizes.at(-1)
      const once = await run.measure({
        scenario: 'backlog',
        sizes: { jobs, drained: Math.min(BACKLOG_DRAINED, 2 * jobs) },
        case: `backlog of ${shown(jobs)}, repeat ${i}`,
        repeats: 1,
        // With a million waiting the peers take longer to fill than all else takes together.
        subjects: (subject) => !isLargest || subject === 'fairlead' || run.peersBacklog(subject),
      })
      for (const [subject, [one]] of once) {
        if (one !== undefined) figures.set(subject, [...(figures.get(subject) ?? []), one])
      }
    }
  }
  return all
}

type CaseName = keyof typeof CASES

interface Case {
  readonly scenario: ScenarioName
  readonly sizes: Partial<Sizes>
  readonly case: string
  readonly repeats?: number
  readonly subjects?: (subject: SubjectName) => boolean
}

interface Bar {
  readonly bar: string
  readonly atLeast?: number
  readonly atMost?: number
}

/** One run of the bench: what was asked for, and how it is shown. */
class Run {
  readonly report: Report
  readonly options: Options
  readonly #measurer: Measurer
  readonly #subjects: readonly SubjectName[]

  constructor(
    report: Report,
    measurer: Measurer,
    subjects: readonly SubjectName[],
    options: Options,
  ) {
    this.report = report
    this.options = options
    this.#measurer = measurer
    this.#subjects = subjects
  }

  peersBacklog(subject: SubjectName): boolean {
    return this.options.peersBacklog && SUBJECTS[subject].isPeer
  }

  get repeats(): number {
    return this.options.repeats ?? REPEATS
  }

  measure({ scenario, sizes, case: what, repeats, subjects = () => true }: Case) {
    return this.#measurer.inTurns({
      scenario,
      what,
      entrants: this.#subjects.filter(subjects).map((subject) => ({ name: subject, subject })),
      repeats: repeats ?? this.repeats,
      sizes: {
        jobs: sizes.jobs ?? 0,
        drained: sizes.drained ?? 0,
        seconds: this.options.seconds ?? sizes.seconds ?? 0,
      },
    })
  }

  /** A table of rates, and beside it the processor time of Fairlead's threads. */
  async table(one: Case & { readonly unit: string }): Promise<Medians> {
    const figures = await this.measure(one)
    const rates = this.show(figures, { ...one, figure: 'rate' })
    const own = new Map([['fairlead', figures.get('fairlead') ?? []]])
    for (const [figure, thread] of [
      ['mainCpu', 'the thread of engine and workers'],
      ['otherCpu', 'all other threads'],
    ] as const) {
      this.show(own, { case: `${one.case}: CPU of ${thread}`, unit: 'µs a job', figure })
    }
    return rates
  }

  /** A table of one figure; subjects that have none are not in it. */
  show(
    figures: ReadonlyMap<string, readonly Figures[]>,
    of: {
      readonly case: string
      readonly unit: string
      readonly figure: string
      readonly per?: number
    },
  ): Medians {
    const { per = 1 } = of
    const rows = [...figures].flatMap(([subject, runs]) => {
      const values = runs.flatMap((run) => run[of.figure] ?? []).map((value) => value / per)
      const { durability } = SUBJECTS[subject as SubjectName]
      return values.length === 0 ? [] : [{ subject, durability, values }]
    })
    if (rows.length === 0) return new Map()
    return this.report.table({ case: of.case, unit: of.unit, rows })
  }

  /** Fairlead's figure against the best of these peers, if both were measured. */
  ratioBar(medians: Medians, peers: readonly SubjectName[], bar: Bar): void {
    const own = medians.get('fairlead')
    const theirs = peers.flatMap((peer) => medians.get(peer) ?? [])
    const best = bar.atLeast === undefined ? Math.min(...theirs) : Math.max(...theirs)
    this.bar(own === undefined || theirs.length === 0 ? Number.NaN : own / best, bar)
  }

  /** A bar for which there are no figures is neither reached nor missed. */
  bar(reached: number, bar: Bar): void {
    if (Number.isNaN(reached)) this.report.note(`not judged, for want of figures: ${bar.bar}`)
    else this.report.bar({ ...bar, reached })
  }
}

function shown(count: number): string {
  return count.toLocaleString('en')
}
