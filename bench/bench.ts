/**
 * What every bench shares: repeated runs, medians, and one way of reporting. A bench is a file in
 * `bench/` that exports `name`, `question` and `run(report)`.
 */
export interface Report {
  /** Takes the figures of all runs of one case; the median counts. */
  readonly measured: (row: {
    readonly case: string
    readonly subject: string
    readonly unit: string
    readonly values: readonly number[]
  }) => number
  /** The figures of several subjects in one case. Gives the median of each, by its name. */
  readonly table: (table: Table) => ReadonlyMap<string, number>
  /** A figure that must be reached: at least, or at most. */
  readonly bar: (row: {
    readonly bar: string
    readonly reached: number
    readonly atLeast?: number
    readonly atMost?: number
  }) => void
  readonly progress: (text: string) => void
  /** Something that a reader of the figures must know, such as a subject that is missing. */
  readonly note: (text: string) => void
}

/** One case, measured for several subjects; the first is what the others are compared with. */
export interface Table {
  readonly case: string
  readonly unit: string
  readonly rows: readonly {
    readonly subject: string
    readonly durability: string
    readonly values: readonly number[]
  }[]
}

/** What may be asked for on the command line, for the benches that take long. */
export interface Options {
  /** Names of cases; all where it is empty. */
  readonly only: readonly string[]
  /** Names of subjects; all where it is empty. */
  readonly subjects: readonly string[]
  readonly repeats?: number
  readonly jobs?: number
  readonly seconds?: number
  /** Waiting jobs of the backlog, in growing order. */
  readonly sizes?: readonly number[]
  /** Whether peers are measured with the largest backlog too. */
  readonly peersBacklog: boolean
}

export interface Bench {
  readonly name: string
  readonly question: string
  readonly run: (report: Report, options: Options) => void | Promise<void>
}

/** Seconds that `work` takes. */
export function secondsOf(work: () => void): number {
  const started = performance.now()
  work()
  return (performance.now() - started) / 1_000
}

/** Bytes of heap after everything that can be collected is gone. */
export function heapBytes(): number {
  const { gc } = globalThis
  if (gc === undefined) throw new Error('run with --expose-gc, as npm run bench does')
  gc()
  gc()
  return process.memoryUsage().heapUsed
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2
}
