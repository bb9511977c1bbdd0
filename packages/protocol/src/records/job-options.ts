import {
  ATTEMPTS,
  BACKOFF_FIELDS,
  DEPENDENCIES_MAX,
  ON_DEPENDENCY,
  PRIORITY,
  TAGS_MAX,
  TIMEOUT_MS,
} from '@fairlead/core/internal'
import { z } from 'zod'
import { taskId, timeMs } from '../wire/leaves.ts'
import { list } from '../wire/list.ts'

const within = ({ min, max }: { readonly min: number; readonly max: number }) =>
  z
    .int({ error: `expected a whole number from ${min} to ${max}` })
    .min(min)
    .max(max)

/** How long a job waits after a failed attempt. */
const backoff = z
  .strictObject({
    base_ms: within(BACKOFF_FIELDS.base_ms),
    factor_permille: within(BACKOFF_FIELDS.factor_permille),
    cap_ms: within(BACKOFF_FIELDS.cap_ms),
    jitter_permille: within(BACKOFF_FIELDS.jitter_permille),
  })
  .meta({ id: 'Backoff' })

const tag = z.string().regex(/^[A-Za-z0-9_.:/-]{1,64}$/, {
  error: 'expected 1 to 64 of A–Z, a–z, 0–9 and _ . : / -',
})

/** The options of a job as its record shows them; one that was not given is left out. */
export const jobOptions = z
  .strictObject({
    run_at: timeMs.optional(),
    attempts: within(ATTEMPTS).optional(),
    backoff: backoff.optional(),
    timeout_ms: within(TIMEOUT_MS).optional(),
    priority: within(PRIORITY).optional(),
    tags: z.array(z.string()).optional(),
    dedupe_key: z.string().optional(),
    depends_on: z.array(taskId).optional(),
    on_dependency: z.enum(ON_DEPENDENCY).optional(),
  })
  .meta({ id: 'JobOptions' })

/** The same as they are asked for. */
export const askedOptions = {
  run_at: timeMs
    .nullable()
    .optional()
    .describe('not before this time, at most 366 days ahead; or delay_ms'),
  delay_ms: z.int().min(0).nullable().optional().describe('not before so long after acceptance'),
  attempts: within(ATTEMPTS).nullable().optional().describe('charged failures that end the job'),
  backoff: backoff.nullable().optional().describe('wait after a failed attempt'),
  timeout_ms: within(TIMEOUT_MS)
    .nullable()
    .optional()
    .describe('longest time of an attempt from its ack, renewed or not'),
  priority: within(PRIORITY)
    .nullable()
    .optional()
    .describe('rank among the jobs of the same caller, under match.fairness tenant'),
  tags: list(tag, TAGS_MAX).nullable().optional(),
  dedupe_key: z
    .string()
    .nullable()
    .optional()
    .describe('while a live job of the caller, kind and name has it, that job is the answer'),
  depends_on: list(taskId, DEPENDENCIES_MAX)
    .nullable()
    .optional()
    .describe('own jobs that have to be COMPLETED before'),
  on_dependency: z
    .enum(ON_DEPENDENCY)
    .nullable()
    .optional()
    .describe('if one of them ends otherwise or is unknown; cancel if left out'),
} as const

export type JobOptionsRecord = z.output<typeof jobOptions>
