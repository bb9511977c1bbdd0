import { BATCH_FORMAT } from '@fairlead/core'
import { z } from 'zod'
import { CLAIM_LINE, EPOCH_ID, LISTED_BATCH, PAYOUT_LINE } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { batchFile } from '../records/settlement.ts'
import { count } from '../wire/leaves.ts'
import { cursor } from '../wire/page.ts'

/** Lines of a page of a settlement, at most. */
export const LINES_MAX = 5_000

export const getSettlement = defineMethod({
  name: 'aicf.getSettlement',
  summary: 'A batch with its lines, in the form of the file that `fairlead settle verify` reads.',
  description:
    'Lines come a page at a time: the claims, then the payouts. The file is the first page with the lines of all pages.',
  roles: ['operator', 'auditor'],
  access: 'read',
  params: z.strictObject({
    epoch_id: count,
    cursor: cursor.optional(),
    limit: z.int().min(1).max(LINES_MAX).optional().describe('lines of a page; 1,000 if left out'),
  }),
  result: z.strictObject({ settlement: batchFile, cursor: cursor.nullable() }),
  errors: ['NotFound'],
  example: {
    params: { epoch_id: EPOCH_ID },
    result: {
      settlement: {
        format: BATCH_FORMAT,
        ...LISTED_BATCH,
        policy: null,
        claims: [CLAIM_LINE],
        payouts: [PAYOUT_LINE],
      },
      cursor: null,
    },
  },
})
