import type { Schedule } from '@fairlead/core'
import type { Cadence } from './cadence.ts'

/** A time that comes so late is missed, as if the engine had been away. */
export const LATE_MS = 60_000
/** The most times that are made up for. */
const CAUGHT_UP_MAX = 100

/** One step of a schedule. It holds only while the schedule's next time is `dueAt`. */
export interface PlannedFiring {
  readonly dueAt: number
  /** When it fires by its plan; null if the times from `dueAt` on are left out. */
  readonly at: number | null
  readonly nextAt: number | null
}

/**
 * The steps of a schedule whose time has come (SCHEDULE-5). Times up to `missedUntil` passed while nobody could be
 * reached, and `catch_up` says what becomes of them. Later ones fire one after the other.
 */
export function planFirings(
  { nextAt, catchUp }: Pick<Schedule, 'nextAt' | 'catchUp'>,
  cadence: Cadence,
  { missedUntil }: { readonly missedUntil: number },
): PlannedFiring[] {
  if (nextAt === null) return []
  if (nextAt > missedUntil) return [{ dueAt: nextAt, at: nextAt, nextAt: cadence.after(nextAt) }]
  const wanted = catchUp === 'all' ? CAUGHT_UP_MAX : 1
  const times =
    catchUp === 'none' ? [] : cadence.upTo(missedUntil, wanted).filter((at) => at >= nextAt)
  if (times.length === 0) return [{ dueAt: nextAt, at: null, nextAt: cadence.after(missedUntil) }]
  return times.map((at, i) => ({
    dueAt: i === 0 ? nextAt : at,
    at,
    nextAt: times[i + 1] ?? cadence.after(at),
  }))
}
