import type { Policy, Provider } from '@fairlead/core'
import { compareAscii, compareText, leaseCap, showU64 } from '@fairlead/core/internal'
import type { ProviderRecord } from '@fairlead/protocol'

/** A provider as the wire has it. */
export function providerRecord(provider: Readonly<Provider>, policy: Policy): ProviderRecord {
  const { id, status, offer, stake, health, failures, workers } = provider
  return {
    schema_version: 0,
    provider_id: id,
    status,
    kinds: [...offer.capabilities].sort(compareAscii),
    models: [...offer.models].sort(compareText),
    platforms: [...offer.platforms].sort(compareText),
    max_depth: offer.maxDepth,
    max_shots: offer.maxShots,
    max_width: offer.maxWidth,
    gates: offer.gates === null ? null : [...offer.gates].sort(compareText),
    precision: offer.precision === null ? null : [...offer.precision].sort(compareText),
    region: offer.region,
    allow: offer.allow === null ? null : [...offer.allow].sort(compareAscii),
    deny: [...offer.deny].sort(compareAscii),
    leases_max: offer.leasesMax,
    stake_u64: showU64(stake),
    health,
    failures,
    cooldown_until: provider.cooldownUntil,
    last_heartbeat: provider.lastHeartbeat,
    leases: provider.liveLeases,
    lease_cap: leaseCap(provider, policy),
    workers: workers === null ? null : workersOf(workers),
  }
}

function workersOf({ byId }: NonNullable<Provider['workers']>) {
  return [...byId.values()]
    .sort((a, b) => compareAscii(a.id, b.id))
    .map(({ id, slots, leases, goneSince }) => ({
      worker_id: id,
      slots,
      leases,
      gone_since: goneSince,
    }))
}
