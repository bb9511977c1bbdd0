import { z } from 'zod'
import { LEASE_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { accepted, leaseCallFields } from '../records/lease-call.ts'
import { list } from '../wire/list.ts'

export const reportProgress = defineMethod({
  name: 'aicf.reportProgress',
  summary: 'Says how far an attempt has come, and logs lines; acks the lease if that was not done.',
  description:
    'At most 10 calls a second for each lease. The last percent and message are stored. Of log lines the newest 1,000 or 64 KiB of an attempt are kept, and a crash may lose the last second of them.',
  roles: ['provider'],
  access: 'write',
  params: z.strictObject({
    ...leaseCallFields,
    percent: z.int().min(0).max(100).optional(),
    message: z.string().max(1_024).optional().describe('at most 1,024 bytes'),
    log: list(z.string(), 100).optional(),
  }),
  result: accepted,
  errors: ['NotFound', 'LeaseNotLive'],
  example: {
    params: { lease_id: LEASE_ID, percent: 40, message: 'page 4 of 10', log: ['page 4 is done'] },
    result: { accepted: true },
  },
})
