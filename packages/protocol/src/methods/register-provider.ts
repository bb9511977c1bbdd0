import { z } from 'zod'
import { ATLAS, PROVIDER } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { offerFields, providerRecord, publicKey } from '../records/provider.ts'
import { providerId } from '../wire/leaves.ts'

export const registerProvider = defineMethod({
  name: 'aicf.registerProvider',
  summary: 'Registers a provider under its name, with what it offers.',
  roles: ['provider', 'operator'],
  access: 'write',
  params: z.strictObject({
    provider_id: providerId,
    ...z.strictObject(offerFields).partial().shape,
    public_key: publicKey.optional(),
  }),
  result: z.strictObject({ provider: providerRecord }),
  errors: ['InvalidState'],
  example: {
    params: { provider_id: ATLAS, kinds: ['ai'], models: ['llama3-8b'], region: 'eu-west' },
    result: { provider: PROVIDER },
  },
})
