import { z } from 'zod'
import { AT, ATLAS, SEED } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { bytes32, providerId, timeMs, u64 } from '../wire/leaves.ts'

export const getChallenge = defineMethod({
  name: 'aicf.getChallenge',
  summary: 'Draws the challenge that the next attestation of a provider has to sign.',
  description: 'A newer challenge replaces it.',
  roles: ['provider', 'operator'],
  access: 'write',
  params: z.strictObject({ provider_id: providerId }),
  result: z.strictObject({
    provider_id: providerId,
    challenge: bytes32,
    expires_at: timeMs,
    chain_id: u64.describe('the signature is over it, too'),
  }),
  errors: ['NotFound'],
  example: {
    params: { provider_id: ATLAS },
    result: { provider_id: ATLAS, challenge: SEED, expires_at: AT + 300_000, chain_id: 1 },
  },
})
