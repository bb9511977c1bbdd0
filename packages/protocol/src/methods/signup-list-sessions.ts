import { z } from 'zod'
import { SESSION, SESSION_KEY } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { sessionKeyFields, sessionRecord } from '../records/signup.ts'

const { provider, org_ref } = sessionKeyFields

export const signupListSessions = defineMethod({
  name: 'signup.listSessions',
  summary: 'Sessions in the order of their opening, with how many are in each.',
  description: 'A requester sees those in which it has somebody.',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({ provider: provider.optional(), org_ref: org_ref.optional() }),
  result: z.strictObject({ sessions: z.array(sessionRecord) }),
  errors: [],
  example: {
    params: { provider: SESSION_KEY.provider },
    result: { sessions: [SESSION] },
  },
})
