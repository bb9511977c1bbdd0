import type { Caller, JobId, ProviderId } from '../encoding/ids.ts'
import type { NewJob } from '../enqueue/enqueue-job.ts'
import type { Lease } from '../lease/lease.ts'
import { type QueuedJob, type Shape, shapeOf } from '../order/queued-job.ts'
import type { JobStatus } from '../outcome/job-table.ts'
import type { DispatchJob } from '../sessions/dispatch-job.ts'

/** Why a job ended otherwise than by completion or cancellation; of a registration, also any code. */
export type EndReason = KnownEndReason | (string & {})
export type KnownEndReason =
  | 'ttl_abs'
  | 'ttl_rel'
  | 'declined'
  | 'permanent_error'
  | 'retries_exhausted'
  | 'retry_window_exhausted'
  | 'outcome_unknown'
  | 'worker_lost'

/** What came with a job and is no part of its work: it decides nothing (ENGINE-9). */
export interface JobOrigin {
  /** A job that this one takes up again. */
  readonly retryOf?: JobId
  /** W3C trace context of whoever asked for the work. */
  readonly traceparent?: string
  /** Of a job from a chain: its transaction. Its own key is its id, so that one transaction can have several (ENQUEUE-17). */
  readonly txHash?: string
}

/** What a job asks of a provider beside kind, model and payload (ENQUEUE-16). */
export interface JobNeeds {
  /** ai: any of these will do; null is any at all. */
  readonly precision: readonly string[] | null
  /** quantum: qubits. */
  readonly widthHint: number
  /** quantum: all of these; null is none. */
  readonly gates: readonly string[] | null
}

/** What only some jobs have: a life of their own choice, a first assignment, an end. */
interface Course {
  origin: JobOrigin | null
  ttlAbsSecs: number | null
  attempt: number | null
  retries: number
  declines: number
  workerLosses: number
  denials: Map<ProviderId, number> | null
  notBefore: number | null
  firstAssignedAt: number | null
  endedAt: number | null
  reason: EndReason | null
  leases: Lease[] | null
  proofAwaitedSince: number | null
  session: DispatchJob | null
}

/** Where a time in milliseconds is cut, so that both parts fit a small integer. */
const TIME_LOW = 2 ** 20

/**
 * A job in memory. There may be a million of them waiting, so it is laid out to be small: what alike
 * jobs share is in their shape; a time or fee is kept as integers that need no box on the heap; and
 * what most waiting jobs do not have is in a course of their own. The accessors hide all that.
 */
export class Job implements QueuedJob {
  readonly id: JobId
  readonly enqueueSeq: number
  readonly units: number
  readonly tokens: number
  readonly sizeBytes: number
  shape: Shape
  staticScore = 0
  heapBits = 0
  status: JobStatus = 'QUEUED'
  readonly #enqueuedHigh: number
  readonly #enqueuedLow: number
  readonly #fee: number | bigint
  #course: Course | null = null

  constructor(request: NewJob, enqueueTs: number) {
    this.id = request.id
    this.#enqueuedHigh = Math.floor(enqueueTs / TIME_LOW)
    this.#enqueuedLow = enqueueTs % TIME_LOW
    this.enqueueSeq = request.enqueueSeq
    this.units = request.demand.units
    this.tokens = request.demand.tokens
    this.sizeBytes = request.sizeBytes
    this.shape = shapeOf(request)
    this.#fee = request.fee < 2n ** 31n ? Number(request.fee) : request.fee
    if (request.origin != null) this.#own().origin = request.origin
    if (request.ttlAbsSecs !== null) this.#own().ttlAbsSecs = request.ttlAbsSecs
  }

  get enqueueTs(): number {
    return this.#enqueuedHigh * TIME_LOW + this.#enqueuedLow
  }
  get caller(): Caller {
    return this.shape.caller
  }
  get tier(): string {
    return this.shape.tier
  }
  get fee(): bigint {
    return BigInt(this.#fee)
  }

  get origin(): JobOrigin | null {
    return this.#course?.origin ?? null
  }

  /** As given with the request; null is the policy's default. */
  get ttlAbsSecs(): number | null {
    return this.#course?.ttlAbsSecs ?? null
  }

  /** Number of the newest lease; null before the first. */
  get attempt(): number | null {
    return this.#course?.attempt ?? null
  }
  set attempt(attempt: number | null) {
    this.#own().attempt = attempt
  }

  /** Charged failures. */
  get retries(): number {
    return this.#course?.retries ?? 0
  }
  set retries(retries: number) {
    this.#own().retries = retries
  }

  get declines(): number {
    return this.#course?.declines ?? 0
  }
  set declines(declines: number) {
    this.#own().declines = declines
  }

  /** Acked attempts in a row whose worker was lost. */
  get workerLosses(): number {
    return this.#course?.workerLosses ?? 0
  }
  set workerLosses(losses: number) {
    this.#own().workerLosses = losses
  }

  /** Providers that may not take this job, each until its time; null is none. */
  get denials(): Map<ProviderId, number> | null {
    return this.#course?.denials ?? null
  }
  set denials(denials: Map<ProviderId, number> | null) {
    this.#set('denials', denials)
  }

  get notBefore(): number | null {
    return this.#course?.notBefore ?? null
  }
  set notBefore(notBefore: number | null) {
    this.#set('notBefore', notBefore)
  }

  get firstAssignedAt(): number | null {
    return this.#course?.firstAssignedAt ?? null
  }
  set firstAssignedAt(at: number | null) {
    this.#set('firstAssignedAt', at)
  }

  get endedAt(): number | null {
    return this.#course?.endedAt ?? null
  }
  set endedAt(at: number | null) {
    this.#set('endedAt', at)
  }

  get reason(): EndReason | null {
    return this.#course?.reason ?? null
  }
  set reason(reason: EndReason | null) {
    this.#set('reason', reason)
  }

  /** All leases so far, oldest first; null is none. */
  get leases(): Lease[] | null {
    return this.#course?.leases ?? null
  }
  set leases(leases: Lease[] | null) {
    this.#set('leases', leases)
  }

  /** When the lease was completed whose proof is awaited; null while none is. */
  get proofAwaitedSince(): number | null {
    return this.#course?.proofAwaitedSince ?? null
  }
  set proofAwaitedSince(at: number | null) {
    this.#set('proofAwaitedSince', at)
  }

  /** Its way through its session; null where it is no registration. */
  get session(): DispatchJob | null {
    return this.#course?.session ?? null
  }
  set session(session: DispatchJob | null) {
    this.#set('session', session)
  }

  #set<Field extends keyof Course>(field: Field, value: Course[Field]): void {
    if (this.#course !== null || value !== null) this.#own()[field] = value
  }

  #own(): Course {
    this.#course ??= {
      origin: null,
      ttlAbsSecs: null,
      attempt: null,
      retries: 0,
      declines: 0,
      workerLosses: 0,
      denials: null,
      notBefore: null,
      firstAssignedAt: null,
      endedAt: null,
      reason: null,
      leases: null,
      proofAwaitedSince: null,
      session: null,
    }
    return this.#course
  }
}
