import { z } from 'zod'
import { ATLAS, PROVIDER } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { providerRecord } from '../records/provider.ts'
import { providerId } from '../wire/leaves.ts'

export const getProvider = defineMethod({
  name: 'aicf.getProvider',
  summary: 'A provider, with its workers.',
  roles: ['provider', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({ provider_id: providerId }),
  result: z.strictObject({ provider: providerRecord }),
  errors: ['NotFound'],
  example: { params: { provider_id: ATLAS }, result: { provider: PROVIDER } },
})
