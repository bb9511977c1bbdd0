import {
  FairleadError,
  type JobId,
  type KindName,
  type LeaseId,
  type LeaseOffer,
  type LeaseTask,
  type LeaseTimes,
} from '@fairlead/core'
import { type Payloads, payloadOf } from '../payloads.ts'
import type { ProofFacts } from '../prover/proof-of.ts'
import type { ProgressReporter } from './progress-reporter.ts'

/** A job as its handler gets it; where it may be of several kinds, `kind` tells them apart. */
export type Job<Kind extends KindName = KindName> = { [Each in Kind]: JobOf<Each> }[Kind]

interface JobOf<Kind extends KindName> {
  readonly jobId: JobId
  readonly leaseId: LeaseId
  /** 0 is the first. */
  readonly attempt: number
  readonly kind: Kind
  /** ai: the model; task: its name; else null. */
  readonly model: string | null
  readonly payload: Payloads[Kind]
  /** W3C trace context of whoever asked for the work, to go on with; null where there is none. */
  readonly traceparent: string | null
  /** Registrations: `lookup` asks whether an earlier attempt booked, and to send nothing; else null. */
  readonly task: LeaseTask | null
  /** Registrations: the place in the session; else null. */
  readonly rank: number | null
  /** Registrations: the same for all attempts of the job; else null. */
  readonly idempotencyKey: string | null
  /** Fires when the work is wanted no more; its reason is a `FairleadError`. */
  readonly signal: AbortSignal
  /** Asks the source whether the lease is still ours: before a step that must not be made twice. */
  confirm(): Promise<void>
  /**
   * Adds to the proof of this work, for a worker with a `prover`; without one it does nothing. A field that is given again
   * replaces what was given before.
   */
  prove(facts: ProofFacts): void
  /** Says how far the work has come, in percent from 0 to 100; more is 100. Reports are gathered, and one that fails harms no job. */
  progress(percent: number, message?: string): void
  /** Adds a line to the log of this attempt; see `fairlead jobs logs`. A value that is no text is shown as `console.log` would. */
  log(line: unknown): void
  /** When the lease ends unless it is renewed, on the worker's own clock. It moves on by renewals. */
  readonly deadline: number
}

/**
 * Where an attempt stands. `queued`: offered, no handler is free. `acking`: it has one, which waits.
 * `running`: the handler has it. `reporting`: its outcome is on its way.
 */
export type Stage = 'queued' | 'acking' | 'running' | 'reporting'

/** The share of the time until `renew_by` that a renewal comes early. */
const EARLY = 0.1

/** What an attempt asks of its worker. */
export interface AttemptCalls {
  readonly renew: (attempt: Attempt) => Promise<void>
  readonly reporter: (attempt: Attempt) => ProgressReporter
}

/** One lease in the hands of a worker, from the offer to the report. */
export class Attempt implements JobOf<KindName> {
  readonly leaseId: LeaseId
  readonly jobId: JobId
  readonly attempt: number
  readonly kind: KindName
  readonly model: string | null
  readonly traceparent: string | null
  readonly task: LeaseTask | null
  readonly rank: number | null
  readonly idempotencyKey: string | null
  stage: Stage = 'queued'
  /** The fields that the handler gave for the proof. */
  facts: ProofFacts = {}
  /** When the handler began. */
  startedAt = 0
  deadline = 0
  /** When to renew; infinity once that is of no use any more. */
  renewAt = 0
  isRenewing = false
  /** The source has said that it took the ack; before that nothing can be renewed. */
  isAcked = false
  /** Whether it counts as one of the handlers that may run at once. */
  holdsSlot = false
  readonly #payload: LeaseOffer['payload']
  #decoded: Payloads[KindName] | null = null
  #abort: AbortController | null = null
  #endedBy: FairleadError | null = null
  /** On the clock of the source. */
  #givenDeadline = 0
  #waiting: (() => void)[] = []
  readonly #calls: AttemptCalls
  #reporter: ProgressReporter | null = null

  constructor(offer: LeaseOffer, nowMs: number, calls: AttemptCalls) {
    this.#calls = calls
    this.leaseId = offer.leaseId
    this.jobId = offer.jobId
    this.attempt = offer.attempt
    this.kind = offer.kind
    this.model = offer.model
    this.traceparent = offer.traceparent ?? null
    this.task = offer.task ?? null
    this.rank = offer.rank ?? null
    this.idempotencyKey = offer.idempotencyKey ?? null
    this.#payload = offer.payload
    this.retime(offer, nowMs)
  }

  /** The same as its handler knows it: kind and payload belong together. */
  get job(): Job {
    return this as unknown as Job
  }

  /** Decoded when it is looked at: many a handler needs no more than the name of its task. */
  get payload(): Payloads[KindName] {
    this.#decoded ??= payloadOf(this.#payload)
    return this.#decoded
  }

  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController()
      if (this.#endedBy !== null) this.#abort.abort(this.#endedBy)
    }
    return this.#abort.signal
  }

  confirm(): Promise<void> {
    return this.#calls.renew(this)
  }

  progress(percent: number, message?: string): void {
    this.#report().progress(percent, message)
  }

  log(line: unknown): void {
    this.#report().log(line)
  }

  /** What the handler has said of its progress and is not sent yet; null if it said nothing. */
  get reporter(): ProgressReporter | null {
    return this.#reporter
  }

  #report(): ProgressReporter {
    this.#reporter ??= this.#calls.reporter(this)
    return this.#reporter
  }

  prove(facts: ProofFacts): void {
    this.facts = { ...this.facts, ...facts }
  }

  /** Why it is over before its time; null while it is not. */
  get endedBy(): FairleadError | null {
    return this.#endedBy
  }

  /** When there is next something to do about it. */
  get dueAt(): number {
    const mayRenew = this.stage === 'running' && this.isAcked && !this.isRenewing
    return mayRenew ? Math.min(this.renewAt, this.deadline) : this.deadline
  }

  /**
   * Takes over the times that the source gave, counted from when it gave them: the clocks of the two
   * need not agree.
   */
  retime({ at, renewBy, deadline }: Omit<LeaseTimes, 'leaseId'>, nowMs: number): void {
    const left = renewBy - at
    this.deadline = nowMs + (deadline - at)
    this.renewAt = nowMs + Math.floor(left > 0 ? left * (1 - EARLY) : 0)
    this.#givenDeadline = deadline
  }

  /** The same after a renewal. One that changed nothing came too early, or is of no use at all. */
  renewed(times: LeaseTimes, nowMs: number): void {
    const isMoved = times.deadline !== this.#givenDeadline
    this.retime(times, nowMs)
    if (isMoved) return
    const left = times.renewBy - times.at
    this.renewAt = left > 0 ? nowMs + left : Number.POSITIVE_INFINITY
  }

  /** The work is wanted no more. */
  end(reason: FairleadError): void {
    if (this.#endedBy !== null) return
    this.#endedBy = reason
    this.#abort?.abort(reason)
    this.wake()
  }

  /** Calls once at the next `wake`. */
  onWake(listener: () => void): void {
    this.#waiting.push(listener)
  }

  /** Something that it may have waited for has happened. */
  wake(): void {
    for (const listener of this.#waiting.splice(0)) listener()
  }
}

/** The reason that a handler's signal gives. */
export function lostLease(leaseId: LeaseId, why: string): FairleadError {
  return new FairleadError('LeaseNotLive', `lease ${leaseId} was lost: ${why}; stop this attempt`, {
    leaseId,
    reason: why,
  })
}
