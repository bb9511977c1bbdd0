import type { AdmitRound } from '../admit/admit-round.ts'
import { unitsUsed } from '../admit/quotas.ts'
import type { Caller } from '../encoding/ids.ts'
import { KINDS, type KindName } from '../enqueue/kinds.ts'
import { isOwnTask } from '../enqueue/own-tasks.ts'
import type { JobNeeds } from '../market/job.ts'
import type { QueuedJob, Shape } from '../order/queued-job.ts'
import type { Policy } from '../policy/policy.ts'
import { isAttestedFor } from '../registry/attestation/attestation.ts'
import { classKey, leaseCap, type Provider, stakeNeeded } from '../registry/provider.ts'

/** Why a provider does not fit a job: the first failed check, in this order (MATCH-3). */
export const REFUSALS = [
  'provider_not_active',
  'attestation_invalid',
  'stake_below_minimum',
  'heartbeat_stale',
  'unhealthy',
  'cooling_down',
  'capability_missing',
  'model_unsupported',
  'circuit_unsupported',
  'region_denied',
  'requester_denied',
  'lease_cap_reached',
  'epoch_units_exhausted',
  'class_cooling_down',
  'denied_for_job',
  'requester_rate_limited',
  'limit_exhausted',
] as const
export type Refusal = (typeof REFUSALS)[number]

/** The fields of a job that matching reads. */
export type Candidate = Pick<QueuedJob, 'id' | 'caller' | 'units' | 'tokens' | 'shape' | 'denials'>

/** The time and terms under which the checks are made. */
export interface Terms {
  readonly nowMs: number
  readonly policy: Policy
  readonly epoch: number
  readonly isWindowFull: (caller: Caller) => boolean
  /** Null if there are no admission rules. */
  readonly admit: AdmitRound | null
}

/** The load of a provider at the time of the check. */
export interface Load {
  leases: number
  /** Units of the job's kind in this epoch. */
  units: number
}

/** The checks that do not depend on a job, only on its kind (through `cooling_down`). */
export function providerRefusal(
  provider: Provider,
  kind: KindName,
  nowMs: number,
  policy: Policy,
): Refusal | null {
  const { registry } = policy
  if (provider.status !== 'ACTIVE') return 'provider_not_active'
  if (registry.attestationRequired[kind]) {
    if (!isAttestedFor(kind, provider.attestation, nowMs, policy)) return 'attestation_invalid'
  }
  if (provider.stake < stakeNeeded(provider, policy)) return 'stake_below_minimum'
  if (isSilent(provider, nowMs, policy)) return 'heartbeat_stale'
  if (registry.health === 'off') return null
  if (provider.health < registry.minHealth) return 'unhealthy'
  if (provider.cooldownUntil !== null && nowMs < provider.cooldownUntil) return 'cooling_down'
  return null
}

/**
 * Only heartbeats can be stale. A provider served by workers lives as long as it has slots, and without slots gets
 * no lease (WORKER-1).
 */
function isSilent({ lastHeartbeat }: Provider, nowMs: number, { registry }: Policy): boolean {
  return registry.liveness === 'heartbeat' && nowMs - lastHeartbeat > registry.heartbeatTimeoutMs
}

