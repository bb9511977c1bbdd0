import { KIND_NAMES, LEASE_STATUSES, REFUSALS } from '@fairlead/core'
import { z } from 'zod'
import { count, leaseId, providerId, taskId, timeMs, timeSecs, workerId } from '../wire/leaves.ts'
import { payload } from '../wire/payload.ts'

const leaseFields = {
  lease_id: leaseId,
  task_id: taskId,
  provider_id: providerId,
  attempt: count.describe('0 is the first'),
  status: z.enum(LEASE_STATUSES),
  issued_at: timeSecs,
  ttl_seconds: count.describe('length of the lease as it was issued'),
  renewals: count,
  max_renewals: count.nullable().describe('null: as often as its worker likes'),
  t_start: timeMs,
  t_deadline: timeMs,
  renew_by: timeMs.describe('when its holder should have renewed it'),
}

/** A time-bounded right to one attempt. */
export const lease = z
  .strictObject({
    ...leaseFields,
    worker_id: workerId.nullable(),
    is_acked: z.boolean(),
    timeout_at: timeMs.nullable().describe('when the attempt has taken as long as its job allows'),
  })
  .meta({ id: 'Lease' })

/** A lease as its worker gets it, with the work. */
export const assignment = z
  .strictObject({
    ...leaseFields,
    at: timeMs.describe('when this was said; a worker counts from here, whatever its clock shows'),
    ack_by: timeMs,
    kind: z.enum(KIND_NAMES),
    model: z.string().nullable().describe('ai: the model; task: its name'),
    payload,
    traceparent: z.string().nullable(),
    task: z
      .enum(['book', 'lookup'])
      .optional()
      .describe(
        'registrations: `lookup` asks whether an earlier attempt booked, and to send nothing',
      ),
    rank: count.optional().describe('registrations: the place in the session'),
    idempotency_key: z
      .string()
      .optional()
      .describe('registrations: the same for all attempts of the job'),
  })
  .meta({ id: 'Assignment' })

/** The times of a lease on the server's clock. */
export const leaseTimes = z
  .strictObject({ lease_id: leaseId, at: timeMs, renew_by: timeMs, t_deadline: timeMs })
  .meta({ id: 'LeaseTimes' })

export const CANCEL_REASONS = [
  'ack_timeout',
  'declined',
  'released',
  'disowned',
  'worker_lost',
  'provider_fail',
  'provider_status',
  'over_cap',
  'job_ended',
] as const

/** A lease that ended, and not by its worker's own word. */
export const lostLease = z
  .strictObject({ lease_id: leaseId, reason: z.enum([...CANCEL_REASONS, 'deadline', 'timeout']) })
  .meta({ id: 'LostLease' })

/** Why a provider gets no work, and what to do about it. */
export const notice = z
  .strictObject({ reason: z.enum(REFUSALS), message: z.string() })
  .meta({ id: 'Notice' })

export type Notice = z.output<typeof notice>
export type Lease = z.output<typeof lease>
export type Assignment = z.output<typeof assignment>
