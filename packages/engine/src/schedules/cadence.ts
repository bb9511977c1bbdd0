import { FairleadError } from '@fairlead/core'
import { Cron } from 'croner'

/** No schedule waits longer for its next time. */
const AHEAD_MAX_MS = 5 * 366 * 86_400_000
const CRON_CHARACTERS_MAX = 256
const KEPT_MAX = 1_000

/**
 * The times of a cron expression in a time zone (SCHEDULE-3). This is the only place that knows a calendar. It is no
 * part of the state: what it says goes into commands.
 */
export class Cadence {
  readonly #cron: Cron

  /** Throws `InvalidParams` for an expression or a zone that is none. */
  constructor(cron: string, timezone: string) {
    // `?` would stand for the time at which the expression is read.
    if (cron.length > CRON_CHARACTERS_MAX || cron.includes('?')) throw wrongCron(cron, '')
    if (!isZone(timezone)) {
      throw new FairleadError(
        'InvalidParams',
        `timezone: expected the name of a time zone, as in Europe/Berlin or UTC, got ${timezone}`,
        { field: 'timezone' },
      )
    }
    try {
      this.#cron = new Cron(cron, { paused: true, timezone, mode: '5-or-6-parts' })
    } catch (error) {
      throw wrongCron(cron, error instanceof Error ? error.message : String(error))
    }
  }

  /** The first time after this one; null if there is none within five years. */
  after(atMs: number): number | null {
    const next = this.#cron.nextRun(new Date(atMs))?.getTime() ?? null
    return next === null || next > atMs + AHEAD_MAX_MS ? null : next
  }

  /** The newest times up to and including this one, oldest first. */
  upTo(atMs: number, count: number): number[] {
    // Asked for times before a whole second, the next one after this one.
    const before = new Date((Math.floor(atMs / 1_000) + 1) * 1_000)
    return this.#cron
      .previousRuns(count, before)
      .map((date) => date.getTime())
      .reverse()
  }
}

const known = new Map<string, Cadence>()

/** Cached, because a schedule asks again whenever it fires. */
export function cadenceOf(cron: string, timezone: string): Cadence {
  const key = `${timezone} ${cron}`
  let cadence = known.get(key)
  if (cadence === undefined) {
    cadence = new Cadence(cron, timezone)
    if (known.size >= KEPT_MAX) known.clear()
    known.set(key, cadence)
  }
  return cadence
}

/** The next times of an expression, for people who write one. */
export function nextTimes(
  cron: string,
  timezone: string,
  { fromMs, count }: { readonly fromMs: number; readonly count: number },
): number[] {
  const cadence = cadenceOf(cron, timezone)
  const times: number[] = []
  for (let at = cadence.after(fromMs); at !== null && times.length < count; ) {
    times.push(at)
    at = cadence.after(at)
  }
  return times
}

function isZone(timezone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone })
    return timezone !== ''
  } catch {
    return false
  }
}

function wrongCron(cron: string, why: string): FairleadError {
  const shown = cron.length > 64 ? `${cron.slice(0, 63)}…` : cron
  const count = cron.trim() === '' ? 0 : cron.trim().split(/\s+/).length
  const hasFields = count === 5 || count === 6
  // The parser counts in words of its own, which also allow seven.
  const told = hasFields ? why.replace(/^CronPattern: /, '') : `it has ${count}`
  const reason = told === '' ? '' : ` (${told})`
  return new FairleadError(
    'InvalidParams',
    `cron: expected five or six fields, as in 0 2 * * MON, got ${shown}${reason}`,
    { field: 'cron' },
  )
}
