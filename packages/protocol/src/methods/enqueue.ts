import { z } from 'zod'
import { AI_PAYLOAD, CALLER, TASK_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { jobReceipt } from '../records/job.ts'
import { askedOptions } from '../records/job-options.ts'
import { bytes32, caller, count, schemaVersion, taskId, u64 } from '../wire/leaves.ts'
import { list } from '../wire/list.ts'
import { payload } from '../wire/payload.ts'

/** No policy allows a job to name more regions, precisions or gates. */
const NAMES_MAX = 1_000

/** Registrations belong to sessions, which come by methods of their own. */
const KINDS = ['ai', 'quantum', 'task'] as const

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

export const enqueue = defineMethod({
  name: 'aicf.enqueue',
  summary: 'Takes a job in; answered once it is durable.',
  description: [
    'The token says who the caller is and which tier it has. With an `idempotency_key` (or a `tx_hash`) the same call again returns the first receipt and adds nothing; with another payload it is refused.',
    'An operator may enqueue what a chain asked for, with `caller`, `tx_hash` and `enqueue_block` of the transaction. Then the `task_id` makes the job unique: one transaction may ask for several.',
  ].join('\n\n'),
  roles: ['requester', 'operator'],
  access: 'write',
  params: z.strictObject({
    schema_version: schemaVersion.optional(),
    kind: z
      .union([z.enum(KINDS), z.literal(0), z.literal(1)], {
        error: `expected one of ${KINDS.join(', ')}`,
      })
      .describe('0 is ai and 1 is quantum, as a chain writes them'),
    payload,
    max_fee_u64: u64.optional(),
    regions: list(z.string(), NAMES_MAX).nullable().optional(),
    precision: z
      .union([z.string(), list(z.string(), NAMES_MAX)])
      .nullable()
      .optional()
      .describe('ai: the precision that the model has to run in, or those that will do'),
    width_hint: count.nullable().optional().describe('quantum: qubits'),
    gates: list(z.string(), NAMES_MAX)
      .nullable()
      .optional()
      .describe('quantum: the gates that the circuit needs'),
    ttl_abs_secs: z.int().nullable().optional(),
    ...askedOptions,
    idempotency_key: z.string().optional(),
    tx_hash: bytes32.optional(),
    caller: caller.optional().describe('an operator may name another than its own'),
    enqueue_block: u64
      .optional()
      .describe('from a chain: the block of the transaction; operators only, with tx_hash'),
    retry_of: taskId.optional().describe('a job that this one takes up again'),
    traceparent: z
      .string()
      .regex(TRACEPARENT, { error: 'expected a W3C traceparent of version 00' })
      .optional()
      .describe('carried with the job to its worker'),
  }),
  result: jobReceipt,
  errors: ['LimitExceeded', 'IdempotencyConflict', 'QueueOverCapacity', 'NotFound'],
  example: {
    params: {
      kind: 'ai',
      payload: AI_PAYLOAD,
      max_fee_u64: 2_500_000,
      idempotency_key: 'order-17',
    },
    result: {
      schema_version: 0,
      task_id: TASK_ID,
      enqueue_block: 1_713_200_000,
      caller: CALLER,
      kind: 'ai',
      max_fee_u64: 2_500_000,
      accepted: true,
    },
  },
})
