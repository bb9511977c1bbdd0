import { defineMethod } from '../method.ts'
import { bulkParams, bulkResult } from '../records/bulk.ts'

export const retryJobs = defineMethod({
  name: 'aicf.retryJobs',
  summary: 'Enqueues again all jobs that fit a filter and ended otherwise than COMPLETED.',
  description:
    'Answered when the operation has begun; it goes on by itself, through restarts, and tells its progress by events. Each new job has the same caller and options, fresh attempts, and `retry_of`. A registration whose outcome is unknown or whose payload was erased is left alone. A requester touches its own jobs only.',
  roles: ['requester', 'operator'],
  access: 'write',
  params: bulkParams,
  result: bulkResult,
  errors: ['LimitExceeded', 'IdempotencyConflict'],
  example: {
    params: { filter: { status: 'FAILED', kind: 'ai' }, dry_run: true },
    result: {
      operation_id: null,
      counts: [{ status: 'FAILED', matches: 12, eligible: 12 }],
    },
  },
})
