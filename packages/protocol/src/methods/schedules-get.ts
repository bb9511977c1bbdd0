import { z } from 'zod'
import { SCHEDULE } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { scheduleId, scheduleOwner, scheduleRecord } from '../records/schedule.ts'

export const schedulesGet = defineMethod({
  name: 'schedules.get',
  summary: 'One schedule, with its next time and its last job.',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({ id: scheduleId, caller: scheduleOwner }),
  result: z.strictObject({ schedule: scheduleRecord }),
  errors: ['NotFound'],
  example: { params: { id: SCHEDULE.id }, result: { schedule: SCHEDULE } },
})
