import type { Charge, Market } from '../market/market.ts'
import type { Provider } from './provider.ts'
import { admitProvider, changeStanding } from './provider-status.ts'
import { withoutHealth } from './standing/standing.ts'

/** The effect of each event on a provider's health, in thousandths (HEALTH-1). */
export const HEALTH = {
  ACK_TIMEOUT: -50,
  LEASE_EXPIRED: -150,
  PROVIDER_FAIL: -100,
  PROOF_INVALID: -300,
  lateRenewal: -10,
  silence: -50,
  completion: 20,
  heartbeat: 10,
} as const satisfies Record<Charge, number> & Record<string, number>

const HEALTH_MAX = 1_000
const COOLDOWN_BASE_SECS = 30
const COOLDOWN_MAX_SECS = 900

/**
 * Changes the health, within 0 … 1000. An ACTIVE provider at 0 is SUSPENDED (HEALTH-2). If the policy turns health
 * off, this does nothing (HEALTH-7).
 */
export function changeHealth(market: Market, provider: Provider, by: number): void {
  if (!hasHealth(market)) return
  provider.health = Math.min(HEALTH_MAX, Math.max(0, provider.health + by))
  if (provider.health === 0) {
    changeStanding(market, provider, withoutHealth(provider.standing, market.nowMs))
  }
  market.pool.touch(provider, market.nowMs)
  market.touch.provider(provider)
}

/**
 * Charges a provider: its health falls. From `cooldown_after` charges in a row on, it cools down for all work
 * (HEALTH-3).
 */
export function chargeProvider(market: Market, provider: Provider, charge: Charge): void {
  if (!hasHealth(market)) return
  provider.failures++
  const over = provider.failures - market.policy.registry.cooldownAfter
  if (over >= 0) {
    const secs = Math.min(COOLDOWN_MAX_SECS, COOLDOWN_BASE_SECS * 2 ** Math.min(over, 10))
    const until = market.nowMs + 1_000 * secs
    provider.cooldownUntil = Math.max(provider.cooldownUntil ?? 0, until)
  }
  changeHealth(market, provider, HEALTH[charge])
}

/** Credits a COMPLETED job: health rises and a run of failures ends, but not a cooldown (HEALTH-3). */
export function creditProvider(market: Market, provider: Provider): void {
  if (!hasHealth(market)) return
  provider.failures = 0
  // Usually the health is at its maximum, and then no check of the provider changes.
  if (provider.health < HEALTH_MAX) changeHealth(market, provider, HEALTH.completion)
  else market.touch.provider(provider)
}

/** True if providers have a health at all (HEALTH-7). */
export function hasHealth({ policy }: Pick<Market, 'policy'>): boolean {
  return policy.registry.health === 'on'
}

/** Records a heartbeat. If it is in time, it earns health, at most once an interval (HEALTH-4). */
export function recordHeartbeat(market: Market, provider: Provider): void {
  admitProvider(market, provider)
  const { heartbeatTimeoutMs, heartbeatIntervalMs } = market.policy.registry
  const { nowMs } = market
  const inTime = nowMs - provider.lastHeartbeat <= heartbeatTimeoutMs
  const { creditedAt } = provider
  const isDue = creditedAt === null || nowMs - creditedAt >= heartbeatIntervalMs
  const isKnown = provider.lastHeartbeat === nowMs && provider.silentSteps === 0
  // A second heartbeat in the same millisecond tells nothing new.
  if (isKnown && !isDue) return
  reschedule(market, provider, () => {
    provider.lastHeartbeat = nowMs
    provider.silentSteps = 0
  })
  market.touch.provider(provider)
  if (inTime && isDue) {
    provider.creditedAt = nowMs
    changeHealth(market, provider, HEALTH.heartbeat)
  } else market.pool.touch(provider, nowMs)
}

/** The provider's silence counts from now on, without earning or costing health (HEALTH-7). */
export function restartHeartbeat(market: Market, provider: Provider): void {
  reschedule(market, provider, () => {
    provider.lastHeartbeat = market.nowMs
    provider.silentSteps = 0
  })
  market.touch.provider(provider)
}

/**
 * The provider has been silent for one more interval past the timeout (HEALTH-4). At health 0 all steps up to
 * `untilMs` are taken as one.
 */
export function chargeSilence(market: Market, provider: Provider, untilMs: number): void {
  const { heartbeatTimeoutMs, heartbeatIntervalMs } = market.policy.registry
  const silentMs = untilMs - provider.lastHeartbeat - heartbeatTimeoutMs
  const steps = provider.health > 0 ? 0 : Math.floor(silentMs / heartbeatIntervalMs)
  reschedule(market, provider, () => {
    provider.silentSteps = Math.max(provider.silentSteps + 1, steps)
  })
  changeHealth(market, provider, HEALTH.silence)
}

/** Makes a change that the provider's next step of silence depends on. */
function reschedule({ due }: Market, provider: Provider, change: () => void): void {
  const wasDue = due.silence.remove(provider)
  change()
  if (wasDue) due.silence.add(provider)
}
