import { JOB_STATUSES, KIND_NAMES, WAIT_REASONS } from '@fairlead/core'
import { z } from 'zod'
import {
  bytes,
  bytes32,
  caller,
  count,
  json,
  leaseId,
  providerId,
  schemaVersion,
  taskId,
  timeMs,
  timeSecs,
  u64,
} from '../wire/leaves.ts'
import { payload } from '../wire/payload.ts'
import { PROOF_TYPES, qos } from './claim.ts'
import { jobOptions } from './job-options.ts'
import { lease } from './lease.ts'

export const END_REASONS = [
  'ttl_abs',
  'ttl_rel',
  'declined',
  'permanent_error',
  'retries_exhausted',
  'retry_window_exhausted',
  'outcome_unknown',
  'worker_lost',
  'dependency_failed',
] as const

/** Why a job ended; of a registration also the code that its platform gave, or `http_` and its status. */
export const endReason = z
  .string()
  .regex(/^[A-Za-z0-9_.-]{1,64}$/)
  .describe(`one of ${END_REASONS.join(', ')}; of a registration also what its platform said`)

/** Why an attempt failed, as its worker or the engine said it. */
export const attemptError = z
  .strictObject({
    attempt: count,
    at: timeMs,
    code: z.string().describe('what went wrong, in a word'),
    message: z.string().nullable(),
    details: json.describe('what the worker added, such as a stack; or null'),
  })
  .meta({ id: 'AttemptError' })

/** What a requester gets once its job is durable. */
export const jobReceipt = z
  .strictObject({
    schema_version: schemaVersion,
    task_id: taskId,
    enqueue_block: u64,
    caller,
    kind: z.enum(KIND_NAMES),
    max_fee_u64: u64,
    accepted: z.literal(true),
    deduplicated: z
      .literal(true)
      .optional()
      .describe('a live job has the dedupe key: this is its receipt, and nothing was added'),
  })
  .meta({ id: 'JobReceipt' })

const requestFields = {
  caller,
  max_fee_u64: u64,
  tier: z.string(),
  regions: z.array(z.string()).nullable(),
  precision: z.array(z.string()).nullable(),
  width_hint: count,
  gates: z.array(z.string()).nullable(),
  ttl_abs_secs: count.nullable(),
  tx_hash: bytes32,
  chain_id: u64,
  enqueue_block: u64,
  retry_of: taskId.nullable().describe('a job that this one takes up again'),
  traceparent: z.string().nullable(),
  options: jobOptions.nullable().describe('those that were given; null if there are none'),
  schedule: z.string().nullable().describe('the schedule that enqueued it'),
  scheduled_at: timeMs.nullable().describe('the time for which it did; null if triggered'),
}

const ends = {
  completed: timeSecs.nullable(),
  failed: timeSecs.nullable(),
  expired: timeSecs.nullable(),
  canceled: timeSecs.nullable(),
}

const stateFields = {
  schema_version: schemaVersion,
  task_id: taskId,
  kind: z.enum(KIND_NAMES),
  name: z
    .string()
    .nullable()
    .describe('ai: the model; task: its name; registration: the platform; else null'),
  status: z.enum(JOB_STATUSES),
  reason: endReason.nullable(),
  provider_id: providerId.nullable().describe('of the newest attempt'),
  attempt: count.nullable().describe('number of the newest attempt'),
  retries: count.describe('charged failures'),
  declines: count,
  units: count.describe('estimate'),
  not_before: timeMs.nullable(),
}

/** A job in a list: all but its payload and lease. */
export const jobSummary = z
  .strictObject({
    ...stateFields,
    request: z.strictObject(requestFields),
    timestamps: z.strictObject({ enqueued: timeSecs, assigned: timeSecs.nullable(), ...ends }),
  })
  .meta({ id: 'JobSummary' })

export const jobRecord = z
  .strictObject({
    ...stateFields,
    wait_reason: z.enum(WAIT_REASONS).nullable(),
    progress: z
      .strictObject({
        attempt: count,
        percent: count.nullable(),
        message: z.string().nullable(),
        at: timeMs,
      })
      .nullable()
      .describe('as the worker of a live job said last'),
    request: z.strictObject({ ...requestFields, payload }),
    timestamps: z.strictObject({
      enqueued: timeSecs,
      assigned: timeSecs.nullable(),
      started: timeSecs.nullable(),
      ...ends,
    }),
    lease: lease.nullable().describe('of the newest attempt'),
    last_error: z
      .strictObject({
        code: z.string(),
        message: z.string().nullable(),
        attempt: count,
        at: timeMs,
      })
      .nullable(),
    errors: z.array(attemptError).describe('of the newest attempts that failed, oldest first'),
  })
  .meta({ id: 'JobRecord' })

const proofRef = z.strictObject({
  proof_type: z.enum(PROOF_TYPES),
  proof_hash: bytes32,
  nullifier: bytes32,
  block_height: u64,
  tx_hash: bytes32,
})

export const resultRecord = z
  .strictObject({
    schema_version: schemaVersion,
    task_id: taskId,
    kind: z.enum(KIND_NAMES).nullable().describe('null once the job itself has been deleted'),
    provider_id: providerId,
    lease_id: leaseId,
    output_digest: bytes32,
    output: bytes.nullable().describe('null: there is none, or it is kept elsewhere'),
    content_type: z.string().nullable().describe('media type of the output; null: not given'),
    meta: json.describe('what the worker said about its result, or null'),
    units: z.number().describe('proved, or what the worker said, or the estimate'),
    qos: qos.nullable().describe('null without a proof'),
    proof_refs: z.array(proofRef).describe('the proof, if the kind needs one'),
    finalized_height: u64.nullable().describe('null without a proof'),
    completed_at: timeSecs,
  })
  .meta({ id: 'ResultRecord' })

export type JobReceipt = z.output<typeof jobReceipt>
export type AttemptErrorRecord = z.output<typeof attemptError>
export type JobSummary = z.output<typeof jobSummary>
export type JobRecord = z.output<typeof jobRecord>
export type ResultRecord = z.output<typeof resultRecord>
