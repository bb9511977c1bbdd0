import type { Caller, JobId, ProviderId } from '../encoding/ids.ts'
import type { NewJob } from '../enqueue/enqueue-job.ts'
import type { Lease } from '../lease/lease.ts'
import type { JobOptions } from '../options/job-options.ts'
import { type QueuedJob, type Shape, shapeOf } from '../order/queued-job.ts'
import type { JobStatus } from '../outcome/job-table.ts'
import type { DispatchJob } from '../sessions/dispatch-job.ts'

/** Why a job ended other than by completion or cancellation. A registration may also have any code. */
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
  | 'dependency_failed'

/** Data that came with a job but is no part of its work. It influences no decision (ENGINE-9). */
export interface JobOrigin {
  /** The job that this one retries. */
  readonly retryOf?: JobId
  /** The W3C trace context of the requester. */
  readonly traceparent?: string
  /** The schedule of its caller that enqueued it, and the time for which it did; no time if it was triggered. */
  readonly schedule?: string
  readonly scheduledAt?: number
  /**
   * For a job from a chain: its transaction. The job's key is its id, so a transaction may have several jobs
   * (ENQUEUE-17).
   */
  readonly txHash?: string
}

/** The demands of a job on a provider beside kind, model and payload (ENQUEUE-16). */
export interface JobNeeds {
  /** ai: the acceptable precisions; null if any will do. */
  readonly precision: readonly string[] | null
  /** quantum: qubits. */
  readonly widthHint: number
  /** quantum: the required gates; null if there are none. */
  readonly gates: readonly string[] | null
}

/** Fields that only some jobs have: their own TTL, a first assignment, an end. */
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
  waitsFor: number
  releasedAt: number | null
}

/** Times in milliseconds are split here, so that both parts fit a small integer. */
const TIME_LOW = 2 ** 20

/**
 * A job in memory. A million jobs may be waiting, so it is laid out to be small. Similar jobs share a shape. Times
 * and fees are integers that need no box on the heap. Fields that most waiting jobs lack are in a separate course.
 * The accessors hide this layout.
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
  /** Null if the request has none. */
  readonly options: JobOptions | null
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
    this.options = request.options ?? null
    if (request.origin != null) this.#own().origin = request.origin
    if (request.ttlAbsSecs !== null) this.#own().ttlAbsSecs = request.ttlAbsSecs
  }

  get enqueueTs(): number {
    return this.#enqueuedHigh * TIME_LOW + this.#enqueuedLow
  }
  /** The time from which it counts as waiting: of its acceptance, its `run_at` or the end of its last dependency (OPTIONS-2). */
  get readyTs(): number {
    if (this.options === null) return this.enqueueTs
    return Math.max(this.enqueueTs, this.options.runAt ?? 0, this.releasedAt ?? 0)
  }

  /** It must not be taken before this time: the end of a backoff or denial, or its `run_at`. */
  get startsAt(): number | null {
    return this.#course?.notBefore ?? this.options?.runAt ?? null
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

  /** As given with the request; null means the policy's default. */
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

  /** The number of consecutive acked attempts whose worker was lost. */
  get workerLosses(): number {
    return this.#course?.workerLosses ?? 0
  }
  set workerLosses(losses: number) {
    this.#own().workerLosses = losses
  }

  /** Providers that may not take this job, each until a time; null if there are none. */
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

  /** All leases so far, oldest first; null if there are none. */
  get leases(): Lease[] | null {
    return this.#course?.leases ?? null
  }
  set leases(leases: Lease[] | null) {
    this.#set('leases', leases)
  }

  /** When the lease was completed whose proof is pending; null if none is pending. */
  get proofAwaitedSince(): number | null {
    return this.#course?.proofAwaitedSince ?? null
  }
  set proofAwaitedSince(at: number | null) {
    this.#set('proofAwaitedSince', at)
  }

  /** Its state in its session; null if it is no registration. */
  get session(): DispatchJob | null {
    return this.#course?.session ?? null
  }
  set session(session: DispatchJob | null) {
    this.#set('session', session)
  }

  /** The number of jobs that it waits for. */
  get waitsFor(): number {
    return this.#course?.waitsFor ?? 0
  }
  set waitsFor(count: number) {
    if (count !== this.waitsFor) this.#own().waitsFor = count
  }

  /** When the last job that it waited for ended; null if it did not wait for any, or still waits. */
  get releasedAt(): number | null {
    return this.#course?.releasedAt ?? null
  }
  set releasedAt(at: number | null) {
    this.#set('releasedAt', at)
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
      waitsFor: 0,
      releasedAt: null,
    }
    return this.#course
  }
}
