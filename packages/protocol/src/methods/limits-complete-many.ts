import { z } from 'zod'
import { COMPLETE, COMPLETED } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { batchOf, completeRecord, limitComplete } from '../records/limit.ts'
import { checkedLater } from '../wire/checked-later.ts'

export const limitsCompleteMany = defineMethod({
  name: 'limits.completeMany',
  summary: 'Up to 256 completes, in order.',
  description:
    'One that is malformed is answered with `invalid_request` in its place, and hinders no other.',
  roles: ['requester', 'provider', 'operator'],
  access: 'write',
  params: z.strictObject({ requests: batchOf(checkedLater(limitComplete)) }),
  result: z.strictObject({ results: z.array(completeRecord) }),
  errors: [],
  example: { params: { requests: [COMPLETE] }, result: { results: [COMPLETED] } },
})
