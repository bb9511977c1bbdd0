import { admitRulesOf } from '../admit/admit-rules.ts'
import type { LazyHeap } from '../collections/lazy-heap.ts'
import type { DueHeaps } from '../lease/due-heaps.ts'
import { cancelLive, endLease } from '../lease/end-lease.ts'
import { giveBack } from '../lease/give-back.ts'
import { isTimedOut, type Lease } from '../lease/lease.ts'
import { ENGINE_ERRORS } from '../outcome/attempt-error.ts'
import { chargeJob } from '../outcome/charge.ts'
import { advanceSessions } from '../outcome/end-attempt.ts'
import { endJob } from '../outcome/end-job.ts'
import { hasEnded } from '../outcome/job-table.ts'
import type { Policy } from '../policy/policy.ts'
import { recheckAttestations } from '../registry/attestation/attest-provider.ts'
import { chargeSilence, restartHeartbeat } from '../registry/health.ts'
import { silenceDueAt } from '../registry/provider.ts'
import { admitProvider, enforceLeaseCap, followStanding } from '../registry/provider-status.ts'
import { expireProofs, nextProofDueAt } from '../settle/proof/prove-jobs.ts'
import type { Market } from './market.ts'

/** One kind of deadline: when its first one is due, and its effect. */
interface DueRow {
  /** A lower bound of `nextAt`, found without tidying up a heap. */
  readonly floorAt: (market: Market) => number
  readonly nextAt: (market: Market) => number
  readonly fire: (market: Market, untilMs: number) => void
}

/** Deadlines of the same time fire in this order, and then by id (STATE-6). */
const DUE_TABLE: readonly DueRow[] = [
  row('ttlAbs', (market, job) => endJob(market, job, { on: 'ttl', reason: 'ttl_abs' })),
  row('ttlRel', (market, job) => endJob(market, job, { on: 'ttl', reason: 'ttl_rel' })),
  {
    floorAt: ({ due }) => Math.min(due.leaseDeadline.floor, due.timeout.floor),
    nextAt: ({ due }) => Math.min(due.leaseDeadline.topKey(), due.timeout.topKey()),
    fire: (market) => {
      const lease = firstToEnd(market.due)
      if (lease !== undefined) expireLease(market, lease)
    },
  },
  row('ack', (market, lease) => {
    cancelLive(market, lease, 'ack_timeout')
    market.touch.failure(lease, ENGINE_ERRORS.ACK_TIMEOUT)
    chargeJob(market, lease.job, lease.provider, { charge: 'ACK_TIMEOUT' })
  }),
  row('lost', (market, lease) => giveBack(market, lease, 'worker_lost')),
  { floorAt: nextProofDueAt, nextAt: nextProofDueAt, fire: expireProofs },
  {
    floorAt: ({ sessions }) => sessions.nextEndOrOpeningAt(),
    nextAt: ({ sessions }) => sessions.nextEndOrOpeningAt(),
    fire: (market) => advanceSessions(market),
  },
  {
    floorAt: nextSilenceAt,
    nextAt: nextSilenceAt,
    fire: (market, untilMs) => {
      const provider = market.due.silence.top()
      if (provider !== undefined) chargeSilence(market, provider, untilMs)
    },
  },
  {
    floorAt: ({ jail }) => jail.nextAt,
    nextAt: ({ jail }) => jail.nextAt,
    fire: (market) => {
      const provider = market.jail.next()
      if (provider === undefined) return
      market.jail.note(provider, market.nowMs)
      followStanding(market, provider)
    },
  },
]

/**
 * Moves the time on. Everything that falls due takes effect at its own time, in order. A time before the latest
 * one counts as the latest (STATE-6).
 */
export function advanceMarket(market: Market, nowMs: number): void {
  const until = Math.max(nowMs, market.nowMs)
  while (mayBeDue(market, until)) {
    let first: DueRow | null = null
    let firstAt = Number.POSITIVE_INFINITY
    for (const due of DUE_TABLE) {
      const at = due.nextAt(market)
      if (at < firstAt) {
        first = due
        firstAt = at
      }
    }
    if (first === null || firstAt > until) break
    market.nowMs = Math.max(market.nowMs, firstAt)
    first.fire(market, until)
  }
  market.nowMs = until
  market.limits.advance(until)
  advanceSessions(market)
}

