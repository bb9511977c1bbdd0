import { epochOf } from '../admit/quotas.ts'
import { KINDS } from '../enqueue/kinds.ts'
import type { Job } from '../market/job.ts'
import type { Market } from '../market/market.ts'
import { HEALTH, hasHealth } from '../registry/health.ts'
import { classKey, type Provider } from '../registry/provider.ts'
import { jobRefusal, loadOf, providerRefusal, type Refusal, type Terms } from './eligibility.ts'

/** A provider and the job that it is asked for. */
interface Asked {
  readonly provider: Provider
  readonly job: Job
  readonly market: Market
  readonly terms: Terms
}

/**
 * The earliest time at which a provider may take a job (EXPLAIN-2). It is now if the provider may take it at any
 * moment, and Infinity if someone has to change something first. Its leases are left out, because one may end at
 * any moment. A busy provider that is also denied the job takes it after the denial at the earliest.
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

/** When time alone makes a failed check pass; null if that is not known. */
export function untilOf(check: Refusal, asked: Asked): number | null {
  return UNTIL[check]?.(asked) ?? null
}

/** The earliest time at which the provider's workers can mend a failed check; Infinity if they cannot. */
function mendsAt(check: Refusal, { provider, market }: Asked): number {
  if (check === 'heartbeat_stale') return market.nowMs
  return check === 'unhealthy' ? healthyFrom(provider, market) : Infinity
}

/**
 * The earliest time at which a provider may have its minimum health again. Each of its jobs may be completed at
 * any moment, and each interval brings one heartbeat that counts (HEALTH-4).
 */
function healthyFrom(
  { health, liveLeases, creditedAt }: Provider,
  { nowMs, policy }: Market,
): number {
  const { minHealth, heartbeatIntervalMs } = policy.registry
  const missing = minHealth - health - HEALTH.completion * liveLeases
  if (missing <= 0) return nowMs
  const beats = Math.ceil(missing / HEALTH.heartbeat)
  // A heartbeat after the timeout does not count. The next one does, and it may follow at once.
  const first = creditedAt === null ? nowMs : Math.max(nowMs, creditedAt + heartbeatIntervalMs)
  return first + (beats - 1) * heartbeatIntervalMs
}

/** The end of these checks counts even if another check fails before them, because it is known in any case. */
const TIMED: readonly Refusal[] = [
  'cooling_down',
  'class_cooling_down',
  'denied_for_job',
  'limit_exhausted',
]

/** Until when a check fails, for the checks that time alone can make pass. */
const UNTIL: { readonly [R in Refusal]?: (asked: Asked) => number | null | undefined } = {
  attestation_invalid: ({ provider: { attestation }, market: { nowMs } }) =>
    attestation !== null && nowMs < attestation.notBefore ? attestation.notBefore : null,
  // A cooldown from before health was turned off no longer applies.
  cooling_down: ({ provider, market }) => (hasHealth(market) ? provider.cooldownUntil : null),
  epoch_units_exhausted: ({ job: { units, shape }, market: { nowMs, policy } }) => {
    // A job that needs more units than an epoch has never fits.
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
