import type { CborMap } from '../encoding/cbor.ts'
import type { JobId, LeaseId, ProviderId, WorkerId } from '../encoding/ids.ts'
import type { KindName } from '../enqueue/kinds.ts'
import type { FairleadError } from '../errors.ts'
import type { CancelReason } from '../market/market.ts'
import type { Refusal } from '../match/eligibility.ts'
import type { Lookup } from '../outcome/judge-attempt.ts'

/**
 * Where a worker gets its leases from: the engine in this process, or one behind a wire. A worker opens
 * a session and is told of its leases by way of a listener; what it does with them are calls on the
 * session. Each call is answered once what it did is durable, and is refused with a `FairleadError`.
 */
export interface LeaseSource {
  /**
   * Connects a worker. The listener may be called before this resolves. A second session of the same
   * worker takes the place of the first.
   */
  open(hello: WorkerHello, listener: LeaseListener): Promise<LeaseSession>
}

/** What a worker says when it connects. */
export interface WorkerHello {
  readonly providerId: ProviderId
  readonly workerId: WorkerId
  /** Leases that it takes at once. */
  readonly slots: number
  /** The leases that it still has; others of its own it gives back. Null: it does not say. */
  readonly holds: readonly LeaseId[] | null
  /** What its provider takes from now on; a provider that is not there yet is registered. */
  readonly offer?: {
    readonly kinds: readonly KindName[]
    /** Models and task names; `*` is any. */
    readonly models: readonly string[]
    /** The booking sites that it registers people at; `*` is any, left out is none. */
    readonly platforms?: readonly string[]
  }
}

/** What a worker is told. Nothing of it is told before it is durable. */
export interface LeaseListener {
  /** A lease to ack. The same one may come again, until it is acked. */
  offer(offer: LeaseOffer): void
  /** All that the worker holds: once it is connected, and after trouble. What else it has is lost. */
  held(leases: readonly LeaseTimes[]): void
  /** A lease has ended, and not by the worker's own word: its work is wanted no more. */
  lost(leaseId: LeaseId, reason: LostReason): void
  /** What keeps the provider from getting work, once it is known and whenever it changes; null: nothing does. */
  notice?(notice: ProviderNotice | null): void
  /** The session is over, and not by `close`. Retryable: open another. Else another took its place. */
  closed(reason: FairleadError): void
}

/** Why a provider gets no work whoever asks, and what to do about it (WORKER-15). */
export interface ProviderNotice {
  readonly reason: Refusal
  readonly message: string
}

/** Why a lease was lost: it was cancelled, or reached its deadline. */
export type LostReason = CancelReason | 'deadline'

/** The times of a lease on the clock of its source. */
export interface LeaseTimes {
  readonly leaseId: LeaseId
  /** When this was said: a worker counts from here, whatever its own clock shows. */
  readonly at: number
  readonly renewBy: number
  readonly deadline: number
}

/** A lease as its worker gets it, with the work. */
export interface LeaseOffer extends LeaseTimes {
  readonly jobId: JobId
  readonly providerId: ProviderId
  readonly attempt: number
  readonly kind: KindName
  readonly model: string | null
  /** Canonical CBOR, or what it stands for where the source has it decoded. */
  readonly payload: Uint8Array | CborMap
  readonly ackBy: number
  readonly tStart: number
  /** As it was issued; renewals add to the deadline. */
  readonly lengthMs: number
  /** Null: as often as its worker likes. */
  readonly renewalsMax: number | null
  /** W3C trace context of whoever asked for the work. */
  readonly traceparent: string | null
  /**
   * Registrations only. `lookup` asks whether an earlier attempt has booked, and to send nothing: the
   * answer is `fail` with a `lookup`.
   */
  readonly task?: LeaseTask
  /** Registrations only: the place in the session. */
  readonly rank?: number
  /** Registrations only, as hex: the same for all attempts of a job (ATTEMPT-6). */
  readonly idempotencyKey?: string
}

export type LeaseTask = 'book' | 'lookup'

/** What a worker says of a job that it has done. */
export interface LeaseResult {
  readonly output?: Uint8Array
  /** What the bytes are: a media type of at most 128 bytes. */
  readonly contentType?: string
  /** 32 bytes as `0x` hex; may be left out with an output. */
  readonly digest?: string
  /** Canonical CBOR. */
  readonly meta?: Uint8Array
  readonly actualUnits?: number
  /** Tokens that it really took, of the prompt and of the answer. */
  readonly actualTokens?: number
}

/** What a worker says of a job that it could not do. */
export interface LeaseFailure {
  readonly code: string
  readonly permanent: boolean
  /** For people: what went wrong. Of a registration it is not kept. */
  readonly message?: string
  /** Canonical CBOR: a stack, a status, whatever helps. Of a registration it is not kept. */
  readonly details?: Uint8Array
  /** Not to be tried again before then, as whatever failed asked for. */
  readonly retryAfterMs?: number
  /** Registrations only, all of these: the status that the platform answered with. */
  readonly http?: number
  /** The request may have arrived, and no answer came back. */
  readonly isUnknown?: boolean
  /** The call that can book was not sent: what an earlier attempt left open stays open. */
  readonly isUnsent?: boolean
  /** How long after the answer to its ack the first call of the attempt went out; left out if none did. */
  readonly sentAfterMs?: number
  /** What a look at the platform's bookings found; left out where nobody looked, or it is worth another look. */
  readonly lookup?: Lookup
}

export interface LeaseSession {
  ack(leaseId: LeaseId): Promise<void>
  /** Gives the times as they are then. */
  renew(leaseId: LeaseId): Promise<LeaseTimes>
  decline(leaseId: LeaseId): Promise<void>
  /** Gives a lease back; nobody is charged. */
  release(leaseId: LeaseId): Promise<void>
  complete(leaseId: LeaseId, result: LeaseResult): Promise<void>
  fail(leaseId: LeaseId, failure: LeaseFailure): Promise<void>
  setSlots(slots: number): Promise<void>
  /** The provider is alive. */
  heartbeat(): Promise<void>
  /** The worker leaves; what it still holds waits for it to come back. */
  close(): Promise<void>
}
