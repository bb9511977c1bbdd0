import { z } from 'zod'
import { ATLAS, PROVIDER } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { offerFields, providerRecord, publicKey } from '../records/provider.ts'
import { providerId } from '../wire/leaves.ts'

export const updateProvider = defineMethod({
  name: 'aicf.updateProvider',
  summary: 'Changes what a provider offers; what is left out stays.',
  description:
    'Leases over a lowered number are cancelled, the newest first. A key is given or replaced by an operator only, and its attestation ends with it.',
  roles: ['provider', 'operator'],
  access: 'write',
  params: z.strictObject({
    provider_id: providerId,
    ...z.strictObject(offerFields).partial().shape,
    public_key: publicKey.optional(),
  }),
  result: z.strictObject({ provider: providerRecord }),
  errors: ['NotFound'],
  example: {
    params: { provider_id: ATLAS, leases_max: 8 },
    result: { provider: PROVIDER },
  },
})
