import { z } from 'zod'
import { RESERVE, RESERVED } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { batchOf, limitReserve, reserveRecord } from '../records/limit.ts'
import { checkedLater } from '../wire/checked-later.ts'

export const limitsReserveMany = defineMethod({
  name: 'limits.reserveMany',
  summary: 'Up to 256 reserves, each decided for itself, in order.',
  description:
    'One that is malformed is answered with `invalid_request` in its place, and hinders no other.',
  roles: ['requester', 'provider', 'operator'],
  access: 'write',
  params: z.strictObject({ requests: batchOf(checkedLater(limitReserve)) }),
  result: z.strictObject({ results: z.array(reserveRecord) }),
  errors: [],
  example: { params: { requests: [RESERVE] }, result: { results: [RESERVED] } },
})
