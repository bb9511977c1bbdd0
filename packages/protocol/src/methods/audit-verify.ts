import { z } from 'zod'
import { DIGEST } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { auditHead } from '../records/audit.ts'
import { bytes32, count } from '../wire/leaves.ts'

/** The most that one call looks at. */
export const VERIFY_MAX = 100_000

export const auditVerify = defineMethod({
  name: 'audit.verify',
  summary: 'Checks the chain of the audit log, and that it bears out the settled epochs.',
  description:
    'From the first entry that is there, or from a `head` that is trusted. A long log takes several calls: go on from the `head` of the answer until `is_complete`.',
  roles: ['operator', 'auditor'],
  access: 'read',
  params: z.strictObject({
    head: auditHead.optional(),
    limit: z.int().min(1).max(VERIFY_MAX).optional(),
  }),
  result: z.strictObject({
    checked: count,
    broken_seq: count.nullable().describe('null: all that was checked holds'),
    broken_batch: bytes32
      .nullable()
      .describe(
        'the oldest settled epoch whose batch the log does not bear out; null: none, or not looked at yet',
      ),
    head: auditHead.describe('the last entry that holds'),
    is_complete: z.boolean(),
  }),
  errors: ['EventsPruned'],
  example: {
    params: {},
    result: {
      checked: 17,
      broken_seq: null,
      broken_batch: null,
      head: { seq: 17, hash: DIGEST },
      is_complete: true,
    },
  },
})