/** True if anything falls due by then. */
export function isDueBy(market: Market, nowMs: number): boolean {
  return mayBeDue(market, nowMs) && DUE_TABLE.some((due) => due.nextAt(market) <= nowMs)
}

/** A cheap check, because it runs for every command and usually nothing is due. */
function mayBeDue(market: Market, until: number): boolean {
  return (
    market.due.floor <= until ||
    market.sessions.nextEndOrOpeningAt() <= until ||
    nextSilenceAt(market) <= until ||
    nextProofDueAt(market) <= until ||
    market.jail.nextAt <= until
  )
}

function nextSilenceAt({ due, policy }: Market): number {
  const provider = due.silence.top()
  return provider === undefined ? Number.POSITIVE_INFINITY : silenceDueAt(provider, policy)
}

/** When the next deadline is due, or null if none is due before `beforeMs`. */
export function nextDueAt(market: Market, beforeMs = Number.POSITIVE_INFINITY): number | null {
  let first = beforeMs
  for (const due of DUE_TABLE) {
    if (due.floorAt(market) < first) first = Math.min(first, due.nextAt(market))
  }
  return first === beforeMs ? null : first
}

/** When to check again a limit that a job waits for; null if no job waits (ADMIT-4). */
export function nextClaimAt({ claims }: Market): number | null {
  let first: number | null = null
  for (const { until } of claims.values()) if (first === null || until < first) first = until
  return first
}

/** Deadlines and timeouts are one kind of end: at the same time the id decides. */
function firstToEnd({ leaseDeadline, timeout }: DueHeaps): Lease | undefined {
  const [a, b] = [leaseDeadline.top(), timeout.top()]
  if (a === undefined || b === undefined) return a ?? b
  const [atA, atB] = [leaseDeadline.topKey(), timeout.topKey()]
  return atA < atB || (atA === atB && a.id < b.id) ? a : b
}

function expireLease(market: Market, lease: Lease): void {
  const isTimeout = isTimedOut(lease)
  endLease(market, lease, 'deadline', 0)
  market.touch.failure(lease, isTimeout ? ENGINE_ERRORS.TIMEOUT : ENGINE_ERRORS.LEASE_EXPIRED)
  chargeJob(market, lease.job, lease.provider, { charge: 'LEASE_EXPIRED', isTimeout })
}

/** Switches to another policy. Leases keep their terms; a lowered cap cancels the newest leases (LEASE-7). */
export function changePolicy(market: Market, policy: Policy): void {
  const { liveness } = market.policy.registry
  market.policy = policy
  market.admit = admitRulesOf(policy)
  market.limits.actualFactorMax = policy.limits.actualFactorMax
  market.pool.setPolicy(policy)
  market.due.rebuild()
  for (const job of market.jobs.values()) {
    if (!hasEnded(job.status) && job.proofAwaitedSince === null) market.due.enterTtls(job)
  }
  for (const queue of market.queues.values()) queue.setPolicy(policy, market.nowMs)
  const asksForBeats = liveness === 'worker' && policy.registry.liveness === 'heartbeat'
  for (const provider of market.pool.all()) {
    // It did not have to send heartbeats before, so its silence counts from now on.
    if (asksForBeats) restartHeartbeat(market, provider)
    enforceLeaseCap(market, provider)
    admitProvider(market, provider)
  }
  recheckAttestations(market)
  market.fund.trimOutcomes(policy.sla)
  market.sessions.changePolicies(policy.sessions.platforms)
}

type HeapName = Exclude<
  keyof DueHeaps,
  'leaseDeadline' | 'timeout' | 'floor' | 'rebuild' | 'silence' | 'enterTtls' | 'leaveTtls'
>
type ItemOf<Name extends HeapName> = DueHeaps[Name] extends LazyHeap<infer T> ? T : never

function row<Name extends HeapName>(
  name: Name,
  fire: (market: Market, item: ItemOf<Name>) => void,
): DueRow {
  return {
    floorAt: (market) => market.due[name].floor,
    nextAt: (market) => market.due[name].topKey(),
    fire: (market) => {
      const heap = market.due[name] as unknown as LazyHeap<ItemOf<Name>>
      const item = heap.top()
      if (item !== undefined) fire(market, item)
    },
  }
}
