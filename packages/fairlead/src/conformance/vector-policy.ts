import { type Policy, parsePolicy } from '@fairlead/core'
import type { Json } from './suite.ts'

/** The policy as the rules write it: the preset that the vectors use. A vector that names an `enqueue_seq` means it. */
export const FUND: Policy = parsePolicy(
  {
    match: { ties: 'arrival' },
    queue: { completion: { ai_verification: 'none', quantum_verification: 'none' } },
  },
  'fund',
)

/**
 * The policy of a `match` or `lease` vector: its flat names, put to where the product keeps them. Not
 * read as an operator's file would be, because a vector may go beyond what an operator may set.
 */
export function vectorPolicy(given: Json, base: Policy = FUND): Policy {
  const { queue, match, registry } = base
  const units = given.units_per_epoch
  const lease = given.lease_secs
  const backoff = given.backoff_base_secs
  const ttl = given.ttl_abs_secs
  const verification = given.verification
  return {
    ...base,
    queue: {
      ...queue,
      batchSize: given.batch_size ?? queue.batchSize,
      ackTimeoutMs: given.ack_timeout_ms ?? queue.ackTimeoutMs,
      starvationK: given.starvation_k ?? queue.starvationK,
      lease: {
        ...queue.lease,
        ...(lease && { aiSecs: lease.ai, quantumSecs: lease.quantum }),
        ...decimal('renewAlpha', given.renew_alpha),
        ...decimal('renewBeta', given.renew_beta),
        renewalsMax: given.renewals_max ?? queue.lease.renewalsMax,
      },
      retries: {
        ...queue.retries,
        ...(backoff && {
          baseBackoffAiSecs: backoff.ai,
          baseBackoffQuantumSecs: backoff.quantum,
        }),
        attemptMax: given.attempt_max ?? queue.retries.attemptMax,
        backoffCapSecs: given.backoff_cap_secs ?? queue.retries.backoffCapSecs,
      },
      quotas: {
        ...queue.quotas,
        ...(units && { aiUnitsPerEpoch: units.ai, quantumUnitsPerEpoch: units.quantum }),
        leasesMaxPerProvider: given.leases_max_per_provider ?? queue.quotas.leasesMaxPerProvider,
        epochSecs: given.epoch_secs ?? queue.quotas.epochSecs,
        requesterWindow: given.requester_window ?? queue.quotas.requesterWindow,
      },
      ttl: {
        ...queue.ttl,
        ...(ttl && { absDefaultAiSecs: ttl.ai, absDefaultQuantumSecs: ttl.quantum }),
        relMaxSecs: given.ttl_rel_max_secs ?? queue.ttl.relMaxSecs,
        gcHorizonSecs: given.gc_horizon_secs ?? queue.ttl.gcHorizonSecs,
      },
      completion: {
        ...queue.completion,
        ...(verification && {
          aiVerification: verification.ai,
          quantumVerification: verification.quantum,
        }),
        proofTimeoutSecs: given.proof_timeout_secs ?? queue.completion.proofTimeoutSecs,
      },
    },
    priority: given.priority ? priorityPolicy(given.priority) : base.priority,
    match: {
      ...match,
      order: given.match_order ?? match.order,
      tenantWeights: given.tenant_weights ?? match.tenantWeights,
      tierWeights: given.tier_weights ?? match.tierWeights,
    },
    registry: {
      ...registry,
      minStake: given.min_stake ? stakes(given.min_stake) : registry.minStake,
      attestationRequired: { ...registry.attestationRequired, ...given.attestation_required },
      heartbeatTimeoutMs: given.heartbeat_timeout_ms ?? registry.heartbeatTimeoutMs,
      heartbeatIntervalMs: given.heartbeat_interval_ms ?? registry.heartbeatIntervalMs,
      minHealth: given.min_health ?? registry.minHealth,
      cooldownAfter: given.cooldown_after ?? registry.cooldownAfter,
      deniedRegions: given.denied_regions ?? registry.deniedRegions,
      requestersAllow: given.requesters_allow ?? registry.requestersAllow,
      requestersDeny: given.requesters_deny ?? registry.requestersDeny,
    },
  }
}

/** The priority part, read as an operator's file is, with all its checks. */
export function priorityPolicy(given: Json): Policy['priority'] {
  return parsePolicy({ priority: given }, 'fund').priority
}

function decimal(name: string, value: number | undefined): Record<string, number> {
  return value === undefined ? {} : { [name]: Math.round(value * 1_000) }
}

/** What is given replaces the default as a whole: a kind that is not named needs no stake. */
function stakes(given: Json): Policy['registry']['minStake'] {
  const { ai = 0, quantum = 0, task = 0, registration = 0 } = given
  return {
    ai: BigInt(ai),
    quantum: BigInt(quantum),
    task: BigInt(task),
    registration: BigInt(registration),
  }
}
