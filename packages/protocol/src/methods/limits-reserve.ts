import { RESERVE, RESERVED } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { limitReserve, reserveRecord } from '../records/limit.ts'

export const limitsReserve = defineMethod({
  name: 'limits.reserve',
  summary: 'Holds all that is required, or nothing.',
  description:
    'A refusal is an answer. The same call with the same `lease_id` is answered as the first time, so a call whose answer was lost is made again; after a denial ask with a new one, when `retry_after_ms` is over. In a key `{caller}` stands for the id of whoever calls. A limit of others is unknown.',
  roles: ['requester', 'provider', 'operator'],
  access: 'write',
  params: limitReserve,
  result: reserveRecord,
  errors: [],
  example: { params: RESERVE, result: RESERVED },
})
