import { type Failure, RUN_STEPS, runSeed, scenarioOf } from './run.ts'

/** Where a simulation stands. */
export interface Progress {
  readonly steps: number
  readonly stepsMax: number
  readonly seed: number
  readonly scenario: string
  readonly step: number
}

export interface Simulation {
  readonly steps: number
  readonly runs: number
  readonly failure: Failure | null
  /** What happened how often, over all runs. */
  readonly counts: Readonly<Record<string, number>>
}

/** Steps between two looks at the progress. */
const LOOK_EVERY = 100

/**
 * One run after the other, each from the next seed, until the steps are done or a run fails. Runs are
 * not cut short in the end, or a seed would not always lead to the same run.
 */
export async function simulate(options: {
  readonly seed: number
  readonly steps: number
  /** Otherwise each seed has a scenario of its own. */
  readonly scenario?: string
  readonly onProgress?: (progress: Progress) => void
  readonly isStopped?: () => boolean
}): Promise<Simulation> {
  const { seed: first, steps: stepsMax, scenario, onProgress, isStopped } = options
  const named = scenario === undefined ? {} : { scenario }
  const runSteps = Math.min(RUN_STEPS, stepsMax)
  const counts: Record<string, number> = {}
  let steps = 0
  let runs = 0
  for (; steps < stepsMax && isStopped?.() !== true; runs++) {
    const seed = first + runs
    const { name } = scenarioOf(seed, scenario)
    const onStep = (step: number): boolean => {
      if (step % LOOK_EVERY !== 0) return true
      onProgress?.({ steps: steps + step, stepsMax, seed, scenario: name, step })
      return isStopped?.() !== true
    }
    const run = await runSeed({ seed, ...named, steps: runSteps, onStep })
    steps += run.steps
    for (const [what, count] of Object.entries(run.counts))
      counts[what] = (counts[what] ?? 0) + count
    if (run.failure !== null) return { steps, runs: runs + 1, failure: run.failure, counts }
  }
  return { steps, runs, failure: null, counts }
}
