import { z } from 'zod'
import { ATLAS, PROVIDER } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { providerRecord } from '../records/provider.ts'
import { providerId, u64 } from '../wire/leaves.ts'

export const getProvider = defineMethod({
  name: 'aicf.getProvider',
  summary: 'A provider, with its workers, its service and its stake.',
  roles: ['provider', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({ provider_id: providerId }),
  result: z.strictObject({
    provider: providerRecord,
    chain_id: u64.describe('chain that its proofs and attestations are bound to'),
  }),
  errors: ['NotFound'],
  example: { params: { provider_id: ATLAS }, result: { provider: PROVIDER, chain_id: 1 } },
})
