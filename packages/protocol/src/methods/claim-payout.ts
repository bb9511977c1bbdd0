import { PAYOUTS_FORMAT } from '@fairlead/core'
import { z } from 'zod'
import { ATLAS, EPOCH_ID, LISTED_BATCH, PAYOUT_LINE } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { payoutsFile } from '../records/settlement.ts'
import { count, providerId } from '../wire/leaves.ts'
import { cursor } from '../wire/page.ts'
import { LINES_MAX } from './get-settlement.ts'

export const claimPayout = defineMethod({
  name: 'aicf.claimPayout',
  summary: 'The payouts of a provider in a batch, each with its way to the root.',
  description:
    'It is the file that `fairlead settle verify --provider` reads, a page of payouts at a time. It moves no money: a payout is recorded with `aicf.recordPayout`.',
  roles: ['provider', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({
    provider_id: providerId,
    epoch_id: count,
    cursor: cursor.optional(),
    limit: z.int().min(1).max(LINES_MAX).optional().describe('1,000 if left out'),
  }),
  result: z.strictObject({ proof: payoutsFile, cursor: cursor.nullable() }),
  errors: ['NotFound'],
  example: {
    params: { provider_id: ATLAS, epoch_id: EPOCH_ID },
    result: {
      proof: {
        format: PAYOUTS_FORMAT,
        ...LISTED_BATCH,
        provider_id: ATLAS,
        payouts: [{ line: PAYOUT_LINE, siblings: [] }],
      },
      cursor: null,
    },
  },
})
