import { z } from 'zod'
import { LEASE_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { accepted, leaseCallFields } from '../records/lease-call.ts'
import { count } from '../wire/leaves.ts'

export const failLease = defineMethod({
  name: 'aicf.failLease',
  summary: 'Reports that the work of a lease could not be done; charged to the job’s retries.',
  description: 'A permanent failure ends the job: no other attempt could succeed.',
  roles: ['provider'],
  params: z.strictObject({
    ...leaseCallFields,
    code: z
      .string()
      .regex(/^[A-Za-z0-9_.-]{1,64}$/, {
        error: 'expected a word of 1 to 64 of A–Z, a–z, 0–9 and ._-',
      })
      .describe('what went wrong, as a word that may be shown to anybody'),
    permanent: z.boolean().optional().describe('false if left out'),
    http: z
      .int()
      .min(100)
      .max(599)
      .optional()
      .describe('registrations: the status that the platform answered with'),
    retry_after_ms: count.optional().describe('registrations: as the platform asked for'),
    is_unknown: z
      .boolean()
      .optional()
      .describe('registrations: the request may have arrived, and no answer came back'),
    is_unsent: z
      .boolean()
      .optional()
      .describe('registrations: the call that can book was not sent; what is open stays open'),
    sent_after_ms: count
      .optional()
      .describe(
        'registrations: how long after the answer to the ack the first call went out; left out if none did',
      ),
    lookup: z
      .enum(['booked', 'not_booked', 'failed'])
      .optional()
      .describe(
        'registrations: what a look at the platform’s bookings found; left out where it is worth another look',
      ),
  }),
  result: accepted,
  errors: ['NotFound', 'LeaseNotLive'],
  example: {
    params: { lease_id: LEASE_ID, worker_id: 'w-1', code: 'out_of_memory' },
    result: { accepted: true },
  },
})
