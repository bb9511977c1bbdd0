import type { IndexedItem } from '../collections/indexed-heap.ts'
import type { Caller, ProviderId } from '../encoding/ids.ts'
import type { KindName } from '../enqueue/kinds.ts'
import type { Policy } from '../policy/policy.ts'
import type { Workers } from './workers.ts'

export const PROVIDER_STATUSES = ['REGISTERED', 'ACTIVE', 'JAILED', 'SUSPENDED', 'RETIRED'] as const
export type ProviderStatus = (typeof PROVIDER_STATUSES)[number]

/**
 * What an operator may set from where; what is not written here is refused (REGISTRY-1). RETIRED is
 * final in every way.
 */
// biome-ignore format: a table
export const PROVIDER_TABLE: { readonly [From in ProviderStatus]: readonly ProviderStatus[] } = {
  REGISTERED: ['ACTIVE', 'JAILED', 'SUSPENDED', 'RETIRED'],
  ACTIVE:     ['ACTIVE', 'JAILED', 'SUSPENDED', 'RETIRED'],
  JAILED:     ['ACTIVE', 'JAILED', 'SUSPENDED', 'RETIRED'],
  SUSPENDED:  ['ACTIVE', 'JAILED', 'SUSPENDED', 'RETIRED'],
  RETIRED:    [],
}

/** What a provider offers and under which terms; it changes only when it registers anew. */
export interface ProviderOffer {
  readonly capabilities: ReadonlySet<KindName>
  /** Models and task names that it takes; `*` is any. */
  readonly models: ReadonlySet<string>
  /** Booking sites that it registers people at; `*` is any. */
  readonly platforms: ReadonlySet<string>
  readonly maxDepth: number | null
  readonly maxShots: number | null
  /** Qubits; null is no limit. */
  readonly maxWidth: number | null
  /** Gates that it can run; null is any. */
  readonly gates: ReadonlySet<string> | null
  /** Precisions in which it runs its models; null is any. */
  readonly precision: ReadonlySet<string> | null
  readonly region: string | null
  readonly allow: ReadonlySet<Caller> | null
  readonly deny: ReadonlySet<Caller>
  /** Leases that it takes at once, at most; null leaves it to the policy. */
  readonly leasesMax: number | null
}

export interface Attestation {
  readonly notBefore: number
  readonly notAfter: number
}

/** A cooldown for one kind and model. */
export interface ClassCooldown {
  readonly kind: KindName
  readonly model: string | null
  readonly until: number
}

export interface Provider extends IndexedItem {
  readonly id: ProviderId
  offer: ProviderOffer
  status: ProviderStatus
  stake: bigint
  attestation: Attestation | null
  lastHeartbeat: number
  /** When a heartbeat last earned health. */
  creditedAt: number | null
  /** Steps of silence past the timeout that were charged since the last heartbeat. */
  silentSteps: number
  /** 0 … 1000. */
  health: number
  /** Charges in a row. */
  failures: number
  cooldownUntil: number | null
  readonly classCooldowns: Map<string, ClassCooldown>
  liveLeases: number
  /** Units taken, by kind and epoch. */
  readonly units: Map<KindName, Map<number, number>>
  /** Null: it is not served by workers, and they are no limit to it. */
  readonly workers: Workers | null
}

export interface NewProvider {
  readonly id: ProviderId
  readonly offer?: Partial<ProviderOffer>
  readonly status?: ProviderStatus
  readonly stake?: bigint
  readonly attestation?: Attestation | null
  readonly lastHeartbeat: number
  readonly health?: number
  readonly workers?: Workers | null
}

export function newProvider(from: NewProvider): Provider {
  const { id, offer = {}, status = 'ACTIVE', stake = 0n, lastHeartbeat, health = 1_000 } = from
  return {
    id,
    offer: changedOffer(NO_OFFER, offer),
    status,
    stake,
    attestation: from.attestation ?? null,
    lastHeartbeat,
    creditedAt: null,
    silentSteps: 0,
    health,
    failures: 0,
    cooldownUntil: null,
    classCooldowns: new Map(),
    liveLeases: 0,
    units: new Map(),
    workers: from.workers ?? null,
    heapIndex: -1,
  }
}

const NO_OFFER: ProviderOffer = {
  capabilities: new Set(),
  models: new Set(),
  platforms: new Set(),
  maxDepth: null,
  maxShots: null,
  maxWidth: null,
  gates: null,
  precision: null,
  region: null,
  allow: null,
  deny: new Set(),
  leasesMax: null,
}

/** An offer with some of its terms changed; one that is undefined stays as it is. Sets are the giver's own, and copied. */
export function changedOffer(offer: ProviderOffer, changes: Partial<ProviderOffer>): ProviderOffer {
  const changed = Object.entries(changes)
    .filter(([, term]) => term !== undefined)
    .map(([name, term]) => [name, term instanceof Set ? new Set(term) : term])
  return { ...offer, ...Object.fromEntries(changed) }
}

/** The minimum stake, added up over the kinds offered (REGISTRY-2). */
export function stakeNeeded(provider: Provider, policy: Policy): bigint {
  let needed = 0n
  for (const kind of provider.offer.capabilities) needed += policy.registry.minStake[kind]
  return needed
}

/** How many leases it may hold at once: the lowest of what it may and what its workers take (WORKER-1). */
export function leaseCap(provider: Provider, policy: Policy): number {
  const cap = allowedLeases(provider, policy)
  const { workers } = provider
  return workers === null || workers.slots > cap ? cap : workers.slots
}

/** How many it may hold, whoever serves it: the lower of the policy's cap and its own (QUOTA-1). */
export function allowedLeases(provider: Provider, policy: Policy): number {
  const cap = policy.queue.quotas.leasesMaxPerProvider
  const { leasesMax } = provider.offer
  return leasesMax === null || leasesMax > cap ? cap : leasesMax
}

export function classKey(kind: KindName, model: string | null): string {
  return `${kind}|${model ?? ''}`
}

/**
 * When its silence next costs it health: each interval past the timeout (HEALTH-4). Where it has none, or
 * is known to live by its workers, silence costs nothing (HEALTH-7).
 */
export function silenceDueAt(provider: Provider, policy: Policy): number {
  const { heartbeatTimeoutMs, heartbeatIntervalMs, health, liveness } = policy.registry
  if (health === 'off' || liveness === 'worker') return Number.POSITIVE_INFINITY
  return (
    provider.lastHeartbeat + heartbeatTimeoutMs + (provider.silentSteps + 1) * heartbeatIntervalMs
  )
}
