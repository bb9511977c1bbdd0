import { z } from 'zod'
import { AT, SESSION_KEY } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { opensAt, sessionKeyFields } from '../records/signup.ts'

export const signupSetOpening = defineMethod({
  name: 'signup.setOpening',
  summary: 'Says when a session opens, whatever its registrations say.',
  description:
    'Registrations in line move with it, in the same order, and those that come from then on have to name this time. A session that has opened with somebody in line cannot be moved.',
  roles: ['operator'],
  access: 'write',
  params: z.strictObject({ ...sessionKeyFields, opens_at: opensAt }),
  result: z.strictObject({ ...sessionKeyFields, opens_at: opensAt }),
  errors: ['InvalidState'],
  example: {
    params: { ...SESSION_KEY, opens_at: AT },
    result: { ...SESSION_KEY, opens_at: AT },
  },
})
