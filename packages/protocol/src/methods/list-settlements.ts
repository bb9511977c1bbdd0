import { z } from 'zod'
import { EPOCH_ID, LISTED_BATCH } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { listedBatch } from '../records/settlement.ts'
import { cursor, pageLimit } from '../wire/page.ts'

export const listSettlements = defineMethod({
  name: 'aicf.listSettlements',
  summary: 'The batches of closed epochs, the newest first, a page at a time.',
  description: 'An epoch in which nothing happened has no batch.',
  roles: ['provider', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({ cursor: cursor.optional(), limit: pageLimit.optional() }),
  result: z.strictObject({ settlements: z.array(listedBatch), cursor: cursor.nullable() }),
  errors: [],
  example: {
    params: { limit: 1 },
    result: { settlements: [LISTED_BATCH], cursor: String(EPOCH_ID) },
  },
})
