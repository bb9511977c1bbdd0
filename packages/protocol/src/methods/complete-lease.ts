import { z } from 'zod'
import { LEASE_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { accepted, leaseCallFields } from '../records/lease-call.ts'
import { bytes, bytes32, count, jsonObject } from '../wire/leaves.ts'

export const completeLease = defineMethod({
  name: 'aicf.completeLease',
  summary: 'Reports that the work of a lease is done.',
  description:
    'With an `output` its digest may be left out. A digest alone is that of an output that is kept elsewhere. With neither the job has no output. The same completion again is answered like the first.',
  roles: ['provider'],
  access: 'write',
  params: z.strictObject({
    ...leaseCallFields,
    output_digest: bytes32.optional().describe('SHA3-256 of the output'),
    output: bytes.optional(),
    content_type: z
      .string()
      .regex(/^[\x20-\x7e]{1,128}$/, {
        error: 'expected a media type of 1 to 128 ASCII characters, as in application/json',
      })
      .optional()
      .describe('media type of the output, at most 128 bytes'),
    meta: jsonObject.optional().describe('anything worth knowing about the result'),
    actual_units: count.optional().describe('what it really took; the estimate stands if left out'),
    actual_tokens: count
      .optional()
      .describe(
        'tokens of prompt and answer, for the limits; what was reserved stands if left out',
      ),
  }),
  result: accepted,
  errors: ['NotFound', 'LeaseNotLive', 'LimitExceeded'],
  example: {
    params: {
      lease_id: LEASE_ID,
      worker_id: 'w-1',
      output: '0x48656c6c6f20796f75',
      content_type: 'text/plain',
    },
    result: { accepted: true },
  },
})
