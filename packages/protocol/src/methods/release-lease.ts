import { z } from 'zod'
import { LEASE_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { accepted, leaseCallFields } from '../records/lease-call.ts'

export const releaseLease = defineMethod({
  name: 'aicf.releaseLease',
  summary: 'Gives a lease back: the job waits again at once, and nobody is charged.',
  description: 'For a worker that stops.',
  roles: ['provider'],
  access: 'write',
  params: z.strictObject(leaseCallFields),
  result: accepted,
  errors: ['NotFound', 'LeaseNotLive', 'InvalidState'],
  example: { params: { lease_id: LEASE_ID, worker_id: 'w-1' }, result: { accepted: true } },
})
