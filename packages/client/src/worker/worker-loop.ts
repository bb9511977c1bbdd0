import { randomBytes } from 'node:crypto'
import {
  type Clock,
  FairleadError,
  type LeaseId,
  type LeaseOffer,
  type LeaseResult,
  type LeaseSession,
  type LeaseTimes,
  type ProviderId,
  type ProviderNotice,
  type WorkerHello,
  type WorkerId,
} from '@fairlead/core'
import { TransitMap } from '@fairlead/core/internal'
import { leaseResult } from '../result.ts'
import { retryDelayMs } from '../retry-delay.ts'
import { steadyClock } from '../steady-clock.ts'
import { warn } from '../warn.ts'
import { isRetryable } from '../wire/lost.ts'
import { Attempt, type AttemptCalls, type Job, lostLease } from './attempt.ts'
import { failureOf, refusedResult } from './failure.ts'
import { Link } from './link.ts'
import { ProgressReporter } from './progress-reporter.ts'
import type { Worker, WorkerOptions } from './worker.ts'

/** How often a worker says that its provider is alive. */
const HEARTBEAT_MS = 60_000

/** How long a worker whose grace is over waits to hear that it gets nothing any more. */
const PARTING_MS = 5_000

/** How an attempt ends: a call that tells the source. */
type Report = (session: LeaseSession) => Promise<void>

/**
 * The worker loop. Each lease goes through one run of `#serve`: handler and ack, report. All that has a
 * time (renewals, deadlines, heartbeats) shares one timer. While the session is lost the handlers go
 * on, and calls wait for the next session.
 */
