import { JOB_STATUSES } from '@fairlead/core'
import { z } from 'zod'
import { count, name, taskId, timeMs } from '../wire/leaves.ts'

/** What names a session: the booking site, whose account there is used, and what is booked. */
export const sessionKeyFields = {
  provider: name.describe('the booking site'),
  org_ref: name.describe('whose account at the site is used'),
  event_id: name.describe('what is booked'),
}

/** When a session opens: a time that can be written as a date. */
export const opensAt = timeMs.max(8_640_000_000_000_000)

/** A registration as people name it. */
export const registrationId = z
  .string()
  .min(1)
  .max(100)
  .describe('a reference such as SCH-7F3K2Q, as it was written or said, or the task_id')

export const reference = z.string().regex(/^SCH-[2-9A-HJKMNP-TV-Z]{6}$/)

const message = z.strictObject({
  name: z.enum([
    'queued',
    'order',
    'trying',
    'throttled',
    'canceling',
    'success',
    'waitlisted',
    'full',
    'failed',
    'unknown',
    'canceled',
  ]),
  text: z.string().describe('for the person that it is about'),
})

/** What became of a registration so far. */
export const registrationRecord = z
  .strictObject({
    reference,
    task_id: taskId,
    status: z.enum(JOB_STATUSES),
    ...sessionKeyFields,
    user_id: z.string().nullable().describe('told to whoever scheduled it, and to nobody else'),
    is_readable: z
      .boolean()
      .describe('false: the key that its personal data is encrypted with is not there'),
    result: z.enum(['pending', 'booked', 'waitlisted', 'failed', 'canceled']),
    reason: z.string().nullable().describe('of a failure'),
    booking_number: z
      .string()
      .nullable()
      .describe('told to whoever scheduled it; `[unreadable]` for one that cannot be shown'),
    fee_status: z.enum(['none', 'charged', 'failed']),
    rank: count.nullable().describe('from 0; null before the session opens'),
    opens_at: timeMs,
    queued_at: timeMs,
    first_attempt_at: timeMs.nullable(),
    first_attempt_delay_ms: count
      .nullable()
      .describe('after the opening, or after it was scheduled'),
    ended_at: timeMs.nullable(),
    attempts: count.describe('those that were sent, or may have been'),
    message,
  })
  .meta({ id: 'RegistrationRecord' })

/** A session and how many are in it. */
export const sessionRecord = z
  .strictObject({
    ...sessionKeyFields,
    opens_at: timeMs,
    is_open: z.boolean(),
    waiting: count.describe('not under way'),
    in_flight: count,
    completed: count.describe('booked, or on the waitlist'),
    failed: count,
    canceled: count,
  })
  .meta({ id: 'SessionRecord' })

/** A registration that has not ended, in its session's queue. */
export const sessionEntry = z
  .strictObject({
    reference,
    task_id: taskId,
    place: count.describe('among those of the session that have not ended, from 1'),
    rank: count.nullable().describe('from 0; null before the session opens'),
    send_at: timeMs.nullable().describe('the earliest first attempt'),
    queued_at: timeMs,
    attempts: count,
    state: z
      .enum(['waiting', 'in_flight', 'lookup'])
      .describe('lookup: the site is asked whether it has booked'),
    retry_at: timeMs.nullable(),
  })
  .meta({ id: 'SessionEntry' })

/** What the sessions of one organisation at one site share. */
export const dispatchKeyRecord = z
  .strictObject({
    provider: name,
    org_ref: name,
    in_flight: count,
    in_flight_max: count.describe('as it is now'),
    rate_per_second: z.number().describe('attempts; as it is now'),
    rate_configured: z.number(),
    burst: count,
    tokens: count.describe('whole ones that are left of the burst'),
    burst_used: z.number().min(0).max(1).describe('share of the burst that is used'),
    spacing_ms: count.describe('between attempts of one session'),
    paused_until: timeMs.nullable(),
    answers: count.describe('of the site, in the last minute'),
    rate_429: z.number().min(0).max(1).describe('share of those answers'),
    rate_5xx: z.number().min(0).max(1).describe('share of those answers'),
    clock_offset_ms: z
      .int()
      .nullable()
      .describe("of the site's clock to ours, as a worker measured it; null where nobody has"),
  })
  .meta({ id: 'DispatchKeyRecord' })

export type RegistrationRecord = z.output<typeof registrationRecord>
export type SessionRecord = z.output<typeof sessionRecord>
export type SessionEntryRecord = z.output<typeof sessionEntry>
export type DispatchKeyRecord = z.output<typeof dispatchKeyRecord>
