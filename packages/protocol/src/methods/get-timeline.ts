import { z } from 'zod'
import { AT, ATLAS, AUDIT_ENTRY, TASK_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { auditEntry } from '../records/audit.ts'
import { span } from '../records/dashboard/span.ts'
import { attemptError } from '../records/job.ts'
import { taskId, timeMs } from '../wire/leaves.ts'

export const getTimeline = defineMethod({
  name: 'aicf.getTimeline',
  summary: 'All that happened to a job, oldest first.',
  description:
    'The entries are those of the audit log, which has codes only; `errors` has what was said of each failure.',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({ task_id: taskId }),
  result: z.strictObject({
    task_id: taskId,
    entries: z.array(auditEntry),
    at: timeMs.describe('the time up to which open spans are measured'),
    spans: z.array(span).describe('the same as stretches of time, the first first'),
    errors: z.array(attemptError).describe('of the newest attempts that failed, oldest first'),
  }),
  errors: ['NotFound'],
  example: {
    params: { task_id: TASK_ID },
    result: {
      task_id: TASK_ID,
      entries: [AUDIT_ENTRY],
      at: AT + 250,
      spans: [
        {
          ...{ what: 'running', reason: null, attempt: 0, provider_id: ATLAS },
          ...{ from: AT, to: null, ms: 250, ended: null, code: null },
        },
      ],
      errors: [],
    },
  },
})
