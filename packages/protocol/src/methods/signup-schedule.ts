import { z } from 'zod'
import { AT, REFERENCE, SESSION_KEY, TASK_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { opensAt, reference, sessionKeyFields } from '../records/signup.ts'
import { count, jsonObject, name, taskId, timeMs } from '../wire/leaves.ts'

export const signupSchedule = defineMethod({
  name: 'signup.schedule',
  summary: 'Puts somebody into the line for a session; answered once it is durable.',
  description:
    'A session opens at one time: that of an operator, else that of its first registration; only operators may name another one. A time in the past is for a session that is open. Somebody who has a place in the session is refused with `IdempotencyConflict` and its reference. With an `idempotency_key` the same call again gives the first answer.',
  roles: ['requester', 'operator'],
  access: 'write',
  params: z.strictObject({
    ...sessionKeyFields,
    user_id: name.describe('who is registered; one place in a session each'),
    opens_at: opensAt,
    args: jsonObject
      .optional()
      .describe('what the site wants to know; stored encrypted where the server has a key for it'),
    program_name: name
      .optional()
      .describe('what texts call the session; kept among the args under this name'),
    idempotency_key: z.string().optional(),
  }),
  result: z.strictObject({
    reference,
    task_id: taskId,
    opens_at: timeMs,
    place: count.describe('in the line so far, from 1; 0 if it has ended already'),
    of: count,
    confirmation: z.string().describe('for the person that it is about'),
    next: z.string().describe('what happens next, in a sentence or two'),
  }),
  errors: ['LimitExceeded', 'IdempotencyConflict', 'QueueOverCapacity'],
  example: {
    params: {
      ...SESSION_KEY,
      user_id: 'user-17',
      opens_at: AT,
      args: { child: 'Kim' },
      program_name: 'Swimming for beginners',
    },
    result: {
      reference: REFERENCE,
      task_id: TASK_ID,
      opens_at: AT,
      place: 3,
      of: 3,
      confirmation:
        "You're queued for Swimming for beginners at 2024-04-15T16:55:23.000Z. Your reference is SCH-7F3K2Q.",
      next: 'It opens at 2024-04-15T16:55:23.000Z. Two are before you so far.',
    },
  },
})
