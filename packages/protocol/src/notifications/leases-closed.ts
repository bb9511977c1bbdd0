import { ERRORS, type ErrorCode } from '@fairlead/core'
import { z } from 'zod'
import { defineNotification } from '../event.ts'
import { ATLAS } from '../examples.ts'
import { jsonObject } from '../wire/leaves.ts'
import { workerFields } from './worker-fields.ts'

const codes = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]

export const leasesClosed = defineNotification({
  name: 'leases.closed',
  summary: 'The session of a worker is over. Retryable: open another. Else another took its place.',
  params: z.strictObject({
    ...workerFields,
    error: z.strictObject({
      code: z.enum(codes),
      message: z.string(),
      details: jsonObject,
      retryable: z.boolean(),
    }),
  }),
  example: {
    provider_id: ATLAS,
    worker_id: 'w-1',
    error: {
      code: 'InvalidState',
      message: 'another session of the worker w-1 took this one’s place',
      details: {},
      retryable: false,
    },
  },
})
