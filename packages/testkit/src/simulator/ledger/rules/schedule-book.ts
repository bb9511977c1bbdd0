import { broken } from '../../violation.ts'
import type { Details } from '../journal/journal-reader.ts'

/** A time so late is missed, as if the engine had been away. */
const LATE_MS = 60_000
const CAUGHT_UP_MAX = 100
const MINUTE_MS = 60_000

interface Scheduled {
  readonly name: string
  /** It is due at each multiple of this within a minute. */
  readonly everyMs: number
  readonly catchUp: string
  /** All times before this one are accounted for; null while it is paused. */
  from: number | null
}

/**
 * What schedules have to do, by the journal and by arithmetic: each time fires once, or is left out by its catch-up,
 * its overlap or a refusal (SCHEDULE-4, SCHEDULE-5). The schedules of a simulation are due every so many seconds,
 * so no calendar is needed.
 */
export class ScheduleBook {
  readonly #all = new Map<string, Scheduled>()
  #resumedAt = 0
  #troubledAt = 0

  /** Nobody could reach an engine until then. */
  resumed(atMs: number): void {
    this.#resumedAt = Math.max(this.#resumedAt, atMs)
  }

  /** The log had trouble, or the engine a defect: it may take the time until it goes on for downtime. */
  troubled(atMs: number): void {
    this.#troubledAt = Math.max(this.#troubledAt, atMs)
  }

  names(): string[] {
    return [...this.#all.keys()]
  }

  put(id: string, details: Details): void {
    const { caller, cron, catchUp, nextAt } = details as Readonly<Record<string, string>>
    const name = `${caller} ${id}`
    const everyMs = 1_000 * Number(/^\*\/(\d+) /.exec(cron ?? '')?.[1])
    const from = nextAt === null ? null : Number(nextAt)
    const known = this.#all.get(name)
    const isDue = from === null || (from % MINUTE_MS) % everyMs === 0
    if (!isDue) broken('schedule', `${name} begins at ${from}, and is due every ${everyMs} ms`)
    const keeps = known?.everyMs === everyMs && known.from !== null && from !== null
    if (keeps && known.from !== from) broken('schedule', `${name} forgot what it had to do`)
    this.#all.set(name, { name, everyMs, catchUp: catchUp ?? '', from })
  }

  delete(id: string, { caller }: Details): void {
    if (!this.#all.delete(`${String(caller)} ${id}`)) {
      broken('schedule', `${id} is deleted and was not there`)
    }
  }

  /** A job of a schedule was enqueued at this time; `scheduledAt` is missing if somebody triggered it. */
  fired(caller: string, { schedule, scheduledAt }: Details, atMs: number): void {
    if (schedule === undefined) return
    const one = this.#one(`${caller} ${schedule as string}`)
    if (scheduledAt === undefined) return
    const at = Number(scheduledAt)
    this.#checkDue(one, at, atMs)
    this.#checkLeftOut(one, at, atMs)
    one.from = this.#after(one, at)
  }

  skipped(id: string, details: Details, atMs: number): void {
    const { caller, reason, dueAt, nextAt } = details
    const one = this.#one(`${String(caller)} ${id}`)
    const at = Number(dueAt)
    this.#checkDue(one, at, atMs)
    if (reason !== 'missed') {
      this.#checkLeftOut(one, at, atMs)
      one.from = this.#after(one, at)
    } else {
      if (one.catchUp !== 'none')
        broken('schedule', `${one.name} leaves out what it should catch up`)
      const last = this.#before(one, Number(nextAt))
      if (at !== one.from || (last > this.#missedUntil(atMs) && !this.#mayBeMissed(one))) {
        broken('schedule', `${one.name} leaves out ${at} to ${last} at ${atMs}`)
      }
      one.from = Number(nextAt)
    }
    if (one.from !== nextAt) broken('schedule', `${one.name} goes on at ${String(nextAt)}`)
  }

  /** A schedule whose time has come and that did nothing; null if there is none. */
  overdue(nowMs: number): string | null {
    for (const { name, from } of this.#all.values()) {
      if (from !== null && from <= nowMs) return `${name} was due at ${from}`
    }
    return null
  }

  *times(): Iterable<number> {
    for (const { from } of this.#all.values()) if (from !== null) yield from
  }

  #one(name: string): Scheduled {
    const one = this.#all.get(name)
    if (one === undefined) broken('schedule', `${name} fires and is not there`)
    return one
  }

  #checkDue({ name, from, everyMs }: Scheduled, at: number, nowMs: number): void {
    if (from === null) broken('schedule', `${name} fires and is paused`)
    if (at < from) broken('schedule', `${name} fires for ${at} again, its next time is ${from}`)
    if (at > nowMs) broken('schedule', `${name} fires for ${at} before its time`)
    if ((at % MINUTE_MS) % everyMs !== 0) broken('schedule', `${name} is never due at ${at}`)
  }

  /** The times between the next one and the one that it fired for. */
  #checkLeftOut(one: Scheduled, at: number, nowMs: number): void {
    const { name, from, catchUp } = one
    const missedUntil = this.#missedUntil(nowMs)
    if (at <= missedUntil && catchUp === 'none') {
      broken('schedule', `${name} fires for ${at}, which it missed`)
    }
    if (at > missedUntil && at !== from && !this.#mayBeMissed(one)) {
      broken('schedule', `${name} fires for ${at}, and ${from} is left out`)
    }
    if (at > missedUntil) return
    const newest = this.#before(one, missedUntil + 1)
    if (catchUp === 'last' && at < newest) {
      broken('schedule', `${name} catches up ${at}, and the newest is ${newest}`)
    }
    if (catchUp === 'all' && at !== from) {
      let kept = newest
      for (let i = 1; i < CAUGHT_UP_MAX; i++) kept = this.#before(one, kept)
      if (at > kept && !this.#mayBeMissed(one))
        broken('schedule', `${name} catches up from ${at} on, not from ${kept} on`)
    }
  }

  #mayBeMissed({ from }: Scheduled): boolean {
    return from !== null && this.#troubledAt >= from - LATE_MS
  }

  #missedUntil(nowMs: number): number {
    return Math.max(this.#resumedAt, nowMs - LATE_MS)
  }

  /** The first time after this one. */
  #after({ everyMs }: Scheduled, atMs: number): number {
    const minute = Math.floor(atMs / MINUTE_MS) * MINUTE_MS
    const inside = Math.floor((atMs - minute) / everyMs) * everyMs + everyMs
    return inside < MINUTE_MS ? minute + inside : minute + MINUTE_MS
  }

  /** The last time before this one. */
  #before({ everyMs }: Scheduled, atMs: number): number {
    const minute = Math.floor((atMs - 1) / MINUTE_MS) * MINUTE_MS
    return minute + Math.floor((atMs - 1 - minute) / everyMs) * everyMs
  }
}
