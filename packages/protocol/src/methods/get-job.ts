import { JOB_STATUSES } from '@fairlead/core'
import { z } from 'zod'
import { JOB_RECORD, RESULT_RECORD, TASK_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { jobRecord, resultRecord } from '../records/job.ts'
import { taskId } from '../wire/leaves.ts'

export const getJob = defineMethod({
  name: 'aicf.getJob',
  summary: 'A job, with its result if it has one.',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({ task_id: taskId }),
  result: z.strictObject({
    task_id: taskId,
    status: z.enum(JOB_STATUSES),
    job: jobRecord,
    result: resultRecord.nullable(),
  }),
  errors: ['NotFound'],
  example: {
    params: { task_id: TASK_ID },
    result: { task_id: TASK_ID, status: 'COMPLETED', job: JOB_RECORD, result: RESULT_RECORD },
  },
})
