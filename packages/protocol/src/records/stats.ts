import { KIND_NAMES, PROVIDER_STATUSES } from '@fairlead/core'
import { z } from 'zod'
import { count, providerId, timeMs } from '../wire/leaves.ts'

const byStatus = z.strictObject(
  Object.fromEntries(PROVIDER_STATUSES.map((status) => [status, count])) as {
    [Status in (typeof PROVIDER_STATUSES)[number]]: typeof count
  },
)

/** What happened since the server started. */
const totals = z.strictObject({
  enqueued: count,
  assigned: count,
  completed: count,
  failed: count,
  expired: count,
  canceled: count,
  requeued: count,
})

export const stats = z
  .strictObject({
    at: timeMs,
    version: z.string(),
    started_at: timeMs,
    queues: z.array(
      z.strictObject({
        kind: z.enum(KIND_NAMES),
        ready: count,
        backoff: count,
        budget: count.describe('held by a limit'),
        no_provider: count,
        paused: count,
        not_open: count.describe('registrations whose session has not opened'),
        pacing: count.describe('registrations whose own time has not come'),
        oldest_wait_ms: count.nullable(),
      }),
    ),
    leases: count.describe('live ones'),
    providers: byStatus,
    busiest: z
      .array(
        z.strictObject({ provider_id: providerId, leases: count, lease_cap: count, health: count }),
      )
      .describe('the providers with the most live leases, at most 50'),
    workers: count.describe('connected ones'),
    totals,
    per_second: z
      .strictObject({ enqueued: z.number(), assigned: z.number(), completed: z.number() })
      .describe('over the last ten seconds'),
    fairness: z.number().nullable().describe('Jain index of service over the active callers'),
    connections: z.strictObject({ websocket: count, polls: count }),
    heap: z
      .strictObject({
        limit_bytes: count,
        used_bytes: count.describe('with garbage'),
        live_bytes: count.describe('after the last major collection, and jobs since, estimated'),
        live_max_bytes: count.describe('enqueues are refused while more is alive'),
      })
      .describe('memory of the server'),
    storage: z
      .strictObject({
        log_bytes: count.describe('size of the files of the log'),
        log_batches: count.describe('batches that the log keeps, because the tables may lack them'),
        behind_changes: count.describe('changes that the tables do not have yet'),
      })
      .nullable()
      .describe('null: the server does not know its store'),
  })
  .meta({ id: 'Stats' })

export type Stats = z.output<typeof stats>
