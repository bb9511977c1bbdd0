import { throttleBudget } from '../admit/dispatch-budget.ts'
import { LazyHeap } from '../collections/lazy-heap.ts'
import type { JobId } from '../encoding/ids.ts'
import { compareText } from '../encoding/text.ts'
import { invariant } from '../errors.ts'
import {
  type AttemptOutcome,
  askedToWaitMs,
  type Judgement,
  judgeAttempt,
  judgeCancel,
  type Lookup,
  lookupDecides,
  needsLookup,
  retryWaitMs,
} from '../outcome/judge-attempt.ts'
import type { PlatformPolicy, PlatformRows } from '../policy/platform-policy.ts'
import {
  type DispatchJob,
  type DispatchJobState,
  dispatchJobState,
  newDispatchJob,
  type SessionEnd,
  windowEndsAt,
} from './dispatch-job.ts'
import type { OrgDispatch, OrgDispatchState } from './org-dispatch.ts'
import { type DispatchKey, OrgTable } from './org-table.ts'
import { SessionLine } from './session-line.ts'
import {
  type OpenGroup,
  type SessionJob,
  type SessionKey,
  SessionRanks,
  type SessionRequest,
  sessionId,
} from './session-order.ts'

/** One send: an attempt, or a lookup of an earlier one. */
export interface SessionSend {
  readonly at: number
  readonly job: DispatchJob
  /** From 0. A lookup has the number of the attempt that it is about. */
  readonly attempt: number
  readonly isLookup: boolean
}

/**
 * All state that influences decisions, as plain data. A dispatch that continues from it decides alike
 * (DISPATCH-7).
 */
export interface SessionDispatchState {
  readonly nowMs: number
  readonly orgs: readonly OrgDispatchState[]
  readonly groups: readonly OpenGroup[]
  /** Jobs that have not ended. */
  readonly jobs: readonly { readonly entry: SessionJob; readonly state: DispatchJobState }[]
}

/** Called for every object whose stored form has changed. */
export interface DispatchTouch {
  readonly job: (job: DispatchJob) => void
  readonly org: (org: OrgDispatch) => void
  readonly group: (group: OpenGroup) => void
  /** A group has opened: its waiting jobs got the ranks 0, 1, 2 … in this order. */
  readonly opened: (jobs: readonly SessionJob[]) => void
}

/**
 * The answer to a request for an attempt. Either it is made, or there is no provider for this dispatch key. Or
 * there is none for this job, while other jobs of the key may go.
 */
export type Service = 'served' | 'nobody' | 'pass'

/**
 * Registrations on their way to the platforms: when each is sent, and what happens to it.
 *
 * A job joins its session and gets a rank when its group opens. It waits until its send time has come, and until
 * it has a token, a free slot in flight and its session's turn. Then it is sent, and ends or waits for a retry.
 * Everything acts at the time of the last `advance`. At one instant the driver calls `advance`, then `outcome` for
 * each ended attempt, in the order of their sends. Then it calls `join`, `cancel` and `sendReady` (DISPATCH-1).
 * `nextDueAt` says when to come back if nothing happens before.
 *
 * If an outcome is unknown and a lookup decides, a driver either passes the finding along, or sets `looks`. With
 * `looks` the job waits until `sendReady` sends a lookup.
 */
