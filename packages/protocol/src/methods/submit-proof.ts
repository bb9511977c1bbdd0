import { ENVELOPE_BYTES_MAX } from '@fairlead/core'
import { z } from 'zod'
import { CLAIM } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { proofClaim } from '../records/claim.ts'
import { bytesUpTo } from '../wire/leaves.ts'

export const submitProof = defineMethod({
  name: 'aicf.submitProof',
  summary: 'Proves the work of a completed lease; gives the claim.',
  description:
    'Without a chain only. A refused proof changes nothing, and another may be sent until the proof timeout. Failed traps in a signed proof are the exception: they end the attempt. `NullifierReused` means that this work is claimed already.',
  roles: ['provider', 'operator'],
  access: 'write',
  params: z.strictObject({ envelope: bytesUpTo(ENVELOPE_BYTES_MAX) }),
  result: z.strictObject({ claim: proofClaim }),
  errors: ['NotFound', 'InvalidState', 'ClaimMismatch', 'NullifierReused', 'AttestationError'],
  example: { params: { envelope: '0xa3' }, result: { claim: CLAIM } },
})
