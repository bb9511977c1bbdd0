import { z } from 'zod'
import { EPOCH_ID, LISTED_BATCH } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { listedBatch } from '../records/settlement.ts'
import { count } from '../wire/leaves.ts'

export const closeEpoch = defineMethod({
  name: 'aicf.closeEpoch',
  summary: 'Closes an epoch that has ended; gives its batch, or null if nothing happened in it.',
  description:
    'The engine closes each epoch by itself. An epoch that was closed before answers with its batch, and changes nothing.',
  roles: ['operator'],
  access: 'write',
  params: z.strictObject({ epoch_id: count }),
  result: z.strictObject({ settlement: listedBatch.nullable() }),
  errors: ['InvalidState'],
  example: { params: { epoch_id: EPOCH_ID }, result: { settlement: LISTED_BATCH } },
})
