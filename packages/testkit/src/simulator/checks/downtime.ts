import type { LogEntry } from '@fairlead/engine'
import { broken } from '../violation.ts'
import type { SimClock } from '../world/sim-clock.ts'

/** From here on callers have waited for an append for so long that they cannot have acted in time (ENGINE-6). */
const STANDSTILL_MS = 3_000

/** The engine could not write. */
interface Standstill {
  /** The latest time that the clock had shown when the engine was told. */
  readonly at: number
  /** The last batch that was made before that. */
  readonly after: number
  /** False if it may have lasted no time, or no longer than others may wait. */
  mustBeTold: boolean
}

/**
 * Looks over the gaps: the time for which an engine was away, or could not write, is charged to nobody (ENGINE-4), and
 * no other time is. The engine says so itself in its log, so this keeps an account of its own.
 */
export class Downtime {
  readonly #clock: SimClock
  /** When the engine was opened that nothing was heard of yet. */
  #openedAt: number | null = null
  /** Those that the engine has not told of, the oldest first. */
  #standstills: Standstill[] = []

  constructor(clock: SimClock) {
    this.#clock = clock
  }

  /** An engine begins on what is stored. */
  opened(): void {
    this.#openedAt = this.#clock.now()
    this.#standstills = []
  }

  /** The engine is told that a record may not be stored; it has made records up to `newest`. */
  refused(newest: number): void {
    // The time of the engine is never ahead of the latest that its clock has shown.
    this.#standstills.push({ at: this.#clock.latest, after: newest, mustBeTold: true })
  }

  /** The engine is told that a record is stored, which it gave at `since`. */
  stored(since: number, newest: number): void {
    const now = this.#clock.now()
    for (const standstill of this.#standstills) {
      if (now <= standstill.at) standstill.mustBeTold = false
    }
    if (now - since < STANDSTILL_MS) return
    this.#standstills.push({ at: this.#clock.latest, after: newest, mustBeTold: false })
  }

  /** The engine has a defect and begins again from what is stored. */
  shaken(newest: number): void {
    this.#standstills.push({ at: this.#clock.latest, after: newest, mustBeTold: false })
  }

  /** A command of a batch comes after others, the last of which was at `nowMs`. */
  command(
    { command, at }: LogEntry,
    last: { readonly batch: number; readonly nowMs: number; readonly hasWorkers: boolean },
  ): void {
    const gapMs = command.type === 'resume' ? command.gapMs : null
    const openedAt = this.#openedAt
    this.#openedAt = null
    if (openedAt !== null) {
      const dueMs = Math.max(0, openedAt - last.nowMs)
      return refuseOther(dueMs, { gapMs, hasWorkers: last.hasWorkers })
    }
    const before = this.#standstills.filter(({ after }) => after < last.batch)
    const due = before.find(({ mustBeTold }) => mustBeTold)
    if (gapMs === null) {
      if (due !== undefined && at > due.at)
        broken('downtime', `${command.type} at ${at} comes without a resume after a refusal`)
      return
    }
    if (before.length === 0) broken('downtime', `the engine resumes at ${at}, and was not away`)
    const [least, most] = [at - (due?.at ?? at), at - last.nowMs]
    if (gapMs < least || gapMs > most)
      broken('downtime', `a gap of ${gapMs} ms is charged to nobody, it was ${least} to ${most} ms`)
    // After a slow append the engine goes on making its next record, so one record may tell of two. A refusal of the same
    // millisecond may have come after this resume, and be told of by the next.
    for (const known of before) if (known.at === at) known.mustBeTold = false
    this.#standstills = this.#standstills.filter(
      (known) => !before.includes(known) || (!known.mustBeTold && known.at >= at),
    )
  }
}

/** The first command of an engine is a resume, unless that would change nothing. */
function refuseOther(
  dueMs: number,
  { gapMs, hasWorkers }: { readonly gapMs: number | null; readonly hasWorkers: boolean },
): void {
  if (gapMs === null && dueMs === 0 && !hasWorkers) return
  if (gapMs === dueMs) return
  const said = gapMs === null ? 'not told of' : `said to be ${gapMs} ms`
  broken('downtime', `the engine was away for ${dueMs} ms, and that is ${said}`)
}
