import { z } from 'zod'
import { SCHEDULE } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { scheduleRecord } from '../records/schedule.ts'
import { caller } from '../wire/leaves.ts'
import { pageLimit } from '../wire/page.ts'

const cursor = z
  .string()
  .regex(/^0x[0-9a-f]{64} [A-Za-z0-9_.-]{1,64}$/, {
    error: 'expected the cursor of the page before, unchanged',
  })
  .nullable()

export const schedulesList = defineMethod({
  name: 'schedules.list',
  summary: 'Schedules in order of caller and id, a page at a time.',
  description: 'A requester sees its own.',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({
    caller: caller.optional(),
    cursor: cursor.unwrap().optional().describe('of the page before'),
    limit: pageLimit.optional(),
  }),
  result: z.strictObject({ schedules: z.array(scheduleRecord), cursor }),
  errors: [],
  example: { params: { limit: 10 }, result: { schedules: [SCHEDULE], cursor: null } },
})
