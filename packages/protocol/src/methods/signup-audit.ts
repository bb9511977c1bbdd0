import { z } from 'zod'
import { AT, LEASE_ID, REFERENCE, REGISTRATION } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { registrationId, registrationRecord } from '../records/signup.ts'
import { jsonObject, timeMs } from '../wire/leaves.ts'

export const signupAudit = defineMethod({
  name: 'signup.audit',
  summary: 'All that happened to a registration, oldest first, without personal data.',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({ id: registrationId }),
  result: z.strictObject({
    registration: registrationRecord,
    timeline: z.array(z.strictObject({ at: timeMs, action: z.string(), details: jsonObject })),
  }),
  errors: ['NotFound'],
  example: {
    params: { id: REFERENCE },
    result: {
      registration: REGISTRATION,
      timeline: [
        {
          at: AT + 80,
          action: 'jobStarted',
          details: { leaseId: LEASE_ID },
        },
      ],
    },
  },
})
