import { z } from 'zod'
import { AI_PAYLOAD, CALLER, TASK_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { jobReceipt } from '../records/job.ts'
import { bytes32, schemaVersion, taskId, u64 } from '../wire/leaves.ts'
import { payload } from '../wire/payload.ts'

/** Registrations belong to sessions, which come by methods of their own. */
const KINDS = ['ai', 'quantum', 'task'] as const

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

export const enqueue = defineMethod({
  name: 'aicf.enqueue',
  summary: 'Takes a job in; answered once it is durable.',
  description:
    'Who asks and its tier come from the token. With an `idempotency_key` (or the `tx_hash` of a chain) the same call again returns the first receipt and adds nothing; with another payload it is refused.',
  roles: ['requester', 'operator'],
  params: z.strictObject({
    schema_version: schemaVersion.optional(),
    kind: z.enum(KINDS),
    payload,
    max_fee_u64: u64.optional(),
    regions: z.array(z.string()).nullable().optional(),
    ttl_abs_secs: z.int().nullable().optional(),
    idempotency_key: z.string().optional(),
    tx_hash: bytes32.optional(),
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
