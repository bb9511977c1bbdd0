import { parseArgs } from 'node:util'
import { grouped, ProgressBar } from './progress-bar.ts'
import { reportOf } from './report.ts'
import { RUN_STEPS } from './run.ts'
import { type Progress, type Simulation, simulate } from './simulate.ts'
import { SCENARIOS } from './world/scenarios.ts'

/** All went well; an invariant was broken; the command was not understood; Ctrl-C. */
const EXIT = { ok: 0, failed: 1, usage: 2, stopped: 130 } as const

const HELP = `Runs the real engine on a virtual clock among simulated stores, workers and callers that fail.

  npm run simulate -- [--seed N] [--steps N] [--scenario NAME] [--json]

  --seed N         begin with this seed (default: a new one each time)
  --steps N        steps in all (default: one run of ${grouped(RUN_STEPS)}); each run has the next seed
  --scenario NAME  one scenario for all runs; otherwise each seed has its own
  --json           the result as one JSON object
  --help           this text

Scenarios:
${SCENARIOS.map(({ name, about }) => `  ${name.padEnd(10)} ${about}`).join('\n')}

Exits with 0 if every invariant held after every step, 1 if one did not, 2 if the command is wrong, and
130 after Ctrl-C. The same seed and scenario give the same run, step by step.`

interface Wanted {
  readonly seed: number
  readonly steps: number
  readonly scenario: string | null
  readonly json: boolean
}

/** The command; gives the exit code. */
export async function runSimulateCommand(args: readonly string[]): Promise<number> {
  const wanted = readArgs(args)
  if (typeof wanted === 'string') {
    if (wanted !== HELP) console.error(`${wanted}\n`)
    console.log(HELP)
    return wanted === HELP ? EXIT.ok : EXIT.usage
  }
  return run(wanted)
}

async function run({ seed, steps, scenario, json }: Wanted): Promise<number> {
  const bar = new ProgressBar(process.stderr)
  const startedAt = performance.now()
  let last: Progress | null = null
  let isStopped = false
  const stop = (): void => {
    isStopped = true
  }
  process.once('SIGINT', stop)
  const result = await simulate({
    seed,
    steps,
    ...(scenario === null ? {} : { scenario }),
    isStopped: () => isStopped,
    onProgress: (progress) => {
      last = progress
      bar.show(progress)
    },
  })
  process.off('SIGINT', stop)
  bar.clear()
  const seconds = (performance.now() - startedAt) / 1_000
  if (json) console.log(JSON.stringify({ seed, seconds, isStopped, ...result }))
  else tell(result, { seed, seconds, stoppedAt: isStopped ? last : null })
  if (result.failure !== null) return EXIT.failed
  return isStopped ? EXIT.stopped : EXIT.ok
}

function tell(
  { steps, runs, failure, counts }: Simulation,
  how: { readonly seed: number; readonly seconds: number; readonly stoppedAt: Progress | null },
): void {
  if (failure !== null) {
    console.log(reportOf(failure))
    return
  }
  const { seed, seconds, stoppedAt } = how
  if (stoppedAt !== null) {
    console.log(`stopped in seed ${stoppedAt.seed} (${stoppedAt.scenario}), step ${stoppedAt.step}`)
  }
  const rate = grouped(Math.round(steps / seconds))
  console.log(
    `${grouped(steps)} steps in ${runs} runs from seed ${seed}, ${rate}/s: every invariant held`,
  )
  const { accepted = 0, jobCompleted = 0, jobRequeued = 0, entries = 0 } = sums(counts)
  console.log(
    `${grouped(accepted)} jobs accepted, ${grouped(jobCompleted)} completed, ${grouped(jobRequeued)} requeued, ${grouped(entries)} entries of the journal checked`,
  )
}

/** Counts by the part of their name before the reason. */
function sums(counts: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const total: Record<string, number> = {}
  for (const [name, count] of Object.entries(counts)) {
    const [what] = name.split('.') as [string]
    total[what] = (total[what] ?? 0) + count
  }
  return total
}

/** What is asked for, or what is wrong with it. */
function readArgs(args: readonly string[]): Wanted | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        seed: { type: 'string' },
        steps: { type: 'string' },
        scenario: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) return HELP
    const { scenario = null, json } = values
    if (scenario !== null && !SCENARIOS.some(({ name }) => name === scenario)) {
      return `--scenario: there is no ${scenario}`
    }
    const seed = readCount(values.seed ?? String(Date.now() % 1_000_000_000))
    const steps = readCount(values.steps ?? String(RUN_STEPS))
    if (seed === null) return '--seed: expected a whole number'
    if (steps === null || steps === 0) return '--steps: expected a whole number from 1'
    return { seed, steps, scenario, json }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function readCount(text: string): number | null {
  const value = Number(text.replaceAll('_', ''))
  return /^[\d_]+$/.test(text) && Number.isSafeInteger(value) ? value : null
}
