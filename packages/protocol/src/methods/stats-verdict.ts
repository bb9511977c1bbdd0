import { z } from 'zod'
import { VERDICT } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { verdict } from '../records/dashboard/verdict.ts'

export const statsVerdict = defineMethod({
  name: 'stats.verdict',
  summary: 'Is it fine, and if not, what holds work up most.',
  description:
    'It comes from memory. Without a newer answer for `valid_ms` nothing is known any more. A requester hears of its own jobs.',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({}),
  result: verdict,
  errors: [],
  example: { params: {}, result: VERDICT },
})
