import { z } from 'zod'
import { DISPATCH_KEY, SESSION, SESSION_ENTRY, SESSION_KEY } from '../examples.ts'
import { defineMethod } from '../method.ts'
import {
  dispatchKeyRecord,
  sessionEntry,
  sessionKeyFields,
  sessionRecord,
} from '../records/signup.ts'
import { count } from '../wire/leaves.ts'
import { pageLimit } from '../wire/page.ts'

export const signupGetSession = defineMethod({
  name: 'signup.getSession',
  summary: 'A session: its queue with ranks, and what its organisation may send.',
  description:
    'A requester sees its own entries, with their places among all; of others it gets counts only.',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({
    ...sessionKeyFields,
    after_place: count.optional().describe('entries behind this place'),
    limit: pageLimit.optional(),
  }),
  result: z.strictObject({
    session: sessionRecord,
    queue: z.array(sessionEntry).describe('those that have not ended, in order'),
    others: count.describe('entries that belong to other requesters and are not shown'),
    dispatch_key: dispatchKeyRecord,
    order: z.string().describe('how the order is made, for whoever asks'),
  }),
  errors: ['NotFound'],
  example: {
    params: SESSION_KEY,
    result: {
      session: SESSION,
      queue: [SESSION_ENTRY],
      others: 2,
      dispatch_key: DISPATCH_KEY,
      order: 'We attempt queued registrations in the order they were scheduled.',
    },
  },
})
