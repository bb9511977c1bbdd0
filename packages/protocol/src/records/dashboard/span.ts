import { WAIT_REASONS } from '@fairlead/core'
import { z } from 'zod'
import { count, providerId, timeMs } from '../../wire/leaves.ts'

/** A stretch of the life of a job, for a waterfall. */
export const span = z
  .strictObject({
    what: z
      .enum(['waiting', 'offered', 'running', 'proof'])
      .describe('offered: leased and not acked; proof: completed and not proved'),
    reason: z
      .enum(WAIT_REASONS)
      .nullable()
      .describe('of waiting: scheduled, backoff or dependencies where that is known; else null'),
    attempt: count.nullable().describe('null while it waits'),
    provider_id: providerId.nullable(),
    from: timeMs,
    to: timeMs.nullable().describe('null: it goes on'),
    ms: count.describe('its length; up to now if it goes on'),
    ended: z.string().nullable().describe('how an attempt ended: completed, or why it did not'),
    code: z.string().nullable().describe('of a failure'),
  })
  .meta({ id: 'Span' })

export type SpanRecord = z.output<typeof span>
