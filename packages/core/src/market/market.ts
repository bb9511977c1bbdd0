import { type LimitClaims, NO_CLAIMS } from '../admit/admit-round.ts'
import { type AdmitRules, admitRulesOf } from '../admit/admit-rules.ts'
import { Pauses } from '../admit/pauses.ts'
import { RequesterWindows } from '../admit/quotas.ts'
import { BulkRuns } from '../bulk/bulk-runs.ts'
import { IdMap } from '../collections/id-map.ts'
import { TransitMap } from '../collections/transit-map.ts'
import type { CborMap } from '../encoding/cbor.ts'
import type { Caller, JobId, LeaseId, ProviderId, WorkerId } from '../encoding/ids.ts'
import { KIND_NAMES, type KindName } from '../enqueue/kinds.ts'
import { invariant } from '../errors.ts'
import { DueHeaps } from '../lease/due-heaps.ts'
import type { Lease } from '../lease/lease.ts'
import { MarketLimits, type MarketLimitsState } from '../limits/market-limits.ts'
import { ProviderPool } from '../match/provider-pool.ts'
import { Dependencies, type EndedDependency } from '../options/dependencies.ts'
import { type QueueState, WaitingQueue } from '../order/waiting-queue.ts'
import type { AttemptError } from '../outcome/attempt-error.ts'
import type { Policy } from '../policy/policy.ts'
import type { Provider } from '../registry/provider.ts'
import { Jail } from '../registry/standing/jail.ts'
import type { ProviderStatus } from '../registry/standing/status.ts'
import { Schedules } from '../schedules/schedules.ts'
import {
  type DispatchTouch,
  SessionDispatch,
  type SessionDispatchState,
} from '../sessions/session-dispatch.ts'
import type { Seat, SessionRecord } from '../sessions/session-table.ts'
import { SessionTable } from '../sessions/session-table.ts'
import type { Claim } from '../settle/chain/claim.ts'
import type { DueLine } from '../settle/epoch/budget.ts'
import { Fund } from '../settle/fund/fund.ts'
import type { FundRow } from '../settle/fund/fund-rows.ts'
import type { EndReason, Job, JobOrigin } from './job.ts'

/** Something that happened. Events are emitted in the order in which they happened (EVENT-1). */
export type MarketEvent = { readonly at: number } & (
  | ({ readonly type: 'jobEnqueued'; readonly jobId: JobId } & JobOrigin)
  | {
      readonly type: 'jobAssigned'
      /** Registrations only. */
      readonly rank?: number
      readonly task?: 'book' | 'lookup'
      readonly jobId: JobId
      readonly providerId: ProviderId
      readonly leaseId: LeaseId
      readonly deadline: number
    }
  | { readonly type: 'jobStarted'; readonly jobId: JobId; readonly leaseId: LeaseId }
  | {
      readonly type: 'jobCompleted'
      readonly jobId: JobId
      readonly providerId: ProviderId
      readonly leaseId: LeaseId
      readonly digest: string
    }
  | { readonly type: 'jobFailed' | 'jobExpired'; readonly jobId: JobId; readonly reason: EndReason }
  /** The reason is left out if a requester or an operator cancelled it. */
  | { readonly type: 'jobCanceled'; readonly jobId: JobId; readonly reason?: EndReason }
  /** The opening time of its session has changed, and so has its own. */
  | { readonly type: 'jobRescheduled'; readonly jobId: JobId; readonly opensAt: number }
  /** A registration that may have been sent. It is cancelled once its outcome is known. */
  | { readonly type: 'jobCancelNoted'; readonly jobId: JobId }
  | {
      readonly type: 'jobRequeued'
      readonly jobId: JobId
      readonly reason: RequeueReason
      readonly notBefore: number | null
    }
  | { readonly type: 'leaseRenewed'; readonly leaseId: LeaseId; readonly deadline: number }
  | {
      readonly type: 'leaseCancelled'
      readonly leaseId: LeaseId
      readonly reason: CancelReason
      /** A code for what went wrong. */
      readonly code?: string
      /** Registrations only: the HTTP status of the platform's answer. */
      readonly http?: number
      /** Registrations only: the time from the answer to its ack until the first call went out. */
      readonly sentAfterMs?: number
    }
  | { readonly type: 'leaseMoved'; readonly leaseId: LeaseId; readonly workerId: WorkerId }
  /** A completed lease reported implausible usage of a limit: this amount was not booked (LIMIT-19). */
  | {
      readonly type: 'limitExcess'
      readonly leaseId: LeaseId
      readonly key: string
      readonly amount: number
    }
  | { readonly type: 'providerRegistered'; readonly providerId: ProviderId }
  | {
      readonly type: 'providerStatus'
      readonly providerId: ProviderId
      readonly status: ProviderStatus
    }
  /** A claim began, and no longer holds after a reorganisation of the chain. */
  | {
      readonly type: 'proofAccepted'
      readonly jobId: JobId
      readonly leaseId: LeaseId
      readonly providerId: ProviderId
      readonly blockHeight: number
    }
  | { readonly type: 'proofDropped'; readonly jobId: JobId; readonly leaseId: LeaseId }
  | {
      readonly type: 'providerAttested'
      readonly providerId: ProviderId
      readonly class: string
      readonly hash: string
      readonly notBefore: number
      readonly notAfter: number
    }
  | {
      readonly type: 'providerSlashed'
      readonly providerId: ProviderId
      /** The dimension of the worst violation. */
      readonly reason: string
      readonly penalty: number | string
    }
  /** Violations that do not count for a slash, as kind, dimension and severity. */
  | {
      readonly type: 'slashWarning'
      readonly providerId: ProviderId
      readonly violations: readonly string[]
    }
  | {
      readonly type: 'epochSettled'
      readonly epochId: number
      readonly batchId: string
      /** In the JSON form of a batch. */
      readonly totals: CborMap
    }
  | {
      readonly type: 'workerConnected'
      readonly providerId: ProviderId
      readonly workerId: WorkerId
      readonly slots: number
    }
  | {
      readonly type: 'workerLeft'
      readonly providerId: ProviderId
      readonly workerId: WorkerId
    }
)

