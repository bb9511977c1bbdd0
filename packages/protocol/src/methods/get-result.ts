import { z } from 'zod'
import { RESULT_RECORD, TASK_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { resultRecord } from '../records/job.ts'
import { taskId } from '../wire/leaves.ts'

export const getResult = defineMethod({
  name: 'aicf.getResult',
  summary: 'The result of a completed job; each other state has an error of its own.',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({ task_id: taskId }),
  result: resultRecord,
  errors: ['NotFound', 'NoResultYet', 'JobExpired', 'InvalidState'],
  example: { params: { task_id: TASK_ID }, result: RESULT_RECORD },
})
