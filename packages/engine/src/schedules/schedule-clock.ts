import { fromHex, type Market, type Schedule, taggedHashHex } from '@fairlead/core'
import { scheduleId } from '@fairlead/core/internal'
import type { EnqueueRequest, Firing } from '../commands/command.ts'
import { type Call, callOf } from '../loop/call.ts'
import { cadenceOf } from './cadence.ts'
import { LATE_MS, type PlannedFiring, planFirings } from './plan-firings.ts'

/** How long a firing waits that was refused for now, as when the tables are away. */
const RETRY_MS = 1_000
/** Schedules whose firings are planned in one turn. */
const SCHEDULES_PER_TURN = 100

/**
 * Tells the loop which schedules fire. It plans with a calendar, so it stands outside the state: a plan becomes
 * enqueues, and the state takes a step only if it is the schedule's next one (SCHEDULE-4).
 */
export class ScheduleClock {
  /** Nobody could reach the engine until then. */
  #resumedAt = Number.NEGATIVE_INFINITY
  #open = 0
  /** Nothing is planned before. */
  #retryAt = Number.NEGATIVE_INFINITY
  /** Each firing under way, with the time until which others counted as missed when it was planned. */
  readonly #planned = new WeakMap<Firing, number>()

  /** What was in time may be missed now. */
  resumed(nowMs: number): void {
    this.#resumedAt = nowMs
  }

  /** True if the firing would be planned otherwise by now: a time that was still ahead has been missed since. */
  isStale(firing: Firing, nowMs: number): boolean {
    if (firing.dueAt === null) return false
    const planned = this.#planned.get(firing) ?? Number.NEGATIVE_INFINITY
    const missedUntil = this.#missedUntil(nowMs)
    return [firing.at, firing.nextAt].some((at) => at !== null && at > planned && at <= missedUntil)
  }

  /** When there is something to plan. While a plan is under way, its end wakes the loop. */
  nextAt({ schedules }: Market): number {
    const at = schedules.nextAt()
    return at === null || this.#open > 0 ? Number.POSITIVE_INFINITY : Math.max(at, this.#retryAt)
  }

  /** The enqueues of all schedules whose time has come. */
  take({ schedules, nowMs }: Market): Call[] {
    if (this.#open > 0 || nowMs < this.#retryAt) return []
    if ((schedules.nextAt() ?? Number.POSITIVE_INFINITY) > nowMs) return []
    const missedUntil = this.#missedUntil(nowMs)
    const due = schedules.dueBy(nowMs).sort((a, b) => (scheduleId(a) < scheduleId(b) ? -1 : 1))
    return due.slice(0, SCHEDULES_PER_TURN).flatMap((schedule) => {
      const cadence = cadenceOf(schedule.cron, schedule.timezone)
      const firings = planFirings(schedule, cadence, { missedUntil })
      return firings.map((firing) =>
        this.#callOf(schedule, firing, { missedUntil, plannedAt: nowMs }),
      )
    })
  }

  #missedUntil(nowMs: number): number {
    return Math.max(this.#resumedAt, nowMs - LATE_MS)
  }

  #callOf(
    schedule: Schedule,
    planned: PlannedFiring,
    { missedUntil, plannedAt }: { readonly missedUntil: number; readonly plannedAt: number },
  ): Call {
    const firing: Firing = { id: schedule.id, ...planned }
    this.#planned.set(firing, missedUntil)
    this.#open++
    const end = (): void => {
      this.#open--
    }
    const retry = (): void => {
      this.#retryAt = plannedAt + RETRY_MS
      end()
    }
    const command = firedRequest(schedule, firing)
    return callOf(command, { resolve: end, reject: retry, index: 0, recover: null })
  }
}

/** SCHEDULE-6: the key of a firing is made of the schedule and the time, so no job is enqueued for it twice. */
function firedRequest(schedule: Schedule, firing: Firing): EnqueueRequest {
  const { caller, id, tier, request } = schedule
  const at = firing.at ?? firing.dueAt ?? 0
  const tx_hash = taggedHashHex('AICF|schedule', fromHex(caller) ?? caller, id, at)
  return {
    type: 'enqueue',
    request: { ...(JSON.parse(request) as object), tx_hash },
    txHash: null,
    caller,
    tier,
    origin: null,
    before: 'unknown',
    firing,
  }
}
