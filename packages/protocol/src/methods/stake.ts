import { z } from 'zod'
import { ATLAS } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { amount, providerId, u64 } from '../wire/leaves.ts'

export const stake = defineMethod({
  name: 'aicf.stake',
  summary: 'Adds to the stake of a provider; gives the new one.',
  roles: ['operator'],
  access: 'write',
  params: z.strictObject({ provider_id: providerId, amount_u64: amount }),
  result: z.strictObject({ provider_id: providerId, stake_u64: u64 }),
  errors: ['NotFound', 'LimitExceeded'],
  example: {
    params: { provider_id: ATLAS, amount_u64: 10_000 },
    result: { provider_id: ATLAS, stake_u64: 10_000 },
  },
})
