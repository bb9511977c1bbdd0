import { type Blocker, bestChange, type Change, isHoldUp } from '../view/waiting/blockers.ts'

/** A thing that was looked at: in order, or not. */
export interface Check {
  /** Names it in a word. */
  readonly check: string
  readonly text: string
}

export interface Problem extends Check {
  readonly advice: string | null
}

export interface Verdict {
  readonly status: 'fine' | 'held' | 'failing' | 'unknown'
  readonly text: string
  /** What holds up the most work. */
  readonly cause: Blocker | null
  readonly change: Change | null
}

/** Without a newer answer for so long, nobody knows. */
export const VERDICT_VALID_MS = 10_000

/**
 * Is it fine, and if not, why? One sentence for the dashboard, `fairlead top`, `fairlead doctor` and the API. A
 * problem of the server comes before anything that holds work up, and data that is too old before all.
 */
export function verdictOf(given: {
  readonly blockers: readonly Blocker[]
  readonly at: number
  readonly ageMs: number
  readonly waiting: number
  readonly running: number
  /** The worst first. */
  readonly problems: readonly Problem[]
}): Verdict {
  const { blockers, at, ageMs, waiting, running, problems } = given
  const cause = blockers.find((one) => isHoldUp(one, at)) ?? null
  const change = bestChange(blockers, at)
  const found = { cause, change }
  const [problem] = problems
  if (ageMs > VERDICT_VALID_MS) {
    const old = Math.floor(ageMs / 1_000)
    const why = problem === undefined ? '' : ` ${problem.text}`
    return { ...found, status: 'unknown', text: `Unknown: the data is ${old} s old.${why}` }
  }
  if (problem !== undefined) {
    return { ...found, status: 'failing', text: `Not fine: ${lowerFirst(problem.text)}` }
  }
  if (cause !== null) {
    const rest = waiting > cause.jobs ? ` ${count(waiting, 'job')} wait in all.` : ''
    const advice = cause.change === null ? '' : ` ${cause.change.text}`
    return { ...found, status: 'held', text: `Held up: ${cause.text}${rest}${advice}` }
  }
  const runs =
    running === 0 ? 'no job runs' : `${count(running, 'job')} run${running === 1 ? 's' : ''}`
  if (waiting === 0)
    return { ...found, status: 'fine', text: `All is fine: nothing waits, ${runs}.` }
  const waits = `${count(waiting, 'job')} wait${waiting === 1 ? 's' : ''}`
  const [largest] = blockers
  const why = largest === undefined ? '' : ` ${largest.text}`
  return {
    ...found,
    status: 'fine',
    text: `All is fine: ${runs}, ${waits}, and nothing holds ${waiting === 1 ? 'it' : 'them'} up.${why}`,
  }
}

function count(number: number, what: string): string {
  return `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`
}

/** A text that starts with a name keeps it as it is. */
function lowerFirst(text: string): string {
  return /^(?:The|A|An|Its|No) /.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text
}