/** The charges of RETRY-2, and the reasons to requeue a job without a charge. */
export type Charge = 'ACK_TIMEOUT' | 'LEASE_EXPIRED' | 'PROVIDER_FAIL' | 'PROOF_INVALID'
export type RequeueReason = Charge | 'DECLINED' | 'RELEASED' | 'WORKER_LOST' | 'LEASE_CANCELLED'
export type CancelReason =
  | 'ack_timeout'
  | 'declined'
  | 'released'
  | 'disowned'
  | 'worker_lost'
  | 'provider_fail'
  | 'provider_status'
  | 'over_cap'
  | 'job_ended'

/** Called for every object whose stored form has changed. The engine writes these objects. */
export interface Touch {
  /** A limit, or a remembered lease id. `MarketLimits` knows which. */
  readonly limits: () => void
  /** A piece of the fund, which knows which. */
  readonly fund: () => void
  /** The claim of a completed lease is FINAL, and so is its result. */
  readonly proved: (lease: Lease, claim: Claim, finalizedHeight: number) => void
  /** The line of ended jobs whose dependents wait to be told. `Dependencies` knows how it changed. */
  readonly dependencies: () => void
  readonly job: (job: Job) => void
  readonly lease: (lease: Lease) => void
  readonly provider: (provider: Provider) => void
  /** An attempt failed. The description is for people and not part of the state (FAIL-1). */
  readonly failure: (lease: Lease, failure: AttemptError) => void
  readonly session: SessionTouch
}

/** The same for the objects that belong to the sessions of registrations. */
export interface SessionTouch extends DispatchTouch {
  readonly record: (record: SessionRecord) => void
  /** A user has booked, or may have, and keeps the place. */
  readonly seat: (seat: Seat) => void
  /** The place is free again. */
  readonly released: (seat: Seat) => void
}

/**
 * The whole state of a dispatcher in memory: jobs, leases, providers and deadlines.
 *
 * Everything acts at `nowMs`. Call `advanceMarket` with the time first. It lets everything that fell due take
 * effect at its own time before the call is answered (STATE-6). Nothing in here reads a clock, draws a random
 * number or does I/O. The functions of each step change the state and call `emit`.
 */
