import { z } from 'zod'
import { defineNotification } from '../event.ts'
import { ASSIGNMENT, ATLAS } from '../examples.ts'
import { assignment } from '../records/lease.ts'
import { workerFields } from './worker-fields.ts'

export const leasesOffered = defineNotification({
  name: 'leases.offered',
  summary: 'Leases to ack, each with its work. The same one may come again, until it is acked.',
  params: z.strictObject({ ...workerFields, leases: z.array(assignment) }),
  example: { provider_id: ATLAS, worker_id: 'w-1', leases: [ASSIGNMENT] },
})
