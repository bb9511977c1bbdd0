import { z } from 'zod'
import { AT, ATLAS } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { name, signed, timeMs, u64 } from '../wire/leaves.ts'

export const getBalance = defineMethod({
  name: 'aicf.getBalance',
  summary: 'An account of the fund: what it has, and what is on its way to it.',
  description:
    'A provider sees its own account. Others are `miner:` and a name, `fund`, and the two that may be below 0: `issuance` and `external`.',
  roles: ['provider', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({
    account: name.optional().describe('left out: the provider of the token'),
  }),
  result: z.strictObject({
    account: name,
    available: signed,
    stake: u64,
    unstaking: z.array(z.strictObject({ amount: u64, matures_at: timeMs })),
    due: u64.describe('what its claims are worth that are not paid yet, before the split'),
  }),
  errors: [],
  example: {
    params: { account: ATLAS },
    result: {
      account: ATLAS,
      available: 2_860,
      stake: 15_000,
      unstaking: [{ amount: 5_000, matures_at: AT + 86_400_000 }],
      due: 1_100,
    },
  },
})
