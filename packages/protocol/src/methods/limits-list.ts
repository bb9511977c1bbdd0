import { z } from 'zod'
import { LIMIT_RECORD } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { limitRecord, limitText } from '../records/limit.ts'
import { pageLimit } from '../wire/page.ts'

export const limitsList = defineMethod({
  name: 'limits.list',
  summary: 'Limits in order of key, with what is held, a page at a time.',
  roles: ['operator', 'auditor'],
  access: 'read',
  params: z.strictObject({
    cursor: limitText.optional().describe('the cursor of the page before'),
    limit: pageLimit.optional(),
  }),
  result: z.strictObject({ limits: z.array(limitRecord), cursor: limitText.nullable() }),
  errors: [],
  example: { params: { limit: 10 }, result: { limits: [LIMIT_RECORD], cursor: null } },
})
