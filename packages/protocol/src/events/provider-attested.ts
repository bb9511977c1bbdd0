import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, ATLAS, ATTESTATION } from '../examples.ts'
import { bytes32, name, providerId, timeMs } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const providerAttested = defineEvent({
  name: 'providerAttested',
  summary: 'The attestation of a provider was accepted.',
  schema: z.strictObject({
    type: z.literal('providerAttested'),
    ...eventFields,
    providerId,
    class: name,
    hash: bytes32,
    notBefore: timeMs,
    notAfter: timeMs,
  }),
  example: {
    type: 'providerAttested',
    seq: 17,
    at: AT,
    providerId: ATLAS,
    class: ATTESTATION.class,
    hash: ATTESTATION.attestation_hash,
    notBefore: ATTESTATION.not_before,
    notAfter: ATTESTATION.not_after,
  },
})
