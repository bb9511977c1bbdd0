import { z } from 'zod'
import { AT, ATLAS } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { count, providerId, timeMs } from '../wire/leaves.ts'

/** Attempts by how they ended. */
const outcomes = z.strictObject({
  assigned: count,
  completed: count,
  failed: count.describe('errors, missed acks and deadlines'),
  declined: count,
  rate_limited: count.describe('failures with code rate_limited, as after a 429'),
})

export const statsProviders = defineMethod({
  name: 'stats.providers',
  summary: 'What became of the attempts of each provider, of late and since the start.',
  description:
    'Everything else about providers is in `aicf.listProviders`. A provider sees itself.',
  roles: ['provider', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({}),
  result: z.strictObject({
    at: timeMs,
    window_ms: count.describe('`recent` is about this long'),
    providers: z
      .array(
        z.strictObject({
          provider_id: providerId,
          leases: count,
          lease_cap: count,
          recent: outcomes,
          total: outcomes,
        }),
      )
      .describe('at most 1,000, those with the most leases first'),
  }),
  errors: [],
  example: {
    params: {},
    result: {
      at: AT,
      window_ms: 60_000,
      providers: [
        {
          ...{ provider_id: ATLAS, leases: 1, lease_cap: 4 },
          recent: { assigned: 9, completed: 7, failed: 1, declined: 0, rate_limited: 1 },
          total: { assigned: 90, completed: 80, failed: 6, declined: 3, rate_limited: 2 },
        },
      ],
    },
  },
})
