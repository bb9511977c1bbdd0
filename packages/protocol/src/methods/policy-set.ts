import { z } from 'zod'
import { defineMethod } from '../method.ts'
import { settingChange } from '../records/dashboard/setting.ts'
import { jsonObject } from '../wire/leaves.ts'

export const policySet = defineMethod({
  name: 'policy.set',
  summary: 'Puts a policy in force, as a whole; a wrong one is refused with all its problems.',
  description:
    'What is left out is as in the preset (`queue` if left out). `dry_run` only checks it, and tells what it would change.',
  roles: ['operator'],
  access: 'write',
  params: z.strictObject({
    policy: jsonObject,
    preset: z.enum(['queue', 'fund']).optional(),
    dry_run: z.boolean().optional().describe('put nothing in force'),
  }),
  result: z.strictObject({
    policy: jsonObject.describe('all settings, as they are or would be'),
    changes: z.array(settingChange).describe('settings that differ from before'),
  }),
  errors: [],
  example: {
    params: { policy: { queue: { batch_size: 512 } } },
    result: {
      policy: { queue: { batch_size: 512 } },
      changes: [{ path: 'queue.batch_size', from: 256, to: 512 }],
    },
  },
})