export interface Market {
  policy: Policy
  /** The latest time seen; it never goes back. */
  nowMs: number
  /** Live jobs, and jobs that have ended since the last call of `forgetEnded`. */
  readonly jobs: IdMap<Job>
  /** Jobs that have ended and are still in memory. */
  readonly ended: Job[]
  readonly leases: TransitMap<LeaseId, Lease>
  readonly pool: ProviderPool
  /** The live leases of each provider that has any. */
  readonly leasesOf: TransitMap<ProviderId, TransitMap<LeaseId, Lease>>
  /** Live leases that were not acked when their worker left, and have no other worker yet. */
  readonly stranded: Set<Lease>
  readonly queues: ReadonlyMap<KindName, WaitingQueue>
  /** Registrations: their order, their budgets, their retries. */
  readonly sessions: SessionDispatch
  /** When each session opens, and its taken places. */
  readonly seats: SessionTable
  /** The number of QUEUED jobs by caller. */
  readonly waitingOf: TransitMap<Caller, number>
  readonly windows: RequesterWindows
  readonly limits: MarketLimits
  /** Claims, stakes and payments. */
  readonly fund: Fund
  readonly jail: Jail
  /** Jobs that wait for other jobs to end. */
  readonly dependencies: Dependencies
  /** Live jobs that have a dedupe key, by its whole name. */
  readonly dedupe: TransitMap<string, JobId>
  /** The jobs that wait until somebody resumes them (PAUSE-1). */
  readonly pauses: Pauses
  /** The jobs that are enqueued by the clock (SCHEDULE-1). */
  readonly schedules: Schedules
  /** Actions on many jobs at once (BULK-1). */
  readonly bulk: BulkRuns
  /** The policy's admission rules; null if there are none. */
  admit: AdmitRules | null
  /** The claims on limits that the last round left. They decide no assignment: the next round makes its own. */
  claims: LimitClaims
  readonly due: DueHeaps
  /**
   * Called in the middle of changes: it only takes note, and must not throw or call back. `job` is the job of the
   * event, passed where every job comes by to save a lookup.
   */
  readonly emit: (event: MarketEvent, job?: Job) => void
  readonly touch: Touch
}

export function openMarket(options: {
  readonly policy: Policy
  readonly nowMs: number
  readonly emit?: Market['emit']
  readonly touch?: Touch
  /** The earlier grants of each queue; none if absent. */
  readonly queues?: ReadonlyMap<KindName, QueueState>
  /** The limits and the amounts held of them; none if absent. */
  readonly limits?: MarketLimitsState
  /** Jobs that ended, and whose dependents were not all told; none if absent. */
  readonly endedDependencies?: readonly EndedDependency[]
  /** Nothing is paused if absent. */
  readonly pauses?: Pauses
  /** None if absent. */
  readonly schedules?: Schedules
  readonly bulk?: BulkRuns
  /** The state of the sessions of registrations. */
  readonly sessions?: SessionDispatchState
  /** The pieces of the fund. */
  readonly fund?: { readonly rows: readonly FundRow[]; readonly due: readonly DueLine[] }
}): Market {
  const { policy, nowMs, emit = ignore, touch = NO_TOUCH } = options
  // Registrations are ordered by their session (SESSION-2), not by score.
  const byScore = KIND_NAMES.filter((kind) => kind !== 'registration')
  const market: Market = {
    policy,
    nowMs,
    jobs: new IdMap(),
    ended: [],
    leases: new TransitMap(),
    pool: new ProviderPool(policy),
    leasesOf: new TransitMap(),
    stranded: new Set(),
    queues: new Map(
      byScore.map((kind) => [kind, new WaitingQueue(policy, nowMs, options.queues?.get(kind))]),
    ),
    sessions: new SessionDispatch(policy.sessions.platforms, {
      touch: touch.session,
      looks: true,
      ...(options.sessions === undefined ? {} : { state: options.sessions }),
    }),
    seats: new SessionTable(),
    waitingOf: new TransitMap(),
    windows: new RequesterWindows(),
    limits: new MarketLimits(policy.limits.actualFactorMax, options.limits, touch.limits),
    fund: new Fund(options.fund, touch.fund),
    jail: new Jail(),
    dependencies: new Dependencies(options.endedDependencies ?? [], touch.dependencies),
    dedupe: new TransitMap(),
    pauses: options.pauses ?? new Pauses(),
    schedules: options.schedules ?? new Schedules(),
    bulk: options.bulk ?? new BulkRuns(),
    admit: admitRulesOf(policy),
    claims: NO_CLAIMS,
    due: new DueHeaps(() => market.policy),
    emit,
    touch,
  }
  return market
}

/** The queue for jobs of this kind. */
export function queueFor(market: Market, kind: KindName): WaitingQueue {
  const queue = market.queues.get(kind)
  invariant(queue !== undefined, `jobs of kind ${kind} are not ordered by score`)
  return queue
}

function ignore(): void {}

const NO_TOUCH: Touch = {
  limits: ignore,
  fund: ignore,
  proved: ignore,
  dependencies: ignore,
  job: ignore,
  lease: ignore,
  provider: ignore,
  failure: ignore,
  session: {
    job: ignore,
    org: ignore,
    group: ignore,
    opened: ignore,
    record: ignore,
    seat: ignore,
    released: ignore,
  },
}
