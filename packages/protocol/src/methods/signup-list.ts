import { z } from 'zod'
import { REGISTRATION, SESSION_KEY } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { registrationRecord, sessionKeyFields } from '../records/signup.ts'
import { cursor, pageLimit } from '../wire/page.ts'

const { provider, org_ref, event_id } = sessionKeyFields

export const signupList = defineMethod({
  name: 'signup.list',
  summary: 'Registrations in the order in which they were scheduled, with what became of them.',
  description: 'A requester sees its own. Filters are joined by "and".',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({
    provider: provider.optional(),
    org_ref: org_ref.optional(),
    event_id: event_id.optional(),
    cursor: cursor.optional(),
    limit: pageLimit.optional(),
  }),
  result: z.strictObject({
    registrations: z.array(registrationRecord),
    cursor: cursor.nullable(),
  }),
  errors: [],
  example: {
    params: { ...SESSION_KEY, limit: 1 },
    result: { registrations: [REGISTRATION], cursor: '17' },
  },
})
