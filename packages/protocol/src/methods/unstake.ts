import { z } from 'zod'
import { AT, ATLAS } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { amount, providerId, timeMs, u64 } from '../wire/leaves.ts'

export const unstake = defineMethod({
  name: 'aicf.unstake',
  summary: 'Takes stake out. It counts no longer, and is paid by the first close after its delay.',
  description: 'Until it is paid it can be slashed.',
  roles: ['provider', 'operator'],
  access: 'write',
  params: z.strictObject({ provider_id: providerId, amount_u64: amount }),
  result: z.strictObject({
    provider_id: providerId,
    stake_u64: u64.describe('the stake that is left'),
    matures_at: timeMs,
  }),
  errors: ['NotFound', 'InsufficientStake'],
  example: {
    params: { provider_id: ATLAS, amount_u64: 5_000 },
    result: { provider_id: ATLAS, stake_u64: 15_000, matures_at: AT + 86_400_000 },
  },
})
