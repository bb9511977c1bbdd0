import {
  isTextWithin,
  LIMIT_BATCH_MAX,
  LIMIT_CALLERS_MAX,
  REQUIREMENTS_MAX,
} from '@fairlead/core/internal'
import { z } from 'zod'
import { list } from '../wire/list.ts'

const TEXT_BYTES_MAX = 1_024
const SECS_MAX = 1_000_000_000

/** A key of a limit, or the id of a lease on limits, which its caller makes up. */
export const limitText = z
  .string()
  .min(1)
  .max(256)
  .refine((text) => text.isWellFormed() && isTextWithin(text, 256), {
    error: 'expected well-formed text of 1 to 256 bytes',
  })

const note = z
  .string()
  .max(TEXT_BYTES_MAX)
  .refine((text) => text === '' || (text.isWellFormed() && isTextWithin(text, TEXT_BYTES_MAX)), {
    error: `expected well-formed text of at most ${TEXT_BYTES_MAX} bytes`,
  })

const common = {
  key: limitText,
  overage: z.enum(['debt', 'deny']).optional().describe('of usage above what was reserved; debt'),
  callers: list(limitText, LIMIT_CALLERS_MAX)
    .optional()
    .describe('subjects of the tokens that may reserve on it and read it; all if left out'),
  unit: note.optional().describe('what the amounts count, for people'),
  description: note.optional(),
}
const capacity = z.int().min(1)
const seconds = z.int().min(1).max(SECS_MAX)
const windowed = { ...common, capacity, window_seconds: seconds }

export const limitDefinition = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('rolling'), ...windowed }),
    z.strictObject({ kind: z.literal('fixed'), ...windowed }),
    z.strictObject({
      kind: z.literal('concurrency'),
      ...common,
      capacity,
      timeout_seconds: seconds,
    }),
    z.strictObject({
      kind: z.literal('bucket'),
      ...common,
      burst: z.int().min(1),
      rate: z.number().min(0.001).max(1_000_000_000).describe('a second; at most three decimals'),
    }),
  ])
  .meta({ id: 'LimitDefinition' })

/** Debts have no upper bound: past what is exact in JSON, and in CBOR alike, the digits are text. */
export const exactInt = z.union([z.int(), z.string().regex(/^-?[1-9]\d*$/)])

export const limitRecord = z
  .strictObject({
    definition: limitDefinition,
    state: z.enum(['active', 'decreasing']),
    pending_decrease_to: capacity.nullable().describe('the capacity that waits to act'),
    held: exactInt.nullable().describe('null for a bucket'),
    level_micro: exactInt.nullable().describe('millionths of a token in a bucket, else null'),
  })
  .meta({ id: 'LimitRecord' })

const jobId = note.optional().describe('the caller’s own; nothing is done with it')

export const limitReserve = z.strictObject({
  lease_id: limitText.describe('new for each attempt; the same again after a lost answer'),
  job_id: jobId,
  requirements: list(
    z.strictObject({ key: limitText, amount: z.int().min(1) }),
    REQUIREMENTS_MAX,
  ).min(1),
})

export const limitComplete = z.strictObject({
  lease_id: limitText,
  job_id: jobId,
  actuals: list(z.strictObject({ key: limitText, actual_amount: z.int().min(0) }), REQUIREMENTS_MAX)
    .optional()
    .describe('what was used; a key that is not named stays as reserved'),
})

export const reserveRecord = z
  .strictObject({
    allowed: z.boolean(),
    retry_after_ms: z.int().min(0).describe('0 if asking again would not help'),
    reserved_at_unix_ms: z.int().min(0).nullable(),
    error: z.string().nullable(),
    denied_key: z.string().nullable(),
    detail: z.string().nullable().describe('of an error, for people'),
  })
  .meta({ id: 'ReserveRecord' })

export const completeRecord = z
  .strictObject({
    ok: z.boolean(),
    error: z.string().nullable(),
    detail: z.string().nullable(),
    excess: z
      .array(z.strictObject({ key: limitText, amount: z.int().min(1) }))
      .optional()
      .describe('of actuals past all reason: what was not booked; left out where all was'),
  })
  .meta({ id: 'CompleteRecord' })

/** A batch whose items are answered one by one, also those that are malformed. */
export function batchOf<Item extends z.ZodType>(item: Item) {
  return list(item, LIMIT_BATCH_MAX).min(1)
}

export type LimitDefinition = z.output<typeof limitDefinition>
export type LimitRecord = z.output<typeof limitRecord>
export type LimitReserve = z.input<typeof limitReserve>
export type LimitComplete = z.input<typeof limitComplete>
export type ReserveRecord = z.output<typeof reserveRecord>
export type CompleteRecord = z.output<typeof completeRecord>
