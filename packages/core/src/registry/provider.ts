import type { IndexedItem } from '../collections/indexed-heap.ts'
import type { Caller, ProviderId } from '../encoding/ids.ts'
import type { KindName } from '../enqueue/kinds.ts'
import type { Policy } from '../policy/policy.ts'
import { type Standing, standingOf } from './standing/standing.ts'
import type { ProviderStatus } from './standing/status.ts'
import type { Workers } from './workers.ts'

/** The offer of a provider and its terms. `updateOffer` replaces it as a whole. */
export interface ProviderOffer {
  readonly capabilities: ReadonlySet<KindName>
  /** The models and task names that it takes; `*` means any. */
  readonly models: ReadonlySet<string>
  /** The booking sites that it registers people at; `*` means any. */
  readonly platforms: ReadonlySet<string>
  readonly maxDepth: number | null
  readonly maxShots: number | null
  /** Qubits; null means no limit. */
  readonly maxWidth: number | null
  /** The gates that it can run; null means any. */
  readonly gates: ReadonlySet<string> | null
  /** The precisions in which it runs its models; null means any. */
  readonly precision: ReadonlySet<string> | null
  readonly region: string | null
  readonly allow: ReadonlySet<Caller> | null
  readonly deny: ReadonlySet<Caller>
  /** The most leases that it takes at once; null leaves this to the policy. */
  readonly leasesMax: number | null
}

/** All that later decisions need of an accepted chain of certificates (ATTEST-4). */
export interface Attestation {
  readonly notBefore: number
  readonly notAfter: number
  /** Its class, which names kinds of work; absent, it stands for all kinds. */
  readonly className?: string
  /** The hash that proofs name. */
  readonly hash?: string
  /** One for each certificate, leaf first, the root last. */
  readonly fingerprints?: readonly string[]
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
  /** Follows from its standing and the time (STANDING-1). */
  status: ProviderStatus
  standing: Standing
  /** As the ledger has it, without what is on its way out. */
  stake: bigint
  /** The key of its proofs as 0x hex; null if it gave none. */
  publicKey: string | null
  attestation: Attestation | null
  lastHeartbeat: number
  /** When a heartbeat last earned health. */
  creditedAt: number | null
  /** The steps of silence past the timeout that were charged since the last heartbeat. */
  silentSteps: number
  /** 0 … 1000. */
  health: number
  /** The number of charges in a row. */
  failures: number
  cooldownUntil: number | null
  readonly classCooldowns: Map<string, ClassCooldown>
  liveLeases: number
  /** The units taken, by kind and epoch. */
  readonly units: Map<KindName, Map<number, number>>
  /** Null if it is not served by workers; then they do not limit it. */
  readonly workers: Workers | null
}

export interface NewProvider {
  readonly id: ProviderId
  readonly offer?: Partial<ProviderOffer>
  readonly status?: ProviderStatus
  /** Of more than its status alone tells. */
  readonly standing?: Standing
  readonly stake?: bigint
  readonly publicKey?: string | null
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
    standing: from.standing ?? standingOf(status),
    stake,
    publicKey: from.publicKey ?? null,
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

/** An offer with some terms changed; undefined keeps a term. Sets belong to the caller, so they are copied. */
export function changedOffer(offer: ProviderOffer, changes: Partial<ProviderOffer>): ProviderOffer {
  const changed = Object.entries(changes)
    .filter(([, term]) => term !== undefined)
    .map(([name, term]) => [name, term instanceof Set ? new Set(term) : term])
  return { ...offer, ...Object.fromEntries(changed) }
}

/** The minimum stake, summed over the offered kinds (REGISTRY-2). */
export function stakeNeeded(provider: Provider, policy: Policy): bigint {
  let needed = 0n
  for (const kind of provider.offer.capabilities) needed += policy.registry.minStake[kind]
  return needed
}

/**
 * The most leases that it may hold at once: its allowed leases, or its workers' slots if these are fewer
 * (WORKER-1).
 */
export function leaseCap(provider: Provider, policy: Policy): number {
  const cap = allowedLeases(provider, policy)
  const { workers } = provider
  return workers === null || workers.slots > cap ? cap : workers.slots
}

/**
 * The most leases that it may hold, whatever its workers take: the lower of the policy's cap and its own
 * (QUOTA-1).
 */
export function allowedLeases(provider: Provider, policy: Policy): number {
  const cap = policy.queue.quotas.leasesMaxPerProvider
  const { leasesMax } = provider.offer
  return leasesMax === null || leasesMax > cap ? cap : leasesMax
}

export function classKey(kind: KindName, model: string | null): string {
  return `${kind}|${model ?? ''}`
}

/**
 * When its silence next costs health: after each interval past the timeout (HEALTH-4). If health is off, or
 * workers show that the provider is alive, silence costs nothing (HEALTH-7).
 */
export function silenceDueAt(provider: Provider, policy: Policy): number {
  const { heartbeatTimeoutMs, heartbeatIntervalMs, health, liveness } = policy.registry
  if (health === 'off' || liveness === 'worker') return Number.POSITIVE_INFINITY
  return (
    provider.lastHeartbeat + heartbeatTimeoutMs + (provider.silentSteps + 1) * heartbeatIntervalMs
  )
}
