import { isProviderName } from '../encoding/ids.ts'
import { FairleadError, invalidParams } from '../errors.ts'
import { cancelLease } from '../lease/cancel-lease.ts'
import type { Lease } from '../lease/lease.ts'
import type { CancelReason, Market } from '../market/market.ts'
import { allowedLeases, changedOffer, type Provider, type ProviderOffer } from './provider.ts'
import {
  admitted,
  type Credentials,
  isSameStanding,
  type Standing,
  setStanding,
  statusOf,
} from './standing/standing.ts'
import type { ProviderStatus } from './standing/status.ts'

/** Registers a provider. A second one under its id is refused, and the offer of the first stays (REGISTRY-4). */
export function registerProvider(market: Market, provider: Provider): void {
  if (!isProviderName(provider.id)) {
    const expected = 'provider: and 1 to 64 of a–z, 0–9, dot, dash and underscore'
    throw invalidParams('provider_id', expected)
  }
  if (market.pool.get(provider.id) !== undefined) {
    throw new FairleadError('InvalidState', `${provider.id} is registered already`, {
      providerId: provider.id,
    })
  }
  if (provider.stake > 0n) market.fund.stake(provider.id, provider.stake)
  provider.standing = admitted(provider.standing, credentialsOf(provider), market)
  provider.status = statusOf(provider.standing, market.nowMs)
  market.pool.add(provider)
  market.due.silence.add(provider)
  market.touch.provider(provider)
  market.emit({ type: 'providerRegistered', at: market.nowMs, providerId: provider.id })
}

/**
 * Changes terms of a provider's offer. If it then may hold fewer leases, the newest ones above that are cancelled.
 */
export function updateOffer(
  market: Market,
  provider: Provider,
  changes: Partial<ProviderOffer>,
): void {
  market.pool.setOffer(provider, changedOffer(provider.offer, changes))
  market.touch.provider(provider)
  enforceLeaseCap(market, provider)
  admitProvider(market, provider)
}

/** An operator sets the status. ACTIVE brings a provider back with at least `min_health` (REGISTRY-1). */
export function setProviderStatus(
  market: Market,
  provider: Provider,
  status: ProviderStatus,
): void {
  changeStanding(market, provider, setStanding(provider.standing, status))
  admitProvider(market, provider)
  const { minHealth } = market.policy.registry
  if (status !== 'ACTIVE' || provider.health >= minHealth) return
  provider.health = minHealth
  market.pool.touch(provider, market.nowMs)
  market.touch.provider(provider)
}

/** A provider is admitted for good once its stake and attestation suffice for all that it offers (STANDING-2). */
export function admitProvider(market: Market, provider: Provider): void {
  const standing = admitted(provider.standing, credentialsOf(provider), market)
  changeStanding(market, provider, standing)
}

function credentialsOf({ offer, stake, attestation }: Provider): Credentials {
  return { kinds: offer.capabilities, stake, attestation }
}

/** The facts that its status follows from are other ones now. */
export function changeStanding(market: Market, provider: Provider, standing: Standing): void {
  if (isSameStanding(provider.standing, standing)) return
  provider.standing = standing
  market.touch.provider(provider)
  market.jail.note(provider, market.nowMs)
  followStanding(market, provider)
}

/** A provider that becomes JAILED, SUSPENDED or RETIRED loses its live leases (LEASE-7). */
export function followStanding(market: Market, provider: Provider): void {
  const status = statusOf(provider.standing, market.nowMs)
  if (provider.status === status) return
  provider.status = status
  market.touch.provider(provider)
  market.pool.touch(provider, market.nowMs)
  market.emit({ type: 'providerStatus', at: market.nowMs, providerId: provider.id, status })
  const losesLeases = status === 'JAILED' || status === 'SUSPENDED' || status === 'RETIRED'
  if (losesLeases) cancelDownTo(market, provider, 0, 'provider_status')
}

/** Cancels leases above the allowed number after it was lowered (LEASE-7). Fewer slots cancel nothing. */
export function enforceLeaseCap(market: Market, provider: Provider): void {
  cancelDownTo(market, provider, allowedLeases(provider, market.policy), 'over_cap')
}

/** Cancels live leases, the newest first, until `keep` are left. */
function cancelDownTo(
  market: Market,
  provider: Provider,
  keep: number,
  reason: CancelReason,
): void {
  const leases = market.leasesOf.get(provider.id)
  if (leases === undefined || leases.size <= keep) return
  const newestFirst = [...leases.values()].sort(newerFirst)
  for (const lease of newestFirst.slice(0, leases.size - keep)) cancelLease(market, lease, reason)
}

function newerFirst(a: Lease, b: Lease): number {
  return b.tStart - a.tStart || (a.id > b.id ? -1 : 1)
}
