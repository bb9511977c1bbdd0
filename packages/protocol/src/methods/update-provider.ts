import { z } from 'zod'
import { ATLAS, PROVIDER } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { offerFields, providerRecord } from '../records/provider.ts'
import { providerId } from '../wire/leaves.ts'

export const updateProvider = defineMethod({
  name: 'aicf.updateProvider',
  summary: 'Changes what a provider offers; what is left out stays.',
  description: 'Leases over a lowered number are cancelled, the newest first.',
  roles: ['provider', 'operator'],
  access: 'write',
  params: z.strictObject({
    provider_id: providerId,
    ...z.strictObject(offerFields).partial().shape,
  }),
  result: z.strictObject({ provider: providerRecord }),
  errors: ['NotFound'],
  example: {
    params: { provider_id: ATLAS, leases_max: 8 },
    result: { provider: PROVIDER },
  },
})
