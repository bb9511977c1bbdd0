import { JOB_STATUSES } from '@fairlead/core'
import { z } from 'zod'
import { listJobs } from '../methods/list-jobs.ts'
import { count } from '../wire/leaves.ts'

export const operationId = z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, {
  error: 'expected 1 to 64 of A–Z, a–z, 0–9, dot, dash and underscore',
})

/** The params of both methods. */
export const bulkParams = z.strictObject({
  filter: listJobs.params
    .omit({ order: true, cursor: true, limit: true })
    .describe('as for aicf.listJobs; at least one field'),
  dry_run: z.boolean().optional().describe('only count'),
  limit: z.int().min(1).max(1_000_000).optional().describe('the most jobs to touch'),
  operation_id: operationId.optional().describe('the same again is the same operation'),
})

export const bulkResult = z.strictObject({
  operation_id: operationId.nullable().describe('null for a dry run'),
  counts: z
    .array(z.strictObject({ status: z.enum(JOB_STATUSES), matches: count, eligible: count }))
    .nullable()
    .describe('of a dry run: jobs that fit the filter, and those that would be touched'),
})
