import { z } from 'zod'
import { LEASE_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { accepted, leaseCallFields } from '../records/lease-call.ts'
import { count, jsonObject } from '../wire/leaves.ts'

export const failLease = defineMethod({
  name: 'aicf.failLease',
  summary: 'Reports that the work of a lease could not be done; charged to the job’s retries.',
  description: [
    'A permanent failure ends the job: no other attempt could succeed.',
    'Code, message and details are kept with the attempt, for the last 10 attempts of a job. They are shown to everyone who may read the job. A message is cut at 4 KiB. Details of more than 16 KiB as CBOR become `{truncated, bytes}`. A registration keeps its code only.',
  ].join('\n\n'),
  roles: ['provider'],
  access: 'write',
  params: z.strictObject({
    ...leaseCallFields,
    code: z
      .string()
      .optional()
      .describe(
        'kind of failure; kept as at most 64 of a–z, 0–9 and _.- (any other becomes _); `error` if left out',
      ),
    message: z.string().optional().describe('what went wrong, for people'),
    details: jsonObject.optional().describe('anything that helps: a stack, a status'),
    permanent: z.boolean().optional().describe('false if left out'),
    retry_after_ms: count
      .optional()
      .describe('not to be tried again before then; at most 24 h counts'),
    http: z
      .int()
      .min(100)
      .max(599)
      .optional()
      .describe('registrations: the status that the platform answered with'),
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
    params: {
      lease_id: LEASE_ID,
      worker_id: 'w-1',
      code: 'out_of_memory',
      message: 'CUDA out of memory: 2.5 GiB wanted, 1.1 GiB free',
      details: { exit_code: 137 },
    },
    result: { accepted: true },
  },
})
