import { z } from 'zod'
import { AT, DIGEST } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { auditHead } from '../records/audit.ts'
import { count, timeMs } from '../wire/leaves.ts'

export const auditPrune = defineMethod({
  name: 'audit.prune',
  summary: 'Deletes old entries of the audit log; export them first.',
  description:
    'Entries from before a time, except those that `journal.keep_secs` and `journal.keep_entries` of the policy keep. The answer has the last entry that is gone: what is left is verified from there on, and so is an export that ends with it. Events up to it cannot be replayed any more.',
  roles: [],
  access: 'write',
  params: z.strictObject({ before: timeMs }),
  result: z.strictObject({
    deleted: count,
    head: auditHead.describe('the last entry that is gone'),
  }),
  errors: [],
  example: {
    params: { before: AT },
    result: { deleted: 16, head: { seq: 16, hash: DIGEST } },
  },
})
