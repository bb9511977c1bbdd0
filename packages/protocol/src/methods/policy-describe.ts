import { z } from 'zod'
import { defineMethod } from '../method.ts'
import { setting } from '../records/dashboard/setting.ts'

export const policyDescribe = defineMethod({
  name: 'policy.describe',
  summary: 'Every setting of the policy with its value, its default and its purpose.',
  roles: ['operator', 'auditor'],
  access: 'read',
  params: z.strictObject({
    preset: z
      .enum(['queue', 'fund'])
      .optional()
      .describe('whose defaults are given; the one that is closer to the policy if left out'),
  }),
  result: z.strictObject({ preset: z.enum(['queue', 'fund']), settings: z.array(setting) }),
  errors: [],
  example: {
    params: {},
    result: {
      preset: 'queue',
      settings: [
        {
          path: 'queue.batch_size',
          value: 512,
          default: 256,
          is_default: false,
          expected: 'a whole number from 1 to 100000',
          purpose: 'jobs that one round looks at, per kind',
        },
      ],
    },
  },
})
