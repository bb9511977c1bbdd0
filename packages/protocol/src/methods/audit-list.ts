import { z } from 'zod'
import { AUDIT_ENTRY } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { auditEntry } from '../records/audit.ts'
import { count } from '../wire/leaves.ts'
import { cursor, pageLimit } from '../wire/page.ts'

export const auditList = defineMethod({
  name: 'audit.list',
  summary: 'Entries of the audit log, the oldest or the newest first, a page at a time.',
  roles: ['operator', 'auditor'],
  access: 'read',
  params: z.strictObject({
    after_seq: count.optional().describe('entries after this number only'),
    order: z.enum(['oldest', 'newest']).optional().describe('which come first; oldest if left out'),
    cursor: cursor.optional().describe('of the page before, in the same order'),
    limit: pageLimit.optional(),
  }),
  result: z.strictObject({ entries: z.array(auditEntry), cursor: cursor.nullable() }),
  errors: [],
  example: {
    params: { after_seq: 16, limit: 1 },
    result: { entries: [AUDIT_ENTRY], cursor: '17' },
  },
})
