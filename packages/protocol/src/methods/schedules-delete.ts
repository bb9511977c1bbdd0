import { z } from 'zod'
import { SCHEDULE } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { scheduleId, scheduleOwner } from '../records/schedule.ts'

export const schedulesDelete = defineMethod({
  name: 'schedules.delete',
  summary: 'Deletes a schedule. Jobs that it has enqueued stay.',
  roles: ['requester', 'operator'],
  access: 'write',
  params: z.strictObject({ id: scheduleId, caller: scheduleOwner }),
  result: z.strictObject({ deleted: z.boolean().describe('false: there was none') }),
  errors: [],
  example: { params: { id: SCHEDULE.id }, result: { deleted: true } },
})
