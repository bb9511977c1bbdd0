import { z } from 'zod'
import { LIMIT } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { limitText } from '../records/limit.ts'

export const limitsDelete = defineMethod({
  name: 'limits.delete',
  summary: 'Deletes a limit.',
  description:
    'Reserves on its key are refused from then on. Leases that hold of it are completed like any other.',
  roles: ['operator'],
  access: 'write',
  params: z.strictObject({ key: limitText }),
  result: z.strictObject({ key: limitText }),
  errors: ['NotFound'],
  example: { params: { key: LIMIT.key }, result: { key: LIMIT.key } },
})
