import { KIND_NAMES } from '@fairlead/core'
import { z } from 'zod'
import { AT, BLOCKER } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { blocker, change } from '../records/dashboard/blocker.ts'
import { count, timeMs } from '../wire/leaves.ts'

export const statsWaiting = defineMethod({
  name: 'stats.waiting',
  summary: 'Waiting jobs by what holds them up, and the one change that would free the most.',
  description:
    'It comes from memory and costs the same with ten jobs and with a million. A requester sees its own jobs.',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({ kind: z.enum(KIND_NAMES).optional() }),
  result: z.strictObject({
    at: timeMs,
    waiting: count,
    blockers: z.array(blocker).describe('those with the most jobs first, at most 100'),
    rest: z
      .strictObject({ blockers: count, jobs: count })
      .nullable()
      .describe('what is not listed, in sum'),
    sampled: count
      .nullable()
      .describe('the counts by blocker are from so many groups of jobs; null: from all'),
    change: change.nullable().describe('the one that would let the most jobs go'),
  }),
  errors: [],
  example: {
    params: {},
    result: {
      at: AT,
      waiting: 12,
      blockers: [BLOCKER],
      rest: null,
      sampled: null,
      change: BLOCKER.change,
    },
  },
})
