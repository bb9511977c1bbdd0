import { IndexedHeap } from '../collections/indexed-heap.ts'
import type { Caller, JobId } from '../encoding/ids.ts'
import { compareText } from '../encoding/text.ts'
import { FairleadError } from '../errors.ts'

/** While the newest job of a schedule is live, `skip` leaves a firing out. */
export const OVERLAPS = ['allow', 'skip'] as const
export type Overlap = (typeof OVERLAPS)[number]

/** The times that are made up for after downtime: none, the newest, or all, the newest 100 at most. */
export const CATCH_UPS = ['none', 'last', 'all'] as const
export type CatchUp = (typeof CATCH_UPS)[number]

export const SCHEDULES_MAX = 1_000
export const SCHEDULE_ID = /^[A-Za-z0-9_.-]{1,64}$/

/** The owner and the id, which together name a schedule. */
export interface ScheduleKey {
  readonly caller: Caller
  readonly id: string
}

/** A schedule as its owner wrote it. */
export interface SchedulePlan extends ScheduleKey {
  readonly cron: string
  readonly timezone: string
  /** The request of its jobs in the form of the API, as JSON. */
  readonly request: string
  /** The tier of its jobs. */
  readonly tier: string
  readonly overlap: Overlap
  readonly catchUp: CatchUp
  readonly isPaused: boolean
}

export interface Schedule extends SchedulePlan {
  /** When it fires next. Null while it is paused, and when no time is left. */
  readonly nextAt: number | null
  /** When it last fired, by its plan, and the job of that; null before the first. */
  readonly lastAt: number | null
  readonly lastJob: JobId | null
}

interface Entry {
  schedule: Schedule
  heapIndex: number
}

/**
 * The schedules of all callers (SCHEDULE-1). Nothing in here knows a calendar: whoever fires a schedule says when it
 * fires next.
 */
export class Schedules {
  readonly #byKey = new Map<string, Entry>()
  readonly #countOf = new Map<Caller, number>()
  /** Those that have a next time. */
  readonly #due = new IndexedHeap<Entry>(isEarlier)

  constructor(schedules: readonly Schedule[] = []) {
    for (const schedule of schedules) this.set(schedule)
  }

  get(key: ScheduleKey): Schedule | null {
    return this.#byKey.get(scheduleId(key))?.schedule ?? null
  }

  /** In order of caller and id. */
  list(): Schedule[] {
    return [...this.#byKey]
      .sort(([a], [b]) => compareText(a, b))
      .map(([, { schedule }]) => schedule)
  }

  /** The next time at which a schedule fires; null if there is none. */
  nextAt(): number | null {
    return this.#due.top()?.schedule.nextAt ?? null
  }

  /** The schedule that fires first; null if none will. */
  first(): Schedule | null {
    return this.#due.top()?.schedule ?? null
  }

  /** Those whose time has come, in no order. */
  dueBy(nowMs: number): Schedule[] {
    const first = this.nextAt()
    if (first === null || first > nowMs) return []
    const due: Schedule[] = []
    for (const { schedule } of this.#byKey.values()) {
      if (schedule.nextAt !== null && schedule.nextAt <= nowMs) due.push(schedule)
    }
    return due
  }

  /** Adds a schedule, or replaces the one of this key. */
  set(schedule: Schedule): void {
    const id = scheduleId(schedule)
    let entry = this.#byKey.get(id)
    if (entry === undefined) {
      const count = this.#countOf.get(schedule.caller) ?? 0
      if (count >= SCHEDULES_MAX) throw tooMany()
      this.#countOf.set(schedule.caller, count + 1)
      entry = { schedule, heapIndex: -1 }
      this.#byKey.set(id, entry)
    }
    this.#due.remove(entry)
    entry.schedule = schedule
    if (schedule.nextAt !== null) this.#due.add(entry)
  }

  /** False if there is none. */
  delete(key: ScheduleKey): boolean {
    const id = scheduleId(key)
    const entry = this.#byKey.get(id)
    if (entry === undefined) return false
    this.#due.remove(entry)
    this.#byKey.delete(id)
    const left = (this.#countOf.get(key.caller) ?? 1) - 1
    if (left === 0) this.#countOf.delete(key.caller)
    else this.#countOf.set(key.caller, left)
    return true
  }
}

/** Text that names a schedule; callers have one length, so it sorts by caller and id. */
export function scheduleId({ caller, id }: ScheduleKey): string {
  return `${caller} ${id}`
}

/**
 * The schedule after a `put`. One whose times stay the same keeps its next time, so an application may put its
 * schedules at every start and misses nothing (SCHEDULE-2).
 */
export function putOver(
  known: Schedule | null,
  plan: SchedulePlan,
  firstAt: number | null,
): Schedule {
  const { lastAt = null, lastJob = null } = known ?? {}
  if (plan.isPaused) return { ...plan, nextAt: null, lastAt, lastJob }
  const keepsTimes =
    known !== null &&
    known.nextAt !== null &&
    known.cron === plan.cron &&
    known.timezone === plan.timezone
  return { ...plan, nextAt: keepsTimes ? known.nextAt : firstAt, lastAt, lastJob }
}

/** True if both say the same. */
export function isSamePlan(a: SchedulePlan, b: SchedulePlan): boolean {
  return (
    a.cron === b.cron &&
    a.timezone === b.timezone &&
    a.tier === b.tier &&
    a.overlap === b.overlap &&
    a.catchUp === b.catchUp &&
    a.isPaused === b.isPaused &&
    a.request === b.request
  )
}

function isEarlier({ schedule: a }: Entry, { schedule: b }: Entry): boolean {
  const [first, second] = [a.nextAt ?? 0, b.nextAt ?? 0]
  return first !== second ? first < second : scheduleId(a) < scheduleId(b)
}

function tooMany(): FairleadError {
  return new FairleadError(
    'LimitExceeded',
    `schedules.put: this caller has ${SCHEDULES_MAX} schedules, the most allowed; delete one of them first`,
    { limit: 'schedules', max: SCHEDULES_MAX, observed: SCHEDULES_MAX + 1 },
  )
}
