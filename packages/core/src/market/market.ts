import { type LimitClaims, NO_CLAIMS } from '../admit/admit-round.ts'
import { type AdmitRules, admitRulesOf } from '../admit/admit-rules.ts'
import { RequesterWindows } from '../admit/quotas.ts'
import { IdMap } from '../collections/id-map.ts'
import { TransitMap } from '../collections/transit-map.ts'
import type { Caller, JobId, LeaseId, ProviderId, WorkerId } from '../encoding/ids.ts'
import { KIND_NAMES, type KindName } from '../enqueue/kinds.ts'
import { invariant } from '../errors.ts'
import { DueHeaps } from '../lease/due-heaps.ts'
import type { Lease } from '../lease/lease.ts'
import { MarketLimits, type MarketLimitsState } from '../limits/market-limits.ts'
import { ProviderPool } from '../match/provider-pool.ts'
import { type QueueState, WaitingQueue } from '../order/waiting-queue.ts'
import type { AttemptError } from '../outcome/attempt-error.ts'
import type { Policy } from '../policy/policy.ts'
import type { Provider, ProviderStatus } from '../registry/provider.ts'
import {
  type DispatchTouch,
  SessionDispatch,
  type SessionDispatchState,
} from '../sessions/session-dispatch.ts'
import type { Seat, SessionRecord } from '../sessions/session-table.ts'
import { SessionTable } from '../sessions/session-table.ts'
import type { EndReason, Job, JobOrigin } from './job.ts'

/** What has happened, in the order in which it did (EVENT-1). */
export type MarketEvent = { readonly at: number } & (
  | ({ readonly type: 'jobEnqueued'; readonly jobId: JobId } & JobOrigin)
  | {
      readonly type: 'jobAssigned'
      /** Of a registration. */
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
  | { readonly type: 'jobCanceled'; readonly jobId: JobId }
  /** Its session opens at another time now, and so does it. */
  | { readonly type: 'jobRescheduled'; readonly jobId: JobId; readonly opensAt: number }
  /** A registration that may have been sent: it is cancelled when its outcome is known. */
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
      /** What went wrong, in a word. */
      readonly code?: string
      /** Of a registration: the status that its platform answered with. */
      readonly http?: number
      /** And how long after its ack was answered the first call went out. */
      readonly sentAfterMs?: number
    }
  | { readonly type: 'leaseMoved'; readonly leaseId: LeaseId; readonly workerId: WorkerId }
  /** A completed lease took more of a limit than anybody could mean: so much of that was not booked (LIMIT-19). */
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

/** The charges of RETRY-2, and the ways back to the queue that cost nothing. */
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

/** Is told of every object whose stored form has changed; the engine writes them. */
export interface Touch {
  /** A limit, or a lease id that is remembered for one: `MarketLimits` tells which. */
  readonly limits: () => void
  readonly job: (job: Job) => void
  readonly lease: (lease: Lease) => void
  readonly provider: (provider: Provider) => void
  /** An attempt failed; what is said of it is for people, and no part of the state (FAIL-1). */
  readonly failure: (lease: Lease, failure: AttemptError) => void
  readonly session: SessionTouch
}

/** The same for what belongs to the sessions of registrations. */
export interface SessionTouch extends DispatchTouch {
  readonly record: (record: SessionRecord) => void
  /** Somebody has booked, or may have, and keeps the place. */
  readonly seat: (seat: Seat) => void
  /** The place is free again. */
  readonly released: (seat: Seat) => void
}

/**
 * The whole state of a dispatcher in memory: jobs, leases, providers and what is due when.
 *
 * Everything acts at `nowMs`. Call `advanceMarket` with the time first: it lets what fell due in
 * between happen at its own time, and only then is a call answered (STATE-6). Nothing in here reads
 * a clock, draws a random number or does I/O; the functions by step change it and tell `emit`.
 */
export interface Market {
  policy: Policy
  /** The latest time seen; it never goes back. */
  nowMs: number
  /** Those that are alive, and those that have ended since `forgetEnded` was called last. */
  readonly jobs: IdMap<Job>
  /** Jobs that have ended and are still in memory. */
  readonly ended: Job[]
  readonly leases: TransitMap<LeaseId, Lease>
  readonly pool: ProviderPool
  /** The live leases of each provider that has any. */
  readonly leasesOf: TransitMap<ProviderId, TransitMap<LeaseId, Lease>>
  /** Live leases that were not acked when their worker left, and have not found another yet. */
  readonly stranded: Set<Lease>
  readonly queues: ReadonlyMap<KindName, WaitingQueue>
  /** Registrations: their order, their budgets, their retries. */
  readonly sessions: SessionDispatch
  /** When each session opens, and who has a place in it. */
  readonly seats: SessionTable
  /** Jobs that are QUEUED, by caller. */
  readonly waitingOf: TransitMap<Caller, number>
  readonly windows: RequesterWindows
  readonly limits: MarketLimits
  /** What has to be admitted, by the policy; null is nothing. */
  admit: AdmitRules | null
  /** Who waits for which limit, as the last round left it. It decides nothing: the next one asks anew. */
  claims: LimitClaims
  readonly due: DueHeaps
  /**
   * Is called in the middle of changes: it takes note, and must not throw or call back. `job` is the one that
   * the event is about, where every job comes by: it need not be looked up then.
   */
  readonly emit: (event: MarketEvent, job?: Job) => void
  readonly touch: Touch
}

export function openMarket(options: {
  readonly policy: Policy
  readonly nowMs: number
  readonly emit?: Market['emit']
  readonly touch?: Touch
  /** What each queue had given out before; nothing where it is absent. */
  readonly queues?: ReadonlyMap<KindName, QueueState>
  /** The limits and what was held of them; none where it is absent. */
  readonly limits?: MarketLimitsState
  /** What the sessions of registrations had come to. */
  readonly sessions?: SessionDispatchState
}): Market {
  const { policy, nowMs, emit = ignore, touch = NO_TOUCH } = options
  // Registrations are ordered by their sessions (SESSION-2), not by score.
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
    admit: admitRulesOf(policy),
    claims: NO_CLAIMS,
    due: new DueHeaps(() => market.policy),
    emit,
    touch,
  }
  return market
}

/** The queue that jobs of this kind wait in. */
export function queueFor(market: Market, kind: KindName): WaitingQueue {
  const queue = market.queues.get(kind)
  invariant(queue !== undefined, `jobs of kind ${kind} are not ordered by score`)
  return queue
}

function ignore(): void {}

const NO_TOUCH: Touch = {
  limits: ignore,
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
