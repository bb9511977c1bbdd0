import { z } from 'zod'
import { LIMIT, LIMIT_RECORD } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { limitRecord, limitText } from '../records/limit.ts'

export const limitsReset = defineMethod({
  name: 'limits.reset',
  summary: 'Frees all that is held of a limit, debts too.',
  description:
    'A bucket is full again. Leases that were reserved until then hold nothing of it any more; they are completed like any other. For a limit that was filled by mistake or in bad faith.',
  roles: ['operator'],
  access: 'write',
  params: z.strictObject({ key: limitText }),
  result: z.strictObject({ limit: limitRecord }),
  errors: ['NotFound'],
  example: { params: { key: LIMIT.key }, result: { limit: LIMIT_RECORD } },
})
