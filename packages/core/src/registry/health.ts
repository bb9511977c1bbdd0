import type { Charge, Market } from '../market/market.ts'
import type { Provider } from './provider.ts'
import { moveProvider } from './provider-status.ts'

/** What each happening does to a provider's health, in thousandths (HEALTH-1). */
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
 * Adds to the health, within 0 … 1000. An ACTIVE provider at 0 is SUSPENDED (HEALTH-2). Where the policy
 * has health off, nothing that happens to a provider touches it (HEALTH-7).
 */
export function changeHealth(market: Market, provider: Provider, by: number): void {
  if (!hasHealth(market)) return
  provider.health = Math.min(HEALTH_MAX, Math.max(0, provider.health + by))
  if (provider.health === 0 && provider.status === 'ACTIVE') {
    moveProvider(market, provider, 'SUSPENDED')
  }
  market.pool.touch(provider, market.nowMs)
  market.touch.provider(provider)
}

/** A charge: health, and from the third in a row on a cooldown for all work (HEALTH-3). */
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

/** A job was COMPLETED: health, and the end of a run of failures, not of a cooldown (HEALTH-3). */
export function creditProvider(market: Market, provider: Provider): void {
  if (!hasHealth(market)) return
  provider.failures = 0
  // Mostly it is as healthy as can be, and whether it passes the checks is as it was.
  if (provider.health < HEALTH_MAX) changeHealth(market, provider, HEALTH.completion)
  else market.touch.provider(provider)
}

/** Whether providers have a health at all (HEALTH-7). */
export function hasHealth({ policy }: Pick<Market, 'policy'>): boolean {
  return policy.registry.health === 'on'
}

/** A heartbeat. In time it earns health, at most once an interval (HEALTH-4). */
export function recordHeartbeat(market: Market, provider: Provider): void {
  const { heartbeatTimeoutMs, heartbeatIntervalMs } = market.policy.registry
  const { nowMs } = market
  const inTime = nowMs - provider.lastHeartbeat <= heartbeatTimeoutMs
  const { creditedAt } = provider
  const isDue = creditedAt === null || nowMs - creditedAt >= heartbeatIntervalMs
  const isKnown = provider.lastHeartbeat === nowMs && provider.silentSteps === 0
  // One of the same millisecond says nothing new.
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

/** Its silence counts from now on, and earns or costs nothing (HEALTH-7). */
export function restartHeartbeat(market: Market, provider: Provider): void {
  reschedule(market, provider, () => {
    provider.lastHeartbeat = market.nowMs
    provider.silentSteps = 0
  })
  market.touch.provider(provider)
}

/**
 * The provider has been silent for one more interval past the timeout (HEALTH-4). Once there is no
 * health left to lose, all steps up to the time that is being moved to are taken as one.
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

/** Makes a change that its next step of silence depends on. */
function reschedule({ due }: Market, provider: Provider, change: () => void): void {
  const wasDue = due.silence.remove(provider)
  change()
  if (wasDue) due.silence.add(provider)
}
