import { z } from 'zod'
import { defineNotification } from '../event.ts'
import { AT, ATLAS, LEASE_ID } from '../examples.ts'
import { leaseTimes } from '../records/lease.ts'
import { workerFields } from './worker-fields.ts'

export const leasesHeld = defineNotification({
  name: 'leases.held',
  summary:
    'All that a worker holds: once it is connected, and after trouble. What else it has is lost.',
  params: z.strictObject({ ...workerFields, leases: z.array(leaseTimes) }),
  example: {
    provider_id: ATLAS,
    worker_id: 'w-1',
    leases: [{ lease_id: LEASE_ID, at: AT, renew_by: AT + 360_000, t_deadline: AT + 600_000 }],
  },
})
