import type { CborMap } from '../encoding/cbor.ts'
import type { JobId, LeaseId, ProviderId, WorkerId } from '../encoding/ids.ts'
import type { KindName } from '../enqueue/kinds.ts'
import type { FairleadError } from '../errors.ts'
import type { CancelReason } from '../market/market.ts'
import type { Refusal } from '../match/eligibility.ts'
import type { Lookup } from '../outcome/judge-attempt.ts'

/**
 * A worker's source of leases: the engine in this process, or one behind a wire. A worker opens a session and
 * hears of its leases through a listener. It acts on them by calls on the session. A call resolves once its effect
 * is durable, and rejects with a `FairleadError`.
 */
export interface LeaseSource {
  /**
   * Connects a worker. The listener may be called before this resolves. A second session of the same worker
   * replaces the first.
   */
  open(hello: WorkerHello, listener: LeaseListener): Promise<LeaseSession>
}

/** The first message of a worker. */
export interface WorkerHello {
  readonly providerId: ProviderId
  readonly workerId: WorkerId
  /** The number of leases that it takes at once. */
  readonly slots: number
  /** The leases that the worker still has; it gives back its other ones. Null if it does not say. */
  readonly holds: readonly LeaseId[] | null
  /** The offer of its provider from now on. An unknown provider is registered. */
  readonly offer?: {
    readonly kinds: readonly KindName[]
    /** Models and task names; `*` means any. */
    readonly models: readonly string[]
    /** The booking sites that it registers people at; `*` means any. None if left out. */
    readonly platforms?: readonly string[]
  }
}

/** The messages to a worker. None is sent before it is durable. */
export interface LeaseListener {
  /** A lease to ack. It may be offered again until it is acked. */
  offer(offer: LeaseOffer): void
  /** All leases that the worker holds, sent when it connects and after trouble. Any other lease of it is lost. */
  held(leases: readonly LeaseTimes[]): void
  /** A lease has ended other than by the worker's own call. Its work is no longer wanted. */
  lost(leaseId: LeaseId, reason: LostReason): void
  /**
   * The obstacle that keeps the provider from work, sent once it is known and on every change; null if there is
   * none.
   */
  notice?(notice: ProviderNotice | null): void
  /**
   * The session is over, and not by `close`. If the error is retryable, open another session. If not, another one
   * has replaced it.
   */
  closed(reason: FairleadError): void
}

/** Why a provider gets no work from anyone, and what to do about it (WORKER-15). */
export interface ProviderNotice {
  readonly reason: Refusal
  readonly message: string
}

/** Why a lease was lost: it was cancelled, or it reached its deadline. */
export type LostReason = CancelReason | 'deadline' | 'timeout'

/** The times of a lease, by the clock of its source. */
export interface LeaseTimes {
  readonly leaseId: LeaseId
  /** The time of this message. A worker counts from here, whatever its own clock shows. */
  readonly at: number
  readonly renewBy: number
  readonly deadline: number
}

/** A lease as its worker receives it, with the work. */
export interface LeaseOffer extends LeaseTimes {
  readonly jobId: JobId
  readonly providerId: ProviderId
  readonly attempt: number
  readonly kind: KindName
  readonly model: string | null
  /** Canonical CBOR, or its decoded form if the source decodes it. */
  readonly payload: Uint8Array | CborMap
  readonly ackBy: number
  readonly tStart: number
  /** The length at issue. Renewals add to the deadline. */
  readonly lengthMs: number
  /** Null if the worker may renew without limit. */
  readonly renewalsMax: number | null
  /** The W3C trace context of the requester. */
  readonly traceparent: string | null
  /**
   * Registrations only. `lookup` asks if an earlier attempt has booked; the worker sends nothing and answers with
   * `fail` and a `lookup`.
   */
  readonly task?: LeaseTask
  /** Registrations only: the rank in the session. */
  readonly rank?: number
  /** Registrations only, as hex: equal for all attempts of a job (ATTEMPT-6). */
  readonly idempotencyKey?: string
}

export type LeaseTask = 'book' | 'lookup'

/** A worker's report of a job that is done. */
export interface LeaseResult {
  readonly output?: Uint8Array
  /** The media type of the output, at most 128 bytes. */
  readonly contentType?: string
  /** 32 bytes as `0x` hex; optional if there is an output. */
  readonly digest?: string
  /** Canonical CBOR. */
  readonly meta?: Uint8Array
  readonly actualUnits?: number
  /** The tokens of prompt and answer that it really took. */
  readonly actualTokens?: number
}

/** A worker's report of a job that it could not do. */
export interface LeaseFailure {
  readonly code: string
  readonly permanent: boolean
  /** The description of the failure, for people. Not stored for a registration. */
  readonly message?: string
  /** Canonical CBOR, such as a stack or a status. Not stored for a registration. */
  readonly details?: Uint8Array
  /** The minimum wait before the next try, as the failed party asked for. */
  readonly retryAfterMs?: number
  /** Only for registrations, like all fields below: the HTTP status of the platform's answer. */
  readonly http?: number
  /** The request may have arrived, and no answer came back. */
  readonly isUnknown?: boolean
  /** The call that can book was not sent, so the outcome of an earlier attempt stays open. */
  readonly isUnsent?: boolean
  /** The time from the answer to its ack until the first call of the attempt went out; left out if none did. */
  readonly sentAfterMs?: number
  /** The finding of a lookup; left out if there was no lookup, or if it is worth another one. */
  readonly lookup?: Lookup
}

/** A worker's word on how far it has come. */
export interface LeaseProgress {
  /** A whole number from 0 to 100. */
  readonly percent?: number
  readonly message?: string
  /** Lines for the log of the attempt, at most 100. */
  readonly log?: readonly string[]
}

export interface LeaseSession {
  ack(leaseId: LeaseId): Promise<void>
  /** Implies the ack. */
  progress(leaseId: LeaseId, progress: LeaseProgress): Promise<void>
  /** Returns the times of the lease after the renewal. */
  renew(leaseId: LeaseId): Promise<LeaseTimes>
  decline(leaseId: LeaseId): Promise<void>
  /** Gives a lease back without a charge. */
  release(leaseId: LeaseId): Promise<void>
  complete(leaseId: LeaseId, result: LeaseResult): Promise<void>
  fail(leaseId: LeaseId, failure: LeaseFailure): Promise<void>
  setSlots(slots: number): Promise<void>
  /** Tells the engine that the provider is alive. */
  heartbeat(): Promise<void>
  /** The worker leaves. Its leases wait for it to come back. */
  close(): Promise<void>
}
