import { PROVIDER_STATUSES } from '@fairlead/core'
import { z } from 'zod'
import { ATLAS, PROVIDER } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { providerRecord } from '../records/provider.ts'
import { providerId } from '../wire/leaves.ts'

export const setProviderStatus = defineMethod({
  name: 'aicf.setProviderStatus',
  summary: 'Sets the status of a provider; who may not work loses its leases.',
  roles: ['operator'],
  access: 'write',
  params: z.strictObject({ provider_id: providerId, status: z.enum(PROVIDER_STATUSES) }),
  result: z.strictObject({ provider: providerRecord }),
  errors: ['NotFound', 'InvalidState'],
  example: { params: { provider_id: ATLAS, status: 'ACTIVE' }, result: { provider: PROVIDER } },
})
