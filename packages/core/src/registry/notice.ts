import { KIND_NAMES } from '../enqueue/kinds.ts'
import { providerRefusal, type Refusal } from '../match/eligibility.ts'
import type { Policy } from '../policy/policy.ts'
import type { ProviderNotice } from '../ports/lease-source.ts'
import { type Provider, stakeNeeded } from './provider.ts'
import type { ProviderStatus } from './standing/status.ts'

/**
 * Why a provider gets no work of any kind that it offers, and what to do about it (WORKER-15); null if it may get
 * some. A cooldown or a missed heartbeat passes by itself, so workers are not told of it.
 */
export function noticeOf(provider: Provider, nowMs: number, policy: Policy): ProviderNotice | null {
  let notice: ProviderNotice | null = null
  for (const kind of KIND_NAMES) {
    if (!provider.offer.capabilities.has(kind)) continue
    const reason = providerRefusal(provider, kind, nowMs, policy)
    const advice = reason === null ? null : adviceOn(reason, provider, policy)
    if (reason === null || advice === null) return null
    notice ??= { reason, message: `${provider.id} gets no work: ${advice}` }
  }
  return notice
}

/** The problem of a provider and its remedy; null for a refusal without advice, such as one that passes by itself. */
export function adviceOn(reason: Refusal, provider: Provider, policy: Policy): string | null {
  return ADVICE[reason]?.(provider, policy) ?? null
}

const ADVICE: {
  readonly [R in Refusal]?: (provider: Provider, policy: Policy) => string
} = {
  provider_not_active: (provider, policy) =>
    provider.status === 'REGISTERED'
      ? missingFor(provider, policy)
      : STATUS_ADVICE[provider.status](provider.id),
  attestation_invalid: () => 'its attestation is missing or not valid at this time.',
  stake_below_minimum: stakeAdvice,
  unhealthy: ({ health }, { registry }) =>
    `its health is ${health} of 1000 after failures, and it needs ${registry.minHealth}. Heartbeats and completed jobs raise it.`,
}

const STATUS_ADVICE: {
  readonly [S in Exclude<ProviderStatus, 'REGISTERED'>]: (id: string) => string
} = {
  ACTIVE: () => 'it is ACTIVE.',
  JAILED: (id) => `it is JAILED. ${activate(id)}`,
  PAUSED: (id) => `it is PAUSED by an operator. ${activate(id)}`,
  SUSPENDED: (id) => `it is SUSPENDED. ${activate(id)}`,
  RETIRED: () => 'it is RETIRED, which is final. Register another provider.',
}

/** The stake or attestation that keeps it from being ACTIVE (STANDING-2). */
function missingFor(provider: Provider, policy: Policy): string {
  const { attestationRequired } = policy.registry
  const kinds = [...provider.offer.capabilities].filter((kind) => attestationRequired[kind])
  const isShort = provider.stake < stakeNeeded(provider, policy)
  const reasons = [
    ...(isShort ? [stakeAdvice(provider, policy)] : []),
    ...(kinds.length > 0
      ? [`Its work of kind ${kinds.join(', ')} needs a valid attestation.`]
      : []),
  ]
  return `it is REGISTERED and not ACTIVE yet: ${reasons.join(' ') || activate(provider.id)}`
}

function stakeAdvice(provider: Provider, policy: Policy): string {
  const { id, stake } = provider
  const needed = stakeNeeded(provider, policy)
  return `its stake is ${stake}, and what it offers needs ${needed}. An operator adds to it with: fairlead stake ${id} ${needed - stake}`
}

function activate(id: string): string {
  return `An operator brings it back with: fairlead providers set-status ${id} ACTIVE`
}
