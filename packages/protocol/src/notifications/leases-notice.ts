import { z } from 'zod'
import { defineNotification } from '../event.ts'
import { ATLAS } from '../examples.ts'
import { notice } from '../records/lease.ts'
import { workerFields } from './worker-fields.ts'

export const leasesNotice = defineNotification({
  name: 'leases.notice',
  summary:
    'The provider gets no work, and this is why and what to do. Null: it is in service again.',
  params: z.strictObject({ ...workerFields, notice: notice.nullable() }),
  example: {
    provider_id: ATLAS,
    worker_id: 'w-1',
    notice: {
      reason: 'provider_not_active',
      message:
        'provider:atlas gets no work: it is SUSPENDED. An operator brings it back with: fairlead providers set-status provider:atlas ACTIVE',
    },
  },
})
