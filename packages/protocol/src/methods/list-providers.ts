import { PROVIDER_STATUSES } from '@fairlead/core'
import { z } from 'zod'
import { PROVIDER } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { providerRecord } from '../records/provider.ts'
import { providerId } from '../wire/leaves.ts'
import { pageLimit } from '../wire/page.ts'

export const listProviders = defineMethod({
  name: 'aicf.listProviders',
  summary: 'Providers in order of id, a page at a time.',
  description: 'A provider sees itself.',
  roles: ['provider', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({
    status: z.enum(PROVIDER_STATUSES).optional(),
    cursor: providerId.optional().describe('the cursor of the page before'),
    limit: pageLimit.optional(),
  }),
  result: z.strictObject({ providers: z.array(providerRecord), cursor: providerId.nullable() }),
  errors: [],
  example: { params: { status: 'ACTIVE' }, result: { providers: [PROVIDER], cursor: null } },
})