export class WorkerLoop implements Worker {
  readonly workerId: WorkerId
  readonly closed: Promise<void>
  readonly #options: WorkerOptions
  readonly #clock: Clock
  readonly #random: () => number
  readonly #link: Link
  /** One for all attempts, each of which keeps it. */
  readonly #calls: AttemptCalls = {
    renew: (attempt) => this.#confirm(attempt),
    reporter: (attempt) =>
      new ProgressReporter(this.#clock, (said) =>
        this.#persist(attempt, (session) => session.progress(attempt.leaseId, said)),
      ),
  }
  /** What the source counts as ours, as far as we know. */
  readonly #attempts = new TransitMap<LeaseId, Attempt>()
  /** Offered while as many handlers ran as may. */
  readonly #queue: Attempt[] = []
  /** Those that are to be acked in a moment. */
  readonly #unacked: Attempt[] = []
  #slotsTaken = 0
  /** What was said last; a source says it again with each session. */
  #noticeSaid: ProviderNotice | null = null
  #timer = { at: Number.POSITIVE_INFINITY, cancel: ignore }
  #beatAt = Number.POSITIVE_INFINITY
  /** Set by `stop`: resolves when the source gives us nothing any more. */
  #drained: Promise<void> | null = null
  #hasNoSlots = false
  #isOver = false
  #tellIdle: () => void = ignore
  #closedResolvers: { readonly resolve: () => void; readonly reject: (error: unknown) => void }

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#clock = options.clock ?? steadyClock
    this.#random = options.random ?? Math.random
    this.workerId = (options.workerId ?? `w-${randomBytes(8).toString('hex')}`) as WorkerId
    this.#closedResolvers = { resolve: ignore, reject: ignore }
    this.closed = new Promise((resolve, reject) => {
      this.#closedResolvers = { resolve, reject }
    })
    this.#link = new Link({
      source: options.proving?.source ?? options.source,
      clock: this.#clock,
      random: this.#random,
      hello: () => this.#hello(),
      listener: {
        offer: (offer) => this.#take(offer),
        held: (leases) => this.#compare(leases),
        lost: (leaseId, reason) => this.#lose(this.#attempts.get(leaseId), reason),
        notice: (notice) => this.#notice(notice),
      },
      opened: () => this.#opened(),
      dropped: (error) => this.#note(error, null),
      failed: (error) => void this.#finish(error),
    })
    this.#link.start()
  }

  stop({ graceMs }: { readonly graceMs?: number } = {}): Promise<void> {
    if (this.#drained === null && !this.#isOver) void this.#stop(graceMs)
    return this.closed
  }

  #hello(): WorkerHello {
    const { providerId, kinds, models = ['*'], platforms = [], concurrency } = this.#options
    return {
      providerId: providerId as ProviderId,
      workerId: this.workerId,
      slots: this.#drained === null ? concurrency : 0,
      holds: [...this.#attempts.keys()],
      offer: { kinds, models, platforms },
    }
  }

  #opened(): void {
    if (this.#drained !== null) this.#hasNoSlots = true
    for (const attempt of this.#attempts.values()) attempt.wake()
    this.#beat(this.#clock.now())
    try {
      this.#options.onConnected?.()
    } catch (error) {
      this.#note(error, null)
    }
  }

  #take(offer: LeaseOffer): void {
    // One that comes again is being acked already.
    if (this.#attempts.has(offer.leaseId) || this.#isOver) return
    const attempt = new Attempt(offer, this.#clock.now(), this.#calls)
    this.#attempts.set(attempt.leaseId, attempt)
    this.#arm(attempt.dueAt)
    // A handler that does not heed its signal keeps its slot, and the next job waits for it.
    if (this.#slotsTaken < this.#options.concurrency) void this.#serve(attempt)
    else this.#queue.push(attempt)
  }

  /** What we have and the source has not is lost; of the rest the times may have moved. */
  #compare(leases: readonly LeaseTimes[]): void {
    const now = this.#clock.now()
    const held = new Map(leases.map((times) => [times.leaseId, times]))
    for (const attempt of [...this.#attempts.values()]) {
      const times = held.get(attempt.leaseId)
      if (times === undefined) this.#lose(attempt, 'the source has it no more')
      else {
        attempt.retime(times, now)
        this.#arm(attempt.dueAt)
      }
    }
  }

  /** The work is wanted no more. If it is done, the answer to its report says what became of it. */
  #lose(attempt: Attempt | undefined, why: string): void {
    if (attempt === undefined || attempt.stage === 'reporting') return
    attempt.end(lostLease(attempt.leaseId, why))
    this.#forget(attempt)
  }

  /** Why there is no work, or that there may be some again; the same is said once (WORKER-15). */
  #notice(notice: ProviderNotice | null): void {
    const before = this.#noticeSaid
    if (before?.reason === notice?.reason && before?.message === notice?.message) return
    this.#noticeSaid = notice
    const { onNotice = warnOf } = this.#options
    try {
      onNotice(notice)
    } catch (error) {
      this.#note(error, null)
    }
  }

  async #serve(attempt: Attempt): Promise<void> {
    const { leaseId } = attempt
    attempt.holdsSlot = true
    this.#slotsTaken++
    try {
      attempt.stage = 'acking'
      if (this.#drained === null && !this.#accepts(attempt)) {
        await this.#persist(attempt, (session) => session.decline(leaseId))
        return
      }
      // What a registration sends cannot be taken back: before the ack is durable nothing is sent.
      if (this.#drained === null && attempt.kind === 'registration') await this.#ack(attempt)
      else if (this.#drained === null) this.#ackSoon(attempt)
      // Unless somebody lost it or stopped us meanwhile.
      if (attempt.endedBy !== null) return
      let report = this.#drained === null ? this.#run(attempt) : this.#giveBack(attempt)
      // A handler that is done at once is not waited for, unless it would call itself for all that wait.
      if (typeof report !== 'function' || this.#queue.length > 0) report = await report
      this.#vacate(attempt)
      if (attempt.endedBy !== null) return
      attempt.stage = 'reporting'
      await this.#persist(attempt, report)
    } catch (error) {
      if (isBadResult(error) && attempt.stage === 'reporting') await this.#refuse(attempt, error)
      else this.#noteUnlessLost(attempt, error)
    } finally {
      this.#vacate(attempt)
      this.#forget(attempt)
    }
  }

  /**
   * The lease is ours from the offer on, so its handler need not wait for the ack. Nor need there be one
   * if the outcome is known by the time that it would go out: a completion implies it (STATE-9).
   */
  #ackSoon(attempt: Attempt): void {
    this.#unacked.push(attempt)
    if (this.#unacked.length > 1) return
    setImmediate(() => {
      for (const each of this.#unacked.splice(0)) {
        if (each.stage !== 'reporting' && each.endedBy === null) void this.#tryAck(each)
      }
    })
  }

  async #tryAck(attempt: Attempt): Promise<void> {
    try {
      await this.#ack(attempt)
    } catch (error) {
      if (attempt.endedBy !== null || attempt.stage === 'reporting') return
      if (!isLost(error)) this.#note(error, attempt.job)
      this.#lose(attempt, error instanceof Error ? error.message : String(error))
    }
  }

  async #ack(attempt: Attempt): Promise<void> {
    const { leaseId } = attempt
    await this.#persist(attempt, async (session) => {
      if (attempt.stage !== 'reporting') await session.ack(leaseId)
    })
    attempt.isAcked = true
    this.#arm(attempt.dueAt)
  }

  /** Asked before the ack, so that a job which is not wanted here goes on at once. */
  #accepts({ job }: Attempt): boolean {
    try {
      return this.#options.accepts?.(job) ?? true
    } catch (error) {
      this.#note(error, job)
      return false
    }
  }

  /** There is no time for it any more. Where the source does not let us refuse work it would come again: leaving returns it. */
  async #giveBack(attempt: Attempt): Promise<Report> {
    await this.#drained
    if (!this.#hasNoSlots) attempt.end(stopping())
    return (session) => session.release(attempt.leaseId)
  }

  /** Runs the handler. */
  #run(attempt: Attempt): Report | Promise<Report> {
    attempt.stage = 'running'
    attempt.startedAt = this.#clock.now()
    this.#arm(attempt.dueAt)
    try {
      const result: unknown = this.#options.handler(attempt.job)
      if (!isThenable(result)) return this.#completion(attempt, result)
      return Promise.resolve(result).then(
        (value) => this.#completion(attempt, value),
        (error: unknown) => this.#failure(attempt, error),
      )
    } catch (error) {
      return this.#failure(attempt, error)
    }
  }

  #completion(attempt: Attempt, returned: unknown): Report {
    const { leaseId } = attempt
    try {
      const result = leaseResult(returned)
      const tookMs = this.#clock.now() - attempt.startedAt
      return withProgress(attempt, async (session) => {
        await session.complete(leaseId, result)
        this.#prove(attempt, result, tookMs)
      })
    } catch (error) {
      return this.#failure(attempt, error)
    }
  }

  /** The lease is completed, so the slot is free: the proof goes out beside the next work. */
  #prove(attempt: Attempt, result: LeaseResult, tookMs: number): void {
    const { proving } = this.#options
    if (proving === undefined) return
    const { jobId, leaseId, kind, payload, facts } = attempt
    proving.prove({ jobId, leaseId, kind, payload, result, facts, tookMs }, attempt.job)
  }

  #failure(attempt: Attempt, error: unknown): Report {
    const { leaseId } = attempt
    if (attempt.endedBy === null) this.#note(error, attempt.job)
    const failure = failureOf(error, attempt.kind)
    return withProgress(attempt, (session) => session.fail(leaseId, failure))
  }

  /** A result that is refused would hold its lease to the end: another attempt may do better. */
  async #refuse(attempt: Attempt, refusal: unknown): Promise<void> {
    this.#note(refusal, attempt.job)
    const failure = refusedResult(refusal, attempt.kind)
    try {
      await this.#persist(attempt, (session) => session.fail(attempt.leaseId, failure))
    } catch (error) {
      this.#noteUnlessLost(attempt, error)
    }
  }

  /** Calls again until there is an answer for good, or the attempt is over; mostly the first call has one. */
  #persist<T>(attempt: Attempt, call: (session: LeaseSession) => Promise<T>): Promise<T> {
    const { session } = this.#link
    if (session === null || attempt.endedBy !== null) return this.#keepCalling(attempt, call)
    return call(session).catch(async (error: unknown) => {
      if (!isRetryable(error)) throw error
      if (this.#link.session === session) await this.#pause(attempt, 0)
      return this.#keepCalling(attempt, call, 1)
    })
  }

  async #keepCalling<T>(
    attempt: Attempt,
    call: (session: LeaseSession) => Promise<T>,
    triesBefore = 0,
  ): Promise<T> {
    for (let tries = triesBefore; attempt.endedBy === null; tries++) {
      const { session } = this.#link
      if (session === null) {
        await new Promise<void>((resolve) => attempt.onWake(resolve))
        continue
      }
      try {
        return await call(session)
      } catch (error) {
        if (!isRetryable(error)) throw error
        if (this.#link.session === session) await this.#pause(attempt, tries)
      }
    }
    throw attempt.endedBy
  }

  /** Until the next try, a new session, or the end of the attempt. */
  #pause(attempt: Attempt, tries: number): Promise<void> {
    return new Promise((resolve) => {
      const at = this.#clock.now() + retryDelayMs(tries, this.#random)
      const cancel = this.#clock.wakeAt(at, resolve)
      attempt.onWake(() => {
        cancel()
        resolve()
      })
    })
  }

  async #renew(attempt: Attempt): Promise<void> {
    attempt.isRenewing = true
    try {
      await this.#confirm(attempt)
    } catch (error) {
      // Without a renewal the lease runs on to its deadline.
      attempt.renewAt = Number.POSITIVE_INFINITY
      if (isLost(error)) this.#lose(attempt, error.message)
      else if (!isExhausted(error)) this.#note(error, attempt.job)
    }
    attempt.isRenewing = false
    this.#arm(attempt.dueAt)
  }

  /** A renewal that comes too early changes nothing, and still says that the lease is ours; so does an ack. */
  async #confirm(attempt: Attempt): Promise<void> {
    if (!attempt.isAcked) return this.#ack(attempt)
    const times = await this.#persist(attempt, (session) => session.renew(attempt.leaseId))
    attempt.renewed(times, this.#clock.now())
  }

  /** One timer for whatever comes next. It may go off for nothing; that is cheaper than moving it. */
  #arm(atMs: number): void {
    if (atMs >= this.#timer.at || this.#isOver) return
    this.#timer.cancel()
    this.#timer = { at: atMs, cancel: this.#clock.wakeAt(atMs, () => this.#tick()) }
  }

  #tick(): void {
    const now = this.#clock.now()
    this.#timer = { at: Number.POSITIVE_INFINITY, cancel: ignore }
    if (now >= this.#beatAt) this.#beat(now)
    let next = this.#beatAt
    for (const attempt of [...this.#attempts.values()]) {
      if (now >= attempt.deadline) this.#expire(attempt)
      else {
        if (now >= attempt.dueAt) void this.#renew(attempt)
        next = Math.min(next, attempt.dueAt)
      }
    }
    this.#arm(next)
  }

  /** Its time is over here, and so it is at the source, whether we have heard of it or not. */
  #expire(attempt: Attempt): void {
    attempt.end(lostLease(attempt.leaseId, 'deadline'))
    this.#forget(attempt)
  }

  #beat(now: number): void {
    this.#beatAt = now + (this.#options.heartbeatMs ?? HEARTBEAT_MS)
    this.#arm(this.#beatAt)
    this.#link.session?.heartbeat().catch((error: unknown) => {
      if (!isRetryable(error)) this.#note(error, null)
    })
  }

  /** A slot for the next one that waits. */
  #vacate(attempt: Attempt): void {
    if (!attempt.holdsSlot) return
    attempt.holdsSlot = false
    this.#slotsTaken--
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      if (next.endedBy !== null) continue
      void this.#serve(next)
      return
    }
  }

  #forget(attempt: Attempt): void {
    if (this.#attempts.get(attempt.leaseId) !== attempt) return
    this.#attempts.delete(attempt.leaseId)
    if (this.#attempts.size === 0) this.#tellIdle()
  }

  async #stop(graceMs: number | undefined): Promise<void> {
    let cancel = ignore
    const graceOver = new Promise<void>((resolve) => {
      if (graceMs !== undefined) cancel = this.#clock.wakeAt(this.#clock.now() + graceMs, resolve)
    })
    this.#drained = this.#refuseWork()
    for (const attempt of this.#queue.splice(0)) void this.#serve(attempt)
    await Promise.race([this.#allDone(this.#drained), graceOver])
    cancel()
    await this.#giveUp()
    await this.#finish(null)
  }

  /** All work is reported and proved. */
  async #allDone(drained: Promise<void>): Promise<void> {
    await drained
    await this.#idle()
    await this.#options.proving?.idle()
  }

  /** Says that we take nothing any more: before work is given back, or it would come again. */
  async #refuseWork(): Promise<void> {
    for (let tries = 0; !this.#hasNoSlots && !this.#isOver; tries++) {
      const { session } = this.#link
      // With nothing in hand there is nothing to give back, and leaving says it all.
      if (session === null && this.#attempts.size === 0) return
      try {
        await session?.setSlots(0)
        if (session !== null) this.#hasNoSlots = true
      } catch (error) {
        if (!isRetryable(error)) return this.#note(error, null)
      }
      if (!this.#hasNoSlots) await this.#sleep(retryDelayMs(tries, this.#random))
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.wakeAt(this.#clock.now() + ms, resolve))
  }

  #idle(): Promise<void> {
    if (this.#attempts.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#tellIdle = resolve
    })
  }

  /** The grace is over: handlers are told, and what can still be given back is. */
  async #giveUp(): Promise<void> {
    const attempts = [...this.#attempts.values()]
    const undone = attempts.filter(({ stage }) => stage !== 'reporting')
    for (const attempt of attempts) {
      attempt.end(stopping())
      this.#forget(attempt)
    }
    if (undone.length > 0) await this.#slotsGone()
    const { session } = this.#link
    const calls = undone.map(async ({ leaseId }) => {
      if (this.#hasNoSlots) await session?.release(leaseId)
    })
    for (const call of await Promise.allSettled(calls)) {
      if (call.status === 'rejected' && !isLost(call.reason)) this.#note(call.reason, null)
    }
  }

  /** The answer about the slots may still be under way. Without a connection there is nothing to wait for. */
  async #slotsGone(): Promise<void> {
    if (this.#hasNoSlots || this.#link.session === null) return
    let cancel = ignore
    const patience = new Promise<void>((resolve) => {
      cancel = this.#clock.wakeAt(this.#clock.now() + PARTING_MS, resolve)
    })
    await Promise.race([this.#drained, patience])
    cancel()
  }

  /** The end, in order or by an error that leaves nothing to try. */
  async #finish(error: unknown): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    this.#timer.cancel()
    this.#options.proving?.close()
    for (const attempt of [...this.#attempts.values()]) this.#lose(attempt, 'the worker has ended')
    await this.#link.close().catch((reason: unknown) => this.#note(reason, null))
    if (error === null) this.#closedResolvers.resolve()
    else this.#closedResolvers.reject(error)
  }

  #noteUnlessLost(attempt: Attempt, error: unknown): void {
    if (attempt.endedBy === null && !isLost(error)) this.#note(error, attempt.job)
  }

  #note(error: unknown, job: Job | null): void {
    const { onError = warn } = this.#options
    try {
      onError(error, job)
    } catch (own) {
      warn(own)
    }
  }
}

function stopping(): FairleadError {
  return new FairleadError('SchedulerClosed', 'the worker stops; its job is given back')
}

function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value
}

/** The lease is not ours any more: nothing is wrong, and nothing is left to say. */
function isLost(error: unknown): error is FairleadError {
  return error instanceof FairleadError && LOST.has(error.code)
}

const LOST: ReadonlySet<string> = new Set(['LeaseNotLive', 'Forbidden', 'NotFound'])

function isExhausted(error: unknown): boolean {
  return error instanceof FairleadError && error.code === 'RenewalsExhausted'
}

/** What was returned cannot be taken as a result, now or later. */
function isBadResult(error: unknown): boolean {
  return (
    error instanceof FairleadError &&
    (error.code === 'InvalidParams' || error.code === 'LimitExceeded')
  )
}

function warnOf(notice: ProviderNotice | null): void {
  if (notice !== null) process.emitWarning(notice.message)
}

function ignore(): void {}

/** A report after what the handler has said on the way, so that no line is lost with the end of its lease. */
function withProgress({ leaseId, reporter }: Attempt, report: Report): Report {
  if (reporter === null) return report
  return async (session) => {
    await reporter.flush((said) => session.progress(leaseId, said))
    return report(session)
  }
}
