import { z } from 'zod'
import { defineMethod } from '../method.ts'
import { jsonObject } from '../wire/leaves.ts'

export const policySet = defineMethod({
  name: 'policy.set',
  summary: 'Puts a policy in force, as a whole; a wrong one is refused with all its problems.',
  description: 'What is left out is as in the preset (`queue` if left out).',
  roles: ['operator'],
  access: 'write',
  params: z.strictObject({ policy: jsonObject, preset: z.enum(['queue', 'fund']).optional() }),
  result: z.strictObject({ policy: jsonObject }),
  errors: [],
  example: {
    params: { policy: { queue: { batch_size: 512 } } },
    result: { policy: { queue: { batch_size: 512 } } },
  },
})