export class SessionDispatch {
  readonly #touch: DispatchTouch
  readonly #looks: boolean
  readonly #orgs: OrgTable
  readonly #jobs = new Map<JobId, DispatchJob>()
  readonly #ranks: SessionRanks
  /** The jobs of each session that have not ended. */
  readonly #lines = new Map<string, SessionLine>()
  /** Jobs that wait for a retry, by the end of their window. */
  readonly #windows = new LazyHeap<DispatchJob>({
    bitPair: 2,
    keyOf: (job) => windowEndsAt(job, this.policyOf(job.entry.platform)) + 1,
    before: (a, b) => a.entry.id < b.entry.id,
  })
  /** Jobs that wait for a lookup, by the end of the time for it. */
  readonly #lookups = new LazyHeap<DispatchJob>({
    bitPair: 3,
    keyOf: ({ lookupUntil }) => (lookupUntil ?? Infinity) + 1,
    before: (a, b) => a.entry.id < b.entry.id,
  })
  #inFlight = 0
  #nowMs = 0

  constructor(
    rows: PlatformRows,
    options: {
      readonly state?: SessionDispatchState
      readonly touch?: DispatchTouch
      /** If true, lookups are sent like attempts. If not, outcomes and cancels pass the finding along. */
      readonly looks?: boolean
    } = {},
  ) {
    this.#orgs = new OrgTable(rows)
    this.#touch = options.touch ?? NO_TOUCH
    this.#looks = options.looks ?? false
    const spacingMs = (platform: string) => this.policyOf(platform).minSpacingMs
    this.#ranks = new SessionRanks(spacingMs, this.#touch.group)
    if (options.state !== undefined) this.#restore(options.state)
  }

  get nowMs(): number {
    return this.#nowMs
  }

  /** The number of waiting jobs: live ones that are not in flight. */
  get waitingSize(): number {
    return this.#jobs.size - this.#inFlight
  }

  /** A job that has not ended. */
  job(id: JobId): DispatchJob | undefined {
    return this.#jobs.get(id)
  }

  /** All jobs that have not ended, in the order of joining. */
  jobs(): IterableIterator<DispatchJob> {
    return this.#jobs.values()
  }

  /** The jobs of a session that have not ended, in its order. */
  line(key: SessionKey): readonly SessionJob[] {
    return this.#lines.get(sessionId(key))?.jobs() ?? []
  }

  /** The place of a job in its session, from 1, and the number in line. The place of an ended job is 0. */
  placeOf(key: SessionKey, id: JobId): { readonly place: number; readonly of: number } {
    const line = this.#lines.get(sessionId(key))
    const job = this.#jobs.get(id)
    const place = line === undefined || job === undefined ? 0 : line.placeOf(job.entry)
    return { place, of: line?.size ?? 0 }
  }

  policyOf(platform: string): PlatformPolicy {
    return this.#orgs.policyOf(platform)
  }

  /** The dispatch key of a job in its current state. */
  orgOf({ entry }: DispatchJob): OrgDispatch {
    return this.#orgs.get(entry, this.#nowMs)
  }

  /** Every dispatch key that was used, in the byte order of the keys. */
  orgs(): OrgDispatch[] {
    return this.#orgs
      .all()
      .sort((a, b) => compareText(a.platform, b.platform) || compareText(a.orgRef, b.orgRef))
  }

  /** Ends windows that are over and opens groups. Returns the jobs that failed. Time never goes back. */
  advance(nowMs: number): DispatchJob[] {
    const before = this.#nowMs
    this.#nowMs = Math.max(before, nowMs)
    const failed: DispatchJob[] = []
    for (const heap of [this.#windows, this.#lookups]) {
      for (let at = heap.topKey(); at <= this.#nowMs; at = heap.topKey()) {
        const job = heap.top() as DispatchJob
        // A window that a policy change has shortened ends when this is noticed, not in the past.
        this.#end(job, { ...windowExhausted(job), at: Math.max(at, before) })
        failed.push(job)
      }
    }
    this.#open()
    return failed
  }

  /**
   * Only moves the time on: for an outcome, which comes before everything that falls due at the same instant
   * (DISPATCH-1). Everything that fell due earlier has happened by then.
   */
  moveTo(nowMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs)
  }

  join(request: SessionRequest): DispatchJob {
    invariant(!this.#jobs.has(request.id), 'a job joins once')
    const job = newDispatchJob(this.#ranks.join(request))
    this.#jobs.set(request.id, job)
    this.#lineOf(job).add(job.entry)
    const org = this.#orgs.find(request) ?? this.#openOrg(request)
    org.lanes.addLive(request.eventId)
    if (job.entry.rank !== null) this.#queue(job)
    this.#touch.job(job)
    return job
  }

  /** Handles the end of the attempt in flight. The job then has an `end` or a `retryAt`, or waits for a lookup. */
  outcome(id: JobId, outcome: AttemptOutcome): DispatchJob {
    const job = this.#jobs.get(id)
    const sentAt = job?.sentAt ?? null
    invariant(job !== undefined && sentAt !== null, 'an outcome belongs to an attempt in flight')
    const org = this.orgOf(job)
    const { policy } = org
    this.#land(job, org)
    if ('http' in outcome && outcome.http === 429) {
      const retryAfterMs = askedToWaitMs(outcome)
      throttleBudget(org.budget, policy, { nowMs: this.#nowMs, sentAt, retryAfterMs })
      this.#touch.org(org)
    }
    const { isCancelNoted, isUnknown, lookupUntil } = job
    // A lookup sends nothing: its outcome is about the attempt before it.
    const wasUnknown = isUnknown || lookupUntil !== null
    const context = { policy, isCancelNoted, wasUnknown }
    if (this.#looks && needsLookup(outcome, context)) {
      const asked = askedToWaitMs(outcome)
      // After a fruitless lookup, the next one keeps the distance of late retries.
      const wait = lookupUntil === null ? asked : retryWaitMs(policy, Infinity, asked)
      this.#wantLookup(job, wait === 0 ? null : this.#nowMs + wait)
    } else {
      job.lookupUntil = null
      this.#apply(job, judgeAttempt(outcome, context))
    }
    return job
  }

  /**
   * Ends a waiting job, or notes the cancel of one in flight; null for a job that has ended. `lookup` is the
   * finding, if the last attempt may have booked and the platform can be asked.
   */
  cancel(id: JobId, lookup: Lookup | null = null): DispatchJob | null {
    const job = this.#jobs.get(id)
    if (job === undefined) return null
    const { policy } = this.orgOf(job)
    const isAsked = this.#looks && lookup === null && lookupDecides(policy, true)
    if (job.sentAt !== null || job.lookupUntil !== null || (job.isUnknown && isAsked)) {
      job.isCancelNoted = true
      if (job.sentAt === null && job.lookupUntil === null) this.#wantLookup(job, null)
      this.#touch.job(job)
    } else this.#apply(job, judgeCancel(job.isUnknown, policy, lookup))
    return job
  }

  /** Ends a job for a reason outside its session. Its attempt no longer counts. */
  drop(id: JobId): void {
    const job = this.#jobs.get(id)
    if (job === undefined) return
    if (job.sentAt !== null) this.#land(job, this.orgOf(job))
    this.#end(job, null)
  }

  /**
   * Sends all jobs that may go now, at most `most`. Before each send, `serve` is asked for a provider. If there is
   * none, token and turn are kept, and the next call asks again.
   */
  sendReady(
    serve: (job: DispatchJob, isLookup: boolean) => Service = () => 'served',
    most = Infinity,
  ): SessionSend[] {
    const sends: SessionSend[] = []
    // Keys with a job that no provider took: those that got nothing come before those that got something and want more.
    const unserved: OrgDispatch[] = []
    const wanting: OrgDispatch[] = []
    for (const org of this.#orgs.takeDue(this.#nowMs)) {
      const before = sends.length
      let isLeft = false
      // Without a job it is only here because no restart came in between, so it must leave no trace.
      if (org.nextSendAt() < Infinity) {
        if (org.recover(this.#nowMs)) this.#touch.org(org)
        isLeft =
          before < most ? this.#sendFrom(org, sends, { serve, most }) : org.isReady(this.#nowMs)
      }
      const isServed = !isLeft || sends.length > before
      if (isServed && this.#orgs.noteServed(org)) this.#touch.org(org)
      if (isLeft) (sends.length > before ? wanting : unserved).push(org)
    }
    for (const org of this.#orgs.noteUnserved([...unserved, ...wanting])) this.#touch.org(org)
    return sends
  }

  /** When time alone may change something next; null if it never does. */
  nextDueAt(): number | null {
    const at = Math.min(this.nextSendAt(), this.nextEndOrOpeningAt())
    return at === Infinity ? null : at
  }

  /** When time alone may make a send possible; infinite if it never does. */
  nextSendAt(): number {
    return this.#orgs.nextWakeAt()
  }

  /** When `advance` has something to do next; infinite if it never has. */
  nextEndOrOpeningAt(): number {
    return Math.min(this.#windows.topKey(), this.#lookups.topKey(), this.#ranks.nextOpeningAt())
  }

  /** True if a job could go at once if there were a provider for it. */
  get hasUnserved(): boolean {
    return this.#orgs.hasUnserved
  }

  /** Switches to other policies. Ranks and send times that were given stay (BUDGET-8). */
  changePolicies(rows: PlatformRows): void {
    this.#orgs.changePolicies(rows, this.#nowMs)
    this.#windows.rebuild()
    // Ordered, so that neither the order of arrival nor a restart matters.
    for (const org of this.orgs()) this.#touch.org(org)
  }

  /** True if the jobs of a session with this time have their ranks. */
  isOpen(group: SessionKey & { readonly scheduledTime: number }): boolean {
    return this.#ranks.isOpen(group)
  }

  /**
   * Moves the jobs of a session with one time to another time, in the same order, and returns them. If the group
   * has opened, jobs that were never sent lose their ranks and wait again; the others stay (SESSION-11).
   */
  move(from: SessionKey & { readonly scheduledTime: number }, to: number): DispatchJob[] {
    const moved = this.isOpen(from)
      ? this.#unrank(from, to)
      : this.#ranks.move(from, to).map(({ id }) => this.#jobs.get(id) as DispatchJob)
    this.#lines.get(sessionId(from))?.rebuild()
    for (const job of moved) {
      if (job.entry.rank !== null) this.#queue(job)
      this.#touch.job(job)
    }
    return moved
  }

  /** Forgets the groups of sessions that no job can join any more, and returns them. */
  forgetSessions(sessions: readonly SessionKey[]): Omit<OpenGroup, 'nextRank'>[] {
    return this.#ranks.forgetSessions(sessions)
  }

  /** Forgets the dispatch keys that are idle and have no known session (DISPATCH-9), and returns them. */
  forgetIdle(isKnown: (key: DispatchKey) => boolean): OrgDispatch[] {
    const idle = this.orgs().filter((org) => !isKnown(org) && org.isIdle(this.#nowMs))
    for (const org of idle) this.#orgs.forget(org)
    return idle
  }

  state(): SessionDispatchState {
    return {
      nowMs: this.#nowMs,
      orgs: this.#orgs.all().map((org) => org.state()),
      groups: this.#ranks.openGroups(),
      jobs: [...this.#jobs.values()].map((job) => ({
        entry: { ...job.entry },
        state: dispatchJobState(job),
      })),
    }
  }

  #restore({ nowMs, orgs, groups, jobs }: SessionDispatchState): void {
    this.#nowMs = nowMs
    for (const state of orgs) this.#orgs.restore(state)
    for (const { entry, state } of jobs) {
      const job = { ...newDispatchJob({ ...entry }), ...state }
      this.#jobs.set(entry.id, job)
      this.#lineOf(job).add(job.entry)
      const org = this.orgOf(job)
      org.lanes.addLive(entry.eventId)
      if (job.sentAt !== null) {
        org.inFlight++
        this.#inFlight++
      } else if (job.lookupUntil !== null) {
        org.lookups.add(job)
        this.#lookups.enter(job)
        this.#orgs.changed(org)
      } else if (entry.rank !== null) this.#queue(job)
    }
    for (const state of orgs) this.#orgs.get(state, nowMs).restoreCredits(state)
    const entries = [...this.#jobs.values()].map(({ entry }) => entry)
    this.#ranks.restore(
      groups,
      entries.filter(({ rank }) => rank === null),
    )
    this.#open()
  }

  /** The job of an entry, unless it has ended or lost this entry. */
  readonly #waiting = (entry: SessionJob): DispatchJob | undefined => {
    const job = this.#jobs.get(entry.id)
    return job === undefined || job.end !== null || job.entry !== entry ? undefined : job
  }

  #unrank(from: SessionKey & { readonly scheduledTime: number }, to: number): DispatchJob[] {
    const moved: DispatchJob[] = []
    for (const entry of [...this.line(from)]) {
      const job = this.#jobs.get(entry.id)
      const isSent = job === undefined || job.attempts > 0 || job.lookupUntil !== null
      if (isSent || entry.scheduledTime !== from.scheduledTime) continue
      this.orgOf(job).lanes.leave(job)
      this.#lineOf(job).remove(entry)
      job.entry = { ...entry, scheduledTime: to, rank: null, sendAt: null }
      this.#ranks.enter(job.entry)
      this.#lineOf(job).add(job.entry)
      moved.push(job)
    }
    const org = moved[0] && this.orgOf(moved[0])
    if (org === undefined) return moved
    org.lanes.lane(from.eventId).rebuild()
    this.#orgs.changed(org)
    return moved
  }

  /** Stored from the start, because its bucket counts from then. */
  #openOrg(key: DispatchKey): OrgDispatch {
    const org = this.#orgs.get(key, this.#nowMs)
    this.#touch.org(org)
    return org
  }

  #lineOf({ entry }: DispatchJob): SessionLine {
    const id = sessionId(entry)
    let line = this.#lines.get(id)
    if (line === undefined) {
      line = new SessionLine()
      this.#lines.set(id, line)
    }
    return line
  }

  #open(): void {
    for (const group of this.#ranks.advance(this.#nowMs)) {
      const [first] = group
      if (first === undefined) continue
      const org = this.#orgs.get(first, this.#nowMs)
      this.#orgs.changed(org)
      org.lanes.open(first.eventId, group, this.#waiting)
      this.#touch.opened(group)
    }
  }

  /** True if a job that could go is left, because no provider is there for it. */
  #sendFrom(
    org: OrgDispatch,
    sends: SessionSend[],
    {
      serve,
      most,
    }: { serve: (job: DispatchJob, isLookup: boolean) => Service; readonly most: number },
  ): boolean {
    const passed: DispatchJob[] = []
    let isNobodyThere = false
    while (sends.length < most) {
      const lookup = org.chooseLookup(this.#nowMs)
      const next = lookup === null ? org.choose(this.#nowMs) : null
      const job = lookup ?? next?.job
      if (job === undefined) break
      const service = serve(job, lookup !== null)
      if (service === 'nobody') {
        isNobodyThere = true
        break
      }
      if (service === 'pass') {
        passed.push(job)
        if (lookup === null) org.lanes.leave(job)
        else org.lookups.delete(job)
        continue
      }
      if (next !== null) org.book(next, this.#nowMs)
      else org.inFlight++
      sends.push(this.#send(job, lookup !== null))
      this.#touch.org(org)
    }
    if (!isNobodyThere && passed.length === 0) return false
    // Jobs that were passed over keep their places and are asked for again, like those of a key without a provider.
    // The other jobs do not wait for that.
    const othersAt = isNobodyThere ? Infinity : org.nextSendAt()
    for (const job of passed) {
      if (job.lookupUntil === null) org.lanes.enter(job)
      else org.lookups.add(job)
    }
    this.#orgs.leaveUnserved(org, othersAt)
    return true
  }

  #send(job: DispatchJob, isLookup: boolean): SessionSend {
    const attempt = isLookup ? job.attempts - 1 : job.attempts++
    this.#inFlight++
    this.#windows.leave(job)
    this.#lookups.leave(job)
    this.orgOf(job).lookups.delete(job)
    job.firstSentAt ??= this.#nowMs
    job.sentAt = this.#nowMs
    job.retryAt = null
    this.#touch.job(job)
    return { at: this.#nowMs, job, attempt, isLookup }
  }

  /** Books the end of the attempt in flight. */
  #land(job: DispatchJob, org: OrgDispatch): void {
    job.sentAt = null
    org.inFlight--
    this.#inFlight--
    this.#orgs.changed(org)
  }

  #apply(job: DispatchJob, judgement: Judgement): void {
    if (judgement.type === 'end') {
      const { status, reason } = judgement
      this.#end(job, { status, reason, at: this.#nowMs })
      return
    }
    const { policy } = this.orgOf(job)
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

  /** Nothing more is sent for the job until a lookup is done, or the time for it is over. */
  #wantLookup(job: DispatchJob, notBefore: number | null): void {
    const org = this.orgOf(job)
    job.isUnknown = true
    job.retryAt = notBefore
    job.lookupUntil ??= this.#nowMs + org.policy.windowMs
    org.lanes.leave(job)
    org.lookups.add(job)
    this.#windows.leave(job)
    this.#lookups.enter(job)
    this.#orgs.changed(org)
    this.#touch.job(job)
  }

  /** Queues a job that waits for a time: that of its first attempt, or that of a retry. */
  #queue(job: DispatchJob): void {
    const org = this.orgOf(job)
    org.lanes.enter(job)
    if (job.retryAt !== null) this.#windows.enter(job)
    this.#orgs.changed(org)
  }

  /** Ends a job; null if the reason lies outside its session. */
  #end(job: DispatchJob, end: SessionEnd | null): void {
    const { entry } = job
    const org = this.orgOf(job)
    job.end = end
    job.retryAt = null
    org.lanes.leave(job)
    org.lanes.dropLive(entry.eventId)
    org.lookups.delete(job)
    this.#windows.leave(job)
    this.#lookups.leave(job)
    if (entry.rank === null) this.#ranks.cancel(entry)
    const line = this.#lineOf(job)
    line.remove(entry)
    if (line.size === 0) this.#lines.delete(sessionId(entry))
    this.#jobs.delete(entry.id)
    this.#orgs.changed(org)
    this.#touch.job(job)
    // The lane of its session may be gone with it, and its credit too.
    this.#touch.org(org)
  }
}

/** The end of a job whose retry window is over. Its last attempt may still have booked (ATTEMPT-4, ATTEMPT-9). */
function windowExhausted({ isUnknown }: DispatchJob): Omit<SessionEnd, 'at'> {
  return { status: 'FAILED', reason: isUnknown ? 'outcome_unknown' : 'retry_window_exhausted' }
}

const NO_TOUCH: DispatchTouch = {
  job: () => {},
  org: () => {},
  group: () => {},
  opened: () => {},
}
