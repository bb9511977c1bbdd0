import { KIND_NAMES, PROVIDER_STATUSES } from '@fairlead/core'
import { z } from 'zod'
import {
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

export const providerRecord = z
  .strictObject({
    schema_version: schemaVersion,
    provider_id: providerId,
    status: z.enum(PROVIDER_STATUSES),
    ...offerFields,
    stake_u64: u64,
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
