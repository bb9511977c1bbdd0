import { z } from 'zod'
import { LEASE_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { accepted, leaseCallFields } from '../records/lease-call.ts'

export const declineLease = defineMethod({
  name: 'aicf.declineLease',
  summary: 'Refuses a lease: the job goes to another provider, and nobody is charged.',
  description: 'The provider gets no job of this class for a while.',
  roles: ['provider'],
  access: 'write',
  params: z.strictObject(leaseCallFields),
  result: accepted,
  errors: ['NotFound', 'LeaseNotLive', 'InvalidState'],
  example: { params: { lease_id: LEASE_ID, worker_id: 'w-1' }, result: { accepted: true } },
})
