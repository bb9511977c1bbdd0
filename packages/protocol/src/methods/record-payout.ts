import { z } from 'zod'
import { ATLAS } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { amount, name, u64 } from '../wire/leaves.ts'

export const recordPayout = defineMethod({
  name: 'aicf.recordPayout',
  summary: 'Records money that was paid out elsewhere; gives what the account has left.',
  description:
    'The same reference again with the same account and amount is answered like the first. With others it is `IdempotencyConflict`.',
  roles: ['operator'],
  access: 'write',
  params: z.strictObject({
    account: name.describe('of a provider, a miner or the fund'),
    amount,
    reference: name.describe('1 to 128 bytes: names this payout, such as the number of a transfer'),
  }),
  result: z.strictObject({ account: name, available: u64 }),
  errors: ['InvalidState', 'IdempotencyConflict'],
  example: {
    params: { account: ATLAS, amount: 2_000, reference: 'transfer-2026-0017' },
    result: { account: ATLAS, available: 860 },
  },
})
