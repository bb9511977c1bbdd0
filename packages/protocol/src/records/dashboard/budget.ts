import { LIMIT_KINDS } from '@fairlead/core/internal'
import { z } from 'zod'
import { caller, count, taskId, timeMs } from '../../wire/leaves.ts'
import { exactInt, limitText } from '../limit.ts'

const holder = z.strictObject({
  lease_id: limitText,
  task_id: taskId.nullable().describe('null: it was reserved from outside the queue'),
  caller: caller.nullable(),
  name: z.string().nullable().describe('the subject of the token of the caller, if it has one'),
  amount: exactInt,
  reserved_at: timeMs,
  ends_at: timeMs.nullable().describe('when it ends by itself'),
})

/** A limit as the counters that enforce it have it. */
export const budget = z
  .strictObject({
    key: limitText,
    kind: z.enum(LIMIT_KINDS),
    unit: z.string().nullable(),
    description: z.string().nullable(),
    capacity: count,
    window_ms: count.nullable().describe('null for a bucket and for concurrency'),
    rate_per_second: z.number().nullable().describe('of a bucket; else null'),
    used: exactInt.describe('of leases that are over, and still in the window'),
    reserved: exactInt.nullable().describe('held by live leases; null: not known here'),
    free: exactInt.describe('what could be reserved now'),
    debt: exactInt.describe('what is held above the capacity'),
    pending_decrease_to: count.nullable().describe('the capacity that waits to act'),
    resets_at: timeMs
      .nullable()
      .describe('when some of it comes back next; null: it is whole, or time alone frees nothing'),
    resets_in_ms: count.nullable(),
    whole_at: timeMs.nullable().describe('when all of it is free, if nothing more is taken'),
    waiting: count.describe('jobs that this limit holds up'),
    holders: z.array(holder).describe('those who hold the most, at most 10'),
    holders_total: count.nullable().describe('leases that hold some of it; null: not known here'),
    reported: z
      .strictObject({
        at: timeMs,
        limit: count.nullable(),
        remaining: count.nullable(),
        resets_at: timeMs.nullable(),
      })
      .nullable()
      .describe('what the provider last said of itself; null: it said nothing'),
  })
  .meta({ id: 'Budget' })

export type BudgetRecord = z.output<typeof budget>
