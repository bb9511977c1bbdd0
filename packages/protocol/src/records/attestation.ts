import { z } from 'zod'
import { bytes32, name, timeMs } from '../wire/leaves.ts'

/** The accepted word of a hardware maker for a provider (ATTEST-1). */
export const attestation = z
  .strictObject({
    class: name,
    attestation_hash: bytes32,
    not_before: timeMs,
    not_after: timeMs,
  })
  .meta({ id: 'Attestation' })

export type AttestationRecord = z.output<typeof attestation>
