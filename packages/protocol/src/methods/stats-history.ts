import { z } from 'zod'
import { AT } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { count, timeMs } from '../wire/leaves.ts'

const series = z.array(count)

export const statsHistory = defineMethod({
  name: 'stats.history',
  summary: 'The last quarter of an hour in steps, for charts.',
  roles: ['operator', 'auditor'],
  access: 'read',
  params: z.strictObject({}),
  result: z.strictObject({
    at: timeMs.describe('the end of the last step'),
    step_ms: count,
    enqueued: series.describe('in each step, the oldest first'),
    assigned: series,
    completed: series,
    failed: series.describe('jobs that ended as FAILED or EXPIRED'),
    requeued: series,
    waiting: series.describe('at the end of each step'),
    running: series.describe('live leases at the end of each step'),
  }),
  errors: [],
  example: {
    params: {},
    result: {
      at: AT,
      step_ms: 5_000,
      enqueued: [8, 9],
      assigned: [7, 8],
      completed: [7, 7],
      failed: [0, 0],
      requeued: [0, 1],
      waiting: [3, 4],
      running: [1, 2],
    },
  },
})
