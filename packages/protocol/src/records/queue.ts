import type { KindName } from '@fairlead/core'
import { KIND_NAMES } from '@fairlead/core'
import { z } from 'zod'
import { caller, count, name, timeMs } from '../wire/leaves.ts'

/** The kinds that can be paused and scheduled; registrations go by their sessions. */
export const queueKind = z.enum(
  KIND_NAMES.filter((kind): kind is Exclude<KindName, 'registration'> => kind !== 'registration'),
)

/** Names the jobs of a pause. */
export const pauseKey = {
  kind: queueKind,
  name: name.optional().describe('the model of ai jobs or the name of tasks; all if left out'),
  caller: caller.optional().describe('all if left out, and for a requester itself'),
}

export const pauseRecord = z
  .strictObject({
    kind: queueKind,
    name: name.nullable().describe('null: all'),
    caller: caller.nullable().describe('null: all'),
    paused_at: timeMs,
  })
  .meta({ id: 'PauseRecord' })

export const queueRecord = z
  .strictObject({
    kind: queueKind,
    name: z.string().nullable().describe('null for quantum jobs'),
    ready: count.describe('jobs that could go to a provider now'),
    held: count.describe('those of them that a pause holds back'),
    waiting: count.describe('all that wait, also before their time, in backoff or behind others'),
    running: count.describe('live leases'),
    oldest_wait_ms: count.nullable().describe('of the ready jobs that go first; null: none'),
    per_second: z
      .strictObject({ enqueued: z.number(), completed: z.number(), failed: z.number() })
      .nullable()
      .describe('of all callers, over the last ten seconds; null for a requester'),
  })
  .meta({ id: 'QueueRecord' })

export type PauseRecord = z.output<typeof pauseRecord>
export type QueueRecord = z.output<typeof queueRecord>
