import { z } from 'zod'
import { AT, TASK_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { count, taskId, timeMs } from '../wire/leaves.ts'

export const getLogs = defineMethod({
  name: 'aicf.getLogs',
  summary:
    'The log lines of the attempts of a job and how far each came, the oldest attempt first.',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({
    task_id: taskId,
    attempt: count.optional().describe('all if left out'),
  }),
  result: z.strictObject({
    task_id: taskId,
    attempts: z.array(
      z.strictObject({
        attempt: count,
        dropped: count.describe('older lines that are gone'),
        lines: z.array(z.strictObject({ at: timeMs, text: z.string() })),
        progress: z
          .strictObject({ percent: count.nullable(), message: z.string().nullable(), at: timeMs })
          .nullable()
          .describe('as the worker said last'),
      }),
    ),
  }),
  errors: ['NotFound'],
  example: {
    params: { task_id: TASK_ID },
    result: {
      task_id: TASK_ID,
      attempts: [
        {
          attempt: 0,
          dropped: 0,
          lines: [{ at: AT, text: 'page 4 is done' }],
          progress: { percent: 40, message: 'page 4 of 10', at: AT },
        },
      ],
    },
  },
})
