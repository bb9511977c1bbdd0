import { KIND_NAMES } from '@fairlead/core'
import { z } from 'zod'
import { AT, CALLER } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { fairness } from '../records/dashboard/fairness.ts'
import { count, timeMs } from '../wire/leaves.ts'

export const statsFairness = defineMethod({
  name: 'stats.fairness',
  summary: 'What each tenant was given against what its weight entitles it to.',
  description:
    'Amounts are units, the cost that fair shares count in. A requester sees its own line, and all others in sum.',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({
    kind: z.enum(KIND_NAMES).optional(),
    limit: z.int().min(1).max(1_000).optional().describe('tenants of a kind; 100 if left out'),
  }),
  result: z.strictObject({
    at: timeMs,
    window_ms: count.describe('units are counted over about this time'),
    kinds: z.array(fairness).describe('kinds with tenants only'),
  }),
  errors: [],
  example: {
    params: { kind: 'ai' },
    result: {
      at: AT,
      window_ms: 60_000,
      kinds: [
        {
          ...{ kind: 'ai', mode: 'tenant', index: 0.98, units: 1_000, tenants_total: 1 },
          ...{ owed: 1, limited: 0, no_demand: 0 },
          tenants: [
            {
              ...{ caller: CALLER, name: 'anna', weight: 1, state: 'owed', held_by: null },
              ...{ ready: 12, units: 400, share_ppm: 400_000, entitled_ppm: 410_000 },
              ...{ lag_units: 3, bound_units: 8 },
            },
          ],
          rest: null,
        },
      ],
    },
  },
})
