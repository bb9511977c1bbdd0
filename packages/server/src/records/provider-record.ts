import type { Policy, Provider, ProviderId } from '@fairlead/core'
import {
  type AcceptedAttestation,
  compareAscii,
  compareText,
  JAILED_FOR_GOOD,
  leaseCap,
  showU64,
} from '@fairlead/core/internal'
import type { EngineFund } from '@fairlead/engine'
import type { AttestationRecord, ProviderRecord } from '@fairlead/protocol'

/** A provider as the wire has it. */
export function providerRecord(
  provider: Readonly<Provider>,
  { policy, fund }: { readonly policy: Policy; readonly fund: EngineFund },
): ProviderRecord {
  const { kinds: service, offenceEpochs } = fund.serviceOf(provider.id)
  const jailedUntil = provider.standing.jailedUntil
  const { id, status, offer, stake, attestation, health, failures, workers } = provider
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
    unstaking: unstakingOf(fund, provider.id),
    public_key: provider.publicKey,
    attestation: attestation === null ? null : attestationRecord(attestation),
    service: service.map(({ kind, band, outcomes, p95Ms, failPpm, availabilityPpm }) => ({
      kind,
      band,
      samples: outcomes,
      p95_ms: p95Ms,
      fail_ppm: failPpm,
      availability_ppm: availabilityPpm,
    })),
    offence_epochs: [...offenceEpochs],
    jailed_until: jailedUntil === JAILED_FOR_GOOD ? null : jailedUntil,
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

export function attestationRecord(given: Provider['attestation'] & object): AttestationRecord {
  const { className, hash, notBefore, notAfter } = given as AcceptedAttestation
  return { class: className, attestation_hash: hash, not_before: notBefore, not_after: notAfter }
}

function unstakingOf(fund: EngineFund, id: ProviderId): ProviderRecord['unstaking'] {
  return fund.balanceOf(id).unstaking.map(({ amount, maturesAt }) => ({
    amount_u64: showU64(amount),
    matures_at: maturesAt,
  }))
}
