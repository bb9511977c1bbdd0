import { defineMethod } from '../method.ts'
import { bulkParams, bulkResult } from '../records/bulk.ts'

export const cancelJobs = defineMethod({
  name: 'aicf.cancelJobs',
  summary: 'Cancels all jobs that fit a filter.',
  description:
    'Answered when the operation has begun; it goes on by itself, through restarts, and tells its progress by events. Jobs that are accepted later are not touched. A requester touches its own jobs only.',
  roles: ['requester', 'operator'],
  access: 'write',
  params: bulkParams,
  result: bulkResult,
  errors: ['LimitExceeded', 'IdempotencyConflict'],
  example: {
    params: { filter: { status: 'QUEUED', kind: 'ai' }, dry_run: true },
    result: {
      operation_id: null,
      counts: [{ status: 'QUEUED', matches: 12, eligible: 12 }],
    },
  },
})
