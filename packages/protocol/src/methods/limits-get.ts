import { z } from 'zod'
import { LIMIT, LIMIT_RECORD } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { limitRecord, limitText } from '../records/limit.ts'

export const limitsGet = defineMethod({
  name: 'limits.get',
  summary: 'One limit, with what is held of it.',
  description: 'To requesters and providers a limit on which they may not reserve is unknown.',
  roles: ['requester', 'provider', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({ key: limitText }),
  result: z.strictObject({ limit: limitRecord }),
  errors: ['NotFound'],
  example: { params: { key: LIMIT.key }, result: { limit: LIMIT_RECORD } },
})
