import { JOB_STATUSES, REFUSALS, WAIT_REASONS } from '@fairlead/core'
import { z } from 'zod'
import { bytes32, count, json, providerId, taskId, timeMs } from '../wire/leaves.ts'
import { endReason } from './job.ts'
import { CANCEL_REASONS, lease } from './lease.ts'

const refusal = z.enum(REFUSALS)

const limitHold = z.strictObject({
  key: z.string(),
  reason: z.enum(['exhausted', 'waited_for', 'unknown', 'too_large']),
  amount: count.describe('how much of it the job needs'),
  until: timeMs.nullable().describe('when it is looked at again'),
})

const waiting = z.strictObject({
  not_before: timeMs.nullable(),
  depends_on: z.array(taskId).describe('jobs that it waits for'),
  priority: z.int().describe('its rank among the jobs of its caller'),
  place: count.describe('1 is next'),
  of: count,
  fairness: z.enum(['score', 'tenant']),
  score: z.number(),
  terms: z.strictObject({ fee: count, size: count, tier: count, age_secs: count }),
  providers: z.array(
    z.strictObject({
      provider_id: providerId,
      refusal: refusal.nullable().describe('the first check that fails; null where it would fit'),
      until: timeMs.nullable(),
      slots: count,
      limit: limitHold.nullable().describe('which limit, where that is what fails'),
      advice: z.string().nullable().describe('in which state it is, and what to do about that'),
    }),
  ),
  earliest_at: timeMs.nullable(),
  session: z
    .strictObject({
      provider: z.string(),
      org_ref: z.string(),
      event_id: z.string(),
      opens_at: timeMs,
      rank: count.nullable(),
      send_at: timeMs.nullable(),
      in_flight: count,
      in_flight_max: count,
      tokens: count,
      next_token_at: timeMs.nullable(),
      is_lookup: z.boolean(),
    })
    .nullable()
    .describe('registrations only'),
})

const round = z.strictObject({
  height: count,
  at: timeMs,
  seed: bytes32,
  batch_digest: bytes32,
  batch_size: count,
  order: z.enum(['first-fit', 'rotate', 'score']),
  providers: z.array(providerId),
  place: count.nullable(),
  passed_over: z.array(z.strictObject({ provider_id: providerId, refusal: refusal.nullable() })),
})

/** Why a job waits, or why it went where it went. */
export const explanation = z
  .strictObject({
    task_id: taskId,
    status: z.enum(JOB_STATUSES),
    at: timeMs,
    wait_reason: z.enum(WAIT_REASONS).nullable(),
    text: z.string().describe('the same in sentences'),
    waiting: waiting.nullable(),
    attempts: z.array(
      z.strictObject({
        lease,
        round: round.nullable(),
        ended: z
          .strictObject({
            reason: z.enum([...CANCEL_REASONS, 'deadline', 'timeout']).nullable(),
            code: z.string().nullable(),
            message: z.string().nullable(),
            details: json.describe('what the worker added, or null'),
          })
          .nullable()
          .describe('how it ended before its time'),
      }),
    ),
    attempts_before: count,
    end: z
      .strictObject({
        status: z.enum(JOB_STATUSES),
        reason: endReason.nullable(),
        ended_at: timeMs.nullable(),
        digest: bytes32.nullable(),
      })
      .nullable(),
  })
  .meta({ id: 'Explanation' })

export type ExplanationRecord = z.output<typeof explanation>
