import { JOB_STATUSES } from '@fairlead/core'
import { z } from 'zod'
import { CLAIM, JOB_RECORD, RESULT_RECORD, TASK_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { proofClaim } from '../records/claim.ts'
import { jobRecord, resultRecord } from '../records/job.ts'
import { taskId } from '../wire/leaves.ts'

export const getJob = defineMethod({
  name: 'aicf.getJob',
  summary: 'A job, with its claim and its result if it has them.',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({
    task_id: taskId,
    payload: z.literal(false).optional().describe('false: without payload and output'),
  }),
  result: z.strictObject({
    task_id: taskId,
    status: z.enum(JOB_STATUSES),
    job: jobRecord,
    claim: proofClaim.nullable().describe('its accepted proof, final or not'),
    result: resultRecord.nullable(),
    actions: z
      .array(z.enum(['cancel', 'retry']))
      .describe('what the caller may do with it now: aicf.cancelJob, aicf.retryJobs'),
  }),
  errors: ['NotFound'],
  example: {
    params: { task_id: TASK_ID },
    result: {
      task_id: TASK_ID,
      status: 'COMPLETED',
      job: JOB_RECORD,
      claim: CLAIM,
      result: RESULT_RECORD,
      actions: ['retry'],
    },
  },
})
