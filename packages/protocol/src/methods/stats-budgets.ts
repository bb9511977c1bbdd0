import { z } from 'zod'
import { AT, BUDGET } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { budget } from '../records/dashboard/budget.ts'
import { limitText } from '../records/limit.ts'
import { timeMs } from '../wire/leaves.ts'
import { pageLimit } from '../wire/page.ts'

export const statsBudgets = defineMethod({
  name: 'stats.budgets',
  summary: 'Limits in order of key: used, reserved and free, by whom, and until when.',
  description:
    'The figures are the counters that enforce the limits. A requester sees the limits that it may reserve on, and of their holders itself.',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({
    cursor: limitText.optional().describe('the cursor of the page before'),
    limit: pageLimit.optional(),
  }),
  result: z.strictObject({
    at: timeMs,
    budgets: z.array(budget),
    cursor: limitText.nullable(),
  }),
  errors: [],
  example: { params: { limit: 10 }, result: { at: AT, budgets: [BUDGET], cursor: null } },
})
