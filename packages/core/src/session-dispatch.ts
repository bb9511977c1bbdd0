import { throttleBudget } from './admit/dispatch-budget.ts'
import type { PlatformRows } from './admit/platform-policy.ts'
import { invariant } from './errors.ts'
import type { JobId } from './ids.ts'
import {
  type DispatchJob,
  type DispatchJobState,
  dispatchJobState,
  newDispatchJob,
  type SessionEnd,
  windowEndsAt,
} from './order/dispatch-job.ts'
import { LazyHeap } from './order/lazy-heap.ts'
import type { OrgDispatch, OrgDispatchState } from './order/org-dispatch.ts'
import { OrgTable } from './order/org-table.ts'
import {
  type OpenGroup,
  type SessionJob,
  SessionRanks,
  type SessionRequest,
} from './order/session-order.ts'
import {
  type AttemptOutcome,
  type Judgement,
  judgeAttempt,
  judgeCancel,
  type Lookup,
  retryWaitMs,
} from './outcome/judge-attempt.ts'

/** One attempt goes out. */
export interface SessionSend {
  readonly at: number
  readonly job: DispatchJob
  /** From 0. */
  readonly attempt: number
}

/** All that decides, as plain data: who goes on with it decides alike (DISPATCH-7). */
export interface SessionDispatchState {
  readonly nowMs: number
  readonly orgs: readonly OrgDispatchState[]
  readonly groups: readonly OpenGroup[]
  /** The jobs that have not ended. */
  readonly jobs: readonly { readonly place: SessionJob; readonly state: DispatchJobState }[]
}

/** Is told of everything whose stored form has changed. */
export interface DispatchTouch {
  readonly job: (job: DispatchJob) => void
  readonly org: (org: OrgDispatch) => void
}

/**
 * Registrations on their way to the platforms: who is sent when, and what becomes of it.
 *
 * A job joins its session, gets a rank when its group opens, waits until its send time has come and a
 * token, a place in flight and its session's turn are there, is sent, and ends or waits for a retry.
 * Everything acts at the time of the last `advance`. At one instant the driver calls `advance`, then
 * `outcome` for each attempt that ended, in the order of their sends, then `join`, `cancel` and
 * `sendReady` (DISPATCH-1). `nextDueAt` tells when it has to come back if nothing happens before.
 */
