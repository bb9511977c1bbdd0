import { z } from 'zod'
import { defineNotification } from '../event.ts'
import { ATLAS, LEASE_ID } from '../examples.ts'
import { lostLease } from '../records/lease.ts'
import { workerFields } from './worker-fields.ts'

export const leasesLost = defineNotification({
  name: 'leases.lost',
  summary: 'Leases that ended, and not by the worker’s own word: their work is wanted no more.',
  params: z.strictObject({ ...workerFields, leases: z.array(lostLease) }),
  example: {
    provider_id: ATLAS,
    worker_id: 'w-1',
    leases: [{ lease_id: LEASE_ID, reason: 'job_ended' }],
  },
})
