import { z } from 'zod'
import { LEASE_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { accepted, leaseCallFields } from '../records/lease-call.ts'

export const ackLease = defineMethod({
  name: 'aicf.ackLease',
  summary: 'Takes a lease on; its job is RUNNING from then on.',
  description: 'A second ack changes nothing and is answered like the first.',
  roles: ['provider'],
  access: 'write',
  params: z.strictObject(leaseCallFields),
  result: accepted,
  errors: ['NotFound', 'LeaseNotLive', 'InvalidState'],
  example: { params: { lease_id: LEASE_ID, worker_id: 'w-1' }, result: { accepted: true } },
})
