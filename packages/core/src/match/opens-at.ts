import { epochOf } from '../admit/quotas.ts'
import { KINDS } from '../enqueue/kinds.ts'
import type { Job } from '../market/job.ts'
import type { Market } from '../market/market.ts'
import { HEALTH, hasHealth } from '../registry/health.ts'
import { classKey, type Provider } from '../registry/provider.ts'
import { jobRefusal, loadOf, providerRefusal, type Refusal, type Terms } from './eligibility.ts'

/** A provider that is asked for a job. */
interface Asked {
  readonly provider: Provider
  readonly job: Job
  readonly market: Market
  readonly terms: Terms
}

/**
 * Before when a provider cannot take a job (EXPLAIN-2): now where it may at any moment, Infinity where
 * somebody has to change something first. Its leases are left out, because one may end at any moment;
 * a provider that is busy, and is denied the job besides, takes it after the denial at the earliest.
 */
export function opensAt(asked: Asked): number {
  const { provider, job, market, terms } = asked
  const { nowMs, policy } = market
  const { kind } = job.shape
  const idle = { ...loadOf(provider, kind, terms.epoch), leases: -1 }
  const failing = [
    providerRefusal(provider, kind, nowMs, policy),
    jobRefusal(provider, idle, job, terms),
  ].filter((refusal) => refusal !== null)
  return Math.max(
    nowMs,
    ...failing.map((check) => untilOf(check, asked) ?? mendsAt(check, asked)),
    ...TIMED.map((check) => untilOf(check, asked) ?? nowMs),
  )
}

/** When a check that fails passes by the mere passing of time; null where that is not known. */
export function untilOf(check: Refusal, asked: Asked): number | null {
  return UNTIL[check]?.(asked) ?? null
}

/** Before when nothing that its workers do mends a check; Infinity where they cannot. */
function mendsAt(check: Refusal, { provider, market }: Asked): number {
  if (check === 'heartbeat_stale') return market.nowMs
  return check === 'unhealthy' ? healthyFrom(provider, market) : Infinity
}

/**
 * When a provider can have its minimum of health again: each job that it has now may be completed at any
 * moment, and each interval brings one heartbeat that counts (HEALTH-4).
 */
function healthyFrom(
  { health, liveLeases, creditedAt }: Provider,
  { nowMs, policy }: Market,
): number {
  const { minHealth, heartbeatIntervalMs } = policy.registry
  const missing = minHealth - health - HEALTH.completion * liveLeases
  if (missing <= 0) return nowMs
  const beats = Math.ceil(missing / HEALTH.heartbeat)
  // A heartbeat after the timeout does not count, but the next one does, and that may follow at once.
  const first = creditedAt === null ? nowMs : Math.max(nowMs, creditedAt + heartbeatIntervalMs)
  return first + (beats - 1) * heartbeatIntervalMs
}

/** These count also where another check fails before them: their end is known whether they fail or not. */
const TIMED: readonly Refusal[] = [
  'cooling_down',
  'class_cooling_down',
  'denied_for_job',
  'limit_exhausted',
]

/** Until when a check fails, for those that time alone can open. */
const UNTIL: { readonly [R in Refusal]?: (asked: Asked) => number | null | undefined } = {
  attestation_invalid: ({ provider: { attestation }, market: { nowMs } }) =>
    attestation !== null && nowMs < attestation.notBefore ? attestation.notBefore : null,
  // A cooldown from before health was turned off holds nobody back any more.
  cooling_down: ({ provider, market }) => (hasHealth(market) ? provider.cooldownUntil : null),
  epoch_units_exhausted: ({ job: { units, shape }, market: { nowMs, policy } }) => {
    // More than an epoch has room for never fits.
    if (units > (KINDS[shape.kind].unitsPerEpoch(policy) ?? 0)) return null
    return (epochOf(nowMs, policy) + 1) * 1_000 * policy.queue.quotas.epochSecs
  },
  class_cooling_down: ({ provider, job: { shape }, market }) =>
    hasHealth(market)
      ? provider.classCooldowns.get(classKey(shape.kind, shape.model))?.until
      : null,
  denied_for_job: ({ provider, job }) => job.denials?.get(provider.id),
  requester_rate_limited: ({ job, market: { windows, nowMs, policy } }) =>
    windows.freeAt(job.caller, nowMs, policy),
  limit_exhausted: ({ provider, job, terms }) => terms.admit?.hold(job, provider.id)?.until,
}
