import { KIND_NAMES, PROVIDER_STATUSES } from '@fairlead/core'
import { BANDS } from '@fairlead/core/internal'
import { z } from 'zod'
import {
  bytes32,
  caller,
  count,
  name,
  providerId,
  schemaVersion,
  timeMs,
  u64,
  workerId,
} from '../wire/leaves.ts'
import { list } from '../wire/list.ts'
import { attestation } from './attestation.ts'

/** What a provider takes and under which terms. */
export const offerFields = {
  kinds: list(z.enum(KIND_NAMES), KIND_NAMES.length),
  models: list(name, 10_000).describe('models and task names; * is any'),
  platforms: list(name, 10_000).describe('booking sites that it registers people at; * is any'),
  max_depth: count.nullable(),
  max_shots: count.nullable(),
  max_width: count.nullable().describe('qubits; null is no limit'),
  gates: list(name, 10_000).nullable().describe('gates that it can run; null is any'),
  precision: list(name, 1_000)
    .nullable()
    .describe('precisions in which it runs its models; null is any'),
  region: name.nullable(),
  allow: list(caller, 10_000).nullable().describe('the only callers it works for'),
  deny: list(caller, 10_000),
  leases_max: count.nullable(),
}

const worker = z.strictObject({
  worker_id: workerId,
  slots: count,
  leases: count,
  gone_since: timeMs.nullable().describe('null while it is connected'),
})

/** The key with which a provider signs its proofs (PROOF-4). */
export const publicKey = bytes32.nullable().describe('Ed25519 key of its proofs; null: none')

/** Its service for one kind with proofs (SLA-2, SLA-3). */
const service = z.strictObject({
  kind: z.enum(KIND_NAMES),
  band: z.enum(BANDS),
  samples: count.describe('outcomes that count'),
  p95_ms: count.nullable().describe('for each estimated unit; null without a completion'),
  fail_ppm: count,
  availability_ppm: count,
})

export const providerRecord = z
  .strictObject({
    schema_version: schemaVersion,
    provider_id: providerId,
    status: z.enum(PROVIDER_STATUSES),
    ...offerFields,
    stake_u64: u64,
    unstaking: z
      .array(z.strictObject({ amount_u64: u64, matures_at: timeMs }))
      .describe('stake on its way out, the oldest request first'),
    public_key: publicKey,
    attestation: attestation.nullable(),
    service: z.array(service).describe('kinds with proofs only'),
    offence_epochs: z.array(count).describe('epochs in which it was slashed, as far as they count'),
    jailed_until: timeMs.nullable().describe('null also in a jail that only an operator ends'),
    health: z.int().min(0).max(1_000).describe('thousandths'),
    failures: count.describe('in a row'),
    cooldown_until: timeMs.nullable(),
    last_heartbeat: timeMs,
    leases: count.describe('live ones'),
    lease_cap: count.describe('the lowest of the policy, its own word and its workers’ slots'),
    workers: z.array(worker).nullable(),
  })
  .meta({ id: 'ProviderRecord' })

export type ProviderRecord = z.output<typeof providerRecord>
