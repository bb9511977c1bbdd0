import { z } from 'zod'
import { defineMethod } from '../method.ts'
import { jsonObject } from '../wire/leaves.ts'

export const policyGet = defineMethod({
  name: 'policy.get',
  summary: 'All settings of the policy in force, nested as in fairlead.yaml.',
  roles: ['operator', 'auditor'],
  access: 'read',
  params: z.strictObject({}),
  result: z.strictObject({ policy: jsonObject }),
  errors: [],
  example: { params: {}, result: { policy: { queue: { batch_size: 256 } } } },
})
