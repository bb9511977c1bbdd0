import { median, type Report } from './bench.ts'

/** Runs of each, after a warm-up. */
const REPEATS = 7

/** The figures of each, run by run. */
type Figures<Measures extends Readonly<Record<string, () => unknown>>> = {
  readonly [Name in keyof Measures]: Awaited<ReturnType<Measures[Name]>>[]
}

/**
 * Subjects and their yardsticks take turns (A B A B …), because the machine drifts: run i of one
 * meets the same minute as run i of the others. `medianRatio` then cancels that minute.
 */
export async function inTurns<Measures extends Readonly<Record<string, () => unknown>>>(
  report: Report,
  options: {
    readonly what: string
    readonly measures: Measures
    readonly repeats?: number
    /** Rounds that do not count. */
    readonly warmUps?: number
  },
): Promise<Figures<Measures>> {
  const { what, measures, repeats = REPEATS, warmUps = 1 } = options
  const figures: Record<string, unknown[]> = {}
  for (const name of Object.keys(measures)) figures[name] = []
  for (let i = 1 - warmUps; i <= repeats; i++) {
    for (const [name, measure] of Object.entries(measures)) {
      report.progress(`${what}: ${name}, ${i < 1 ? 'warming up' : `run ${i} of ${repeats}`}`)
      const figure = await measure()
      if (i >= 1) figures[name]?.push(figure)
    }
  }
  return figures as Figures<Measures>
}

/** Run by run, the first divided by the second; the median of these. */
export function medianRatio(above: readonly number[], below: readonly number[]): number {
  return median(above.map((value, i) => value / (below[i] ?? Number.NaN)))
}
