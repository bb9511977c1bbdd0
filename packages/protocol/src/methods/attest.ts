import { CERTIFICATE_BYTES_MAX, CERTIFICATES_MAX } from '@fairlead/core/internal'
import { z } from 'zod'
import { ATLAS, ATTESTATION } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { attestation } from '../records/attestation.ts'
import { bytesUpTo, name, providerId } from '../wire/leaves.ts'
import { list } from '../wire/list.ts'

export const attest = defineMethod({
  name: 'aicf.attest',
  summary: 'Gives a provider the attestation of a class of hardware.',
  description:
    'It answers the challenge of `aicf.getChallenge`, and uses it up if it is accepted. `AttestationError` names the first check that failed in `details.reason`.',
  roles: ['provider', 'operator'],
  access: 'write',
  params: z.strictObject({
    provider_id: providerId,
    class: name.describe('a class of registry.attestation_classes'),
    chain: list(bytesUpTo(CERTIFICATE_BYTES_MAX), CERTIFICATES_MAX)
      .min(1)
      .describe('X.509 certificates in DER, leaf first and root last'),
    signature: bytesUpTo(64).describe("by the leaf's key over the challenge"),
  }),
  result: z.strictObject({ provider_id: providerId, attestation }),
  errors: ['NotFound', 'AttestationError'],
  example: {
    params: { provider_id: ATLAS, class: 'enclave', chain: ['0x3082'], signature: '0x00' },
    result: { provider_id: ATLAS, attestation: ATTESTATION },
  },
})
