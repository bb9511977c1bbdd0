import { z } from 'zod'
import { AT, ATLAS } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { providerId, timeMs, workerId } from '../wire/leaves.ts'

export const heartbeat = defineMethod({
  name: 'aicf.heartbeat',
  summary: 'Says that a provider is alive; or that a worker takes another number of leases.',
  description:
    'With `slots` it is the word of a worker that is connected by `aicf.pollLeases` with `push` on this socket: it takes so many from now on. 0 before it gives work back.',
  roles: ['provider', 'operator'],
  access: 'write',
  params: z.strictObject({
    provider_id: providerId.optional().describe('left out: the provider of the token'),
    worker_id: workerId.optional(),
    slots: z.int().min(0).max(1_000_000).optional(),
  }),
  result: z.strictObject({ at: timeMs }),
  errors: ['NotFound', 'LimitExceeded', 'InvalidState'],
  example: { params: { provider_id: ATLAS }, result: { at: AT } },
})
