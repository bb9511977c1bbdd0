import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, BATCH, DIGEST, EPOCH_ID } from '../examples.ts'
import { bytes32, count, json } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const epochSettled = defineEvent({
  name: 'epochSettled',
  summary: 'An epoch was closed with a batch.',
  schema: z.strictObject({
    type: z.literal('epochSettled'),
    ...eventFields,
    epochId: count,
    batchId: bytes32,
    totals: json.describe('as in the batch'),
  }),
  example: {
    type: 'epochSettled',
    seq: 17,
    at: AT,
    epochId: EPOCH_ID,
    batchId: DIGEST,
    totals: BATCH.totals,
  },
})
