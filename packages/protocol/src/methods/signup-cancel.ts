import { JOB_STATUSES } from '@fairlead/core'
import { z } from 'zod'
import { REFERENCE, TASK_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { reference, registrationId } from '../records/signup.ts'
import { taskId } from '../wire/leaves.ts'

export const signupCancel = defineMethod({
  name: 'signup.cancel',
  summary: 'Takes a registration out of its line.',
  description:
    'One whose attempt is under way may have been booked: then the cancel is noted and applied when the outcome is known, and a booking stands. One that has ended with an unknown outcome keeps its place until it is cancelled, by somebody who has asked the site and knows that it did not book.',
  roles: ['requester', 'operator'],
  access: 'write',
  params: z.strictObject({ id: registrationId }),
  result: z.strictObject({
    reference,
    task_id: taskId,
    status: z.enum(JOB_STATUSES),
    is_noted: z
      .boolean()
      .describe('it is cancelled when its outcome is known, unless it is booked'),
  }),
  errors: ['NotFound', 'InvalidState'],
  example: {
    params: { id: REFERENCE },
    result: { reference: REFERENCE, task_id: TASK_ID, status: 'CANCELED', is_noted: false },
  },
})
