import { z } from 'zod'
import { AT, LEASE, LEASE_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { lease } from '../records/lease.ts'
import { leaseCallFields } from '../records/lease-call.ts'
import { timeMs } from '../wire/leaves.ts'

export const renewLease = defineMethod({
  name: 'aicf.renewLease',
  summary: 'Extends a lease that its provider still holds.',
  description: 'Gives the lease as it is then; while more than its length is left nothing changes.',
  roles: ['provider'],
  access: 'write',
  params: z.strictObject(leaseCallFields),
  result: z.strictObject({ at: timeMs.describe('the time of this answer'), lease }),
  errors: ['NotFound', 'LeaseNotLive', 'InvalidState', 'RenewalsExhausted'],
  example: {
    params: { lease_id: LEASE_ID, worker_id: 'w-1' },
    result: {
      at: AT + 350_000,
      lease: {
        ...LEASE,
        status: 'RENEWED',
        renewals: 1,
        t_deadline: AT + 900_000,
        renew_by: AT + 660_000,
      },
    },
  },
})
