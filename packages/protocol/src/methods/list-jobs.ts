import { JOB_STATUSES, KIND_NAMES, WAIT_REASONS } from '@fairlead/core'
import { z } from 'zod'
import { JOB_SUMMARY } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { jobSummary } from '../records/job.ts'
import { caller, name, providerId, timeMs, u64 } from '../wire/leaves.ts'
import { cursor, pageLimit } from '../wire/page.ts'

const PREFIX_EXPECTED = 'expected 0x and 8 to 64 lower-case hex digits'

export const listJobs = defineMethod({
  name: 'aicf.listJobs',
  summary: 'Jobs in the order of their acceptance, or the newest first, a page at a time.',
  description: 'A requester sees its own. Filters are joined by "and".',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({
    status: z.enum(JOB_STATUSES).optional(),
    provider_id: providerId.optional(),
    caller: caller.optional(),
    kind: z.enum(KIND_NAMES).optional(),
    name: name
      .optional()
      .describe('the model of an ai job, the name of a task, the platform of a registration'),
    task_id_prefix: z
      .string({ error: PREFIX_EXPECTED })
      .regex(/^0x[0-9a-f]{8,64}$/, { error: PREFIX_EXPECTED })
      .optional()
      .describe('the first digits of the task_id'),
    tag: name.optional(),
    idempotency_key: name.optional(),
    dedupe_key: name.optional(),
    schedule: name.optional().describe('the id of the schedule that enqueued it'),
    error: name.optional().describe('the code of the last failed attempt'),
    wait_reason: z
      .enum(WAIT_REASONS)
      .optional()
      .describe('jobs that wait, for this reason at this time; a page may be short before the end'),
    since: timeMs.optional().describe('enqueued at this time or later'),
    until: timeMs.optional().describe('enqueued before this time'),
    after_height: u64.optional().describe('enqueued in a later block'),
    order: z.enum(['oldest', 'newest']).optional().describe('which come first; oldest if left out'),
    cursor: cursor.optional().describe('of the page before, in the same order'),
    limit: pageLimit.optional(),
  }),
  result: z.strictObject({ jobs: z.array(jobSummary), cursor: cursor.nullable() }),
  errors: [],
  example: {
    params: { status: 'COMPLETED', kind: 'ai', limit: 1 },
    result: { jobs: [JOB_SUMMARY], cursor: '17' },
  },
})