export class SessionDispatch {
  readonly #touch: DispatchTouch
  readonly #orgs: OrgTable
  readonly #jobs = new Map<JobId, DispatchJob>()
  readonly #ranks = new SessionRanks((platform) => this.#orgs.policyOf(platform).minSpacingMs)
  /** Jobs that wait for a retry, by the end of their window. */
  readonly #windows = new LazyHeap<DispatchJob>({
    place: 2,
    keyOf: (job) => windowEndsAt(job, this.#orgs.policyOf(job.place.platform)) + 1,
    before: (a, b) => a.place.id < b.place.id,
  })
  #nowMs = 0

  constructor(
    rows: PlatformRows,
    options: { readonly state?: SessionDispatchState; readonly touch?: DispatchTouch } = {},
  ) {
    this.#orgs = new OrgTable(rows)
    this.#touch = options.touch ?? NO_TOUCH
    if (options.state !== undefined) this.#restore(options.state)
  }

  get nowMs(): number {
    return this.#nowMs
  }

  /** A job that has not ended. */
  job(id: JobId): DispatchJob | undefined {
    return this.#jobs.get(id)
  }

  /** Retry windows that have ended and openings; gives the jobs that failed. Time never goes back. */
  advance(nowMs: number): DispatchJob[] {
    const before = this.#nowMs
    this.#nowMs = Math.max(before, nowMs)
    const failed: DispatchJob[] = []
    for (let at = this.#windows.topKey(); at <= this.#nowMs; at = this.#windows.topKey()) {
      const job = this.#windows.top() as DispatchJob
      // A window that a change of policy shortened ends when that is noticed, not in the past.
      this.#end(job, { ...windowExhausted(job), at: Math.max(at, before) })
      failed.push(job)
    }
    this.#open()
    return failed
  }

  join(request: SessionRequest): DispatchJob {
    invariant(!this.#jobs.has(request.id), 'a job joins once')
    const job = newDispatchJob(this.#ranks.join(request))
    this.#jobs.set(request.id, job)
    this.#orgOf(job).addLive(request.eventId)
    if (job.place.rank !== null) this.#queue(job)
    this.#touch.job(job)
    return job
  }

  /** How the attempt in flight ended; the job has an `end` now, or a `retryAt`. */
  outcome(id: JobId, outcome: AttemptOutcome): DispatchJob {
    const job = this.#jobs.get(id)
    const sentAt = job?.sentAt ?? null
    invariant(job !== undefined && sentAt !== null, 'an outcome belongs to an attempt in flight')
    const org = this.#orgOf(job)
    const { policy } = org
    org.inFlight--
    this.#orgs.changed(org)
    if (outcome.type === 'refused' && outcome.http === 429) {
      const retryAfterMs = outcome.retryAfterMs ?? 0
      throttleBudget(org.budget, policy, { nowMs: this.#nowMs, sentAt, retryAfterMs })
      this.#touch.org(org)
    }
    job.sentAt = null
    const { isCancelNoted, isUnknown: wasUnknown } = job
    this.#apply(job, judgeAttempt(outcome, { policy, isCancelNoted, wasUnknown }))
    return job
  }

  /**
   * Ends a waiting job, notes the cancel of one in flight; null for one that has ended. `lookup` is
   * what was found, where the last attempt could have booked and the platform can be asked.
   */
  cancel(id: JobId, lookup: Lookup | null = null): DispatchJob | null {
    const job = this.#jobs.get(id)
    if (job === undefined) return null
    if (job.sentAt === null) {
      this.#apply(job, judgeCancel(job.isUnknown, this.#orgOf(job).policy, lookup))
    } else {
      job.isCancelNoted = true
      this.#touch.job(job)
    }
    return job
  }

  /**
   * Sends all that may go now. `serve` is asked before each send whether somebody is there to do it;
   * if not, the dispatch key keeps its token and its turn, and is asked again at the next call.
   */
  sendReady(serve: (job: DispatchJob) => boolean = () => true): SessionSend[] {
    const sends: SessionSend[] = []
    for (const org of this.#orgs.takeDue(this.#nowMs)) {
      if (org.settle(this.#nowMs)) this.#touch.org(org)
      for (let next = org.choose(this.#nowMs); next !== null; next = org.choose(this.#nowMs)) {
        if (!serve(next.job)) {
          this.#orgs.leaveUnserved(org)
          break
        }
        org.book(next, this.#nowMs)
        sends.push(this.#send(next.job))
        this.#touch.org(org)
      }
    }
    return sends
  }

  /** When the passing of time alone may change something next; null if it never does. */
  nextDueAt(): number | null {
    const wakeAt = this.#orgs.nextWakeAt()
    const at = Math.min(wakeAt, this.#windows.topKey(), this.#ranks.nextOpeningAt())
    return at === Infinity ? null : at
  }

  /** Other policies from now on; ranks and send times that were given stay (BUDGET-8). */
  changePolicies(rows: PlatformRows): void {
    this.#orgs.changePolicies(rows, this.#nowMs)
    this.#windows.rebuild()
    for (const org of this.#orgs.all()) this.#touch.org(org)
  }

  state(): SessionDispatchState {
    return {
      nowMs: this.#nowMs,
      orgs: this.#orgs.all().map((org) => org.state()),
      groups: this.#ranks.openGroups(),
      jobs: [...this.#jobs.values()].map((job) => ({
        place: { ...job.place },
        state: dispatchJobState(job),
      })),
    }
  }

  #restore({ nowMs, orgs, groups, jobs }: SessionDispatchState): void {
    this.#nowMs = nowMs
    for (const state of orgs) this.#orgs.restore(state)
    for (const { place, state } of jobs) {
      const job = { ...newDispatchJob({ ...place }), ...state }
      this.#jobs.set(place.id, job)
      const org = this.#orgOf(job)
      org.addLive(place.eventId)
      if (job.sentAt !== null) org.inFlight++
      else if (place.rank !== null) this.#queue(job)
    }
    for (const state of orgs) this.#orgs.get(state, nowMs).restoreCredits(state)
    const places = [...this.#jobs.values()].map(({ place }) => place)
    this.#ranks.restore(
      groups,
      places.filter(({ rank }) => rank === null),
    )
    this.#open()
  }

  #open(): void {
    for (const group of this.#ranks.advance(this.#nowMs)) {
      const [first] = group
      if (first === undefined) continue
      const org = this.#orgs.get(first, this.#nowMs)
      const lane = org.lane(first.eventId)
      this.#orgs.changed(org)
      for (const { id } of group) {
        const job = this.#jobs.get(id) as DispatchJob
        lane.enter(job)
        this.#touch.job(job)
      }
    }
  }

  #send(job: DispatchJob): SessionSend {
    const attempt = job.attempts
    this.#windows.leave(job)
    job.attempts++
    job.firstSentAt ??= this.#nowMs
    job.sentAt = this.#nowMs
    job.retryAt = null
    this.#touch.job(job)
    return { at: this.#nowMs, job, attempt }
  }

  #apply(job: DispatchJob, judgement: Judgement): void {
    if (judgement.type === 'end') {
      const { status, reason } = judgement
      this.#end(job, { status, reason, at: this.#nowMs })
      return
    }
    const { policy } = this.#orgOf(job)
    const retryAt = this.#nowMs + retryWaitMs(policy, job.attempts - 1, judgement.retryAfterMs)
    job.isUnknown = judgement.isUnknown
    if (retryAt > windowEndsAt(job, policy)) {
      this.#end(job, { ...windowExhausted(job), at: this.#nowMs })
      return
    }
    job.retryAt = retryAt
    this.#queue(job)
    this.#touch.job(job)
  }

  /** A job that has a time to wait for: that of its first attempt, or that of a retry. */
  #queue(job: DispatchJob): void {
    const org = this.#orgOf(job)
    org.lane(job.place.eventId).enter(job)
    if (job.retryAt !== null) this.#windows.enter(job)
    this.#orgs.changed(org)
  }

  #end(job: DispatchJob, end: SessionEnd): void {
    const { place } = job
    const org = this.#orgOf(job)
    job.end = end
    job.retryAt = null
    org.lane(place.eventId).leave(job)
    org.dropLive(place.eventId)
    this.#windows.leave(job)
    if (place.rank === null) this.#ranks.cancel(place)
    this.#jobs.delete(place.id)
    this.#orgs.changed(org)
    this.#touch.job(job)
    // Its session may have been forgotten with it.
    this.#touch.org(org)
  }

  #orgOf({ place }: DispatchJob): OrgDispatch {
    return this.#orgs.get(place, this.#nowMs)
  }
}

/** Its time for retries is over; the last attempt may have booked all the same (ATTEMPT-4). */
function windowExhausted({ isUnknown }: DispatchJob): Omit<SessionEnd, 'at'> {
  return { status: 'FAILED', reason: isUnknown ? 'outcome_unknown' : 'retry_window_exhausted' }
}

const NO_TOUCH: DispatchTouch = { job: () => {}, org: () => {} }