/** The checks that depend on the job, for a provider that passed the others. */
export function jobRefusal(
  provider: Provider,
  load: Load,
  job: Candidate,
  terms: Terms,
): Refusal | null {
  const { shape } = job
  const { offer } = provider
  const { policy, nowMs } = terms
  if (!offer.capabilities.has(shape.kind)) return 'capability_missing'
  if (shape.model !== null && !takesName(provider, shape, shape.model)) return 'model_unsupported'
  if (shape.needs !== null && lacksPrecision(provider, shape.needs)) return 'model_unsupported'
  if (shape.kind === 'quantum' && exceedsCircuit(provider, shape)) return 'circuit_unsupported'
  if (isRegionDenied(offer.region, shape.regions, policy)) return 'region_denied'
  if (isRequesterDenied(provider, job.caller, policy)) return 'requester_denied'
  if (load.leases >= leaseCap(provider, policy)) return 'lease_cap_reached'
  const unitsMax = KINDS[shape.kind].unitsPerEpoch(policy)
  if (unitsMax !== null && load.units + job.units > unitsMax) return 'epoch_units_exhausted'
  if (provider.classCooldowns.size > 0 && policy.registry.health === 'on') {
    const cooldown = provider.classCooldowns.get(classKey(shape.kind, shape.model))
    if (cooldown !== undefined && nowMs < cooldown.until) return 'class_cooling_down'
  }
  const deniedUntil = job.denials?.get(provider.id)
  if (deniedUntil !== undefined && nowMs < deniedUntil) return 'denied_for_job'
  if (terms.isWindowFull(job.caller)) return 'requester_rate_limited'
  if (terms.admit === null) return null
  return terms.admit.hold(job, provider.id) === null ? null : 'limit_exhausted'
}

/** `*` takes any name but those of the server's own work, which go to the provider that is named after them (HOOK-3). */
function takesName({ id, offer }: Provider, shape: Shape, name: string): boolean {
  if (isOwnTask(shape)) return offer.models.has(name) && id === `provider:${name}`
  const offered = shape.kind === 'registration' ? offer.platforms : offer.models
  return offered.has(name) || offered.has('*')
}

/** The first check that fails now, or null if the provider fits the job. */
export function refusalOf(provider: Provider, job: Candidate, terms: Terms): Refusal | null {
  return (
    providerRefusal(provider, job.shape.kind, terms.nowMs, terms.policy) ??
    jobRefusal(provider, loadOf(provider, job.shape.kind, terms.epoch), job, terms)
  )
}

export function loadOf(provider: Provider, kind: KindName, epoch: number): Load {
  return { leases: provider.liveLeases, units: unitsUsed(provider, kind, epoch) }
}

/** True if the lists of the policy exclude this caller. Deny wins (MATCH-4). */
export function isCallerDenied(caller: Caller, policy: Policy): boolean {
  const { requestersAllow, requestersDeny } = policy.registry
  if (requestersDeny.length > 0 && setOf(requestersDeny).has(caller)) return true
  return requestersAllow !== null && !setOf(requestersAllow).has(caller)
}

/** Cached as sets, because the lists of a policy may be long and are searched for every job. */
const sets = new WeakMap<readonly string[], ReadonlySet<string>>()

function setOf(list: readonly string[]): ReadonlySet<string> {
  let set = sets.get(list)
  if (set === undefined) {
    set = new Set(list)
    sets.set(list, set)
  }
  return set
}

function isRequesterDenied({ offer }: Provider, caller: Caller, policy: Policy): boolean {
  if (offer.deny.has(caller) || (offer.allow !== null && !offer.allow.has(caller))) return true
  return isCallerDenied(caller, policy)
}

function exceedsCircuit({ offer }: Provider, shape: Shape): boolean {
  if (offer.maxDepth !== null && shape.depthHint > offer.maxDepth) return true
  if (offer.maxShots !== null && shape.shots > offer.maxShots) return true
  const { needs } = shape
  if (needs === null) return false
  if (offer.maxWidth !== null && needs.widthHint > offer.maxWidth) return true
  const { gates } = offer
  return gates !== null && needs.gates?.some((gate) => !gates.has(gate)) === true
}

/** One of the acceptable precisions is enough. */
function lacksPrecision({ offer: { precision } }: Provider, needs: JobNeeds): boolean {
  if (precision === null || needs.precision === null) return false
  return !needs.precision.some((one) => precision.has(one))
}

function isRegionDenied(
  region: string | null,
  wanted: readonly string[] | null,
  policy: Policy,
): boolean {
  if (wanted !== null && (region === null || !wanted.includes(region))) return true
  return region !== null && setOf(policy.registry.deniedRegions).has(region)
}
