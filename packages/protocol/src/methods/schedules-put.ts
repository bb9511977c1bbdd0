import { z } from 'zod'
import { SCHEDULE } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { scheduleFields, scheduleId, scheduleOwner, scheduleRecord } from '../records/schedule.ts'
import { enqueue } from './enqueue.ts'

const { cron, timezone, overlap, catch_up, paused } = scheduleFields

/** The fields of an enqueue that each job of a schedule gets by itself, or that are of one call. */
const request = enqueue.params.omit({
  schema_version: true,
  idempotency_key: true,
  tx_hash: true,
  caller: true,
  enqueue_block: true,
  retry_of: true,
  traceparent: true,
})

export const schedulesPut = defineMethod({
  name: 'schedules.put',
  summary: 'Adds a schedule that enqueues a job by the clock, or replaces the one of this id.',
  description:
    'Put again with the same times it keeps its next time, so an application can put its schedules at every start. A time is fired once, through any restart.',
  roles: ['requester', 'operator'],
  access: 'write',
  params: z.strictObject({
    id: scheduleId,
    caller: scheduleOwner,
    cron,
    timezone: timezone.optional().describe('as in Europe/Berlin; UTC if left out'),
    request,
    overlap: overlap.optional(),
    catch_up: catch_up.optional(),
    paused: paused.optional(),
  }),
  result: z.strictObject({ schedule: scheduleRecord }),
  errors: ['LimitExceeded'],
  example: {
    params: {
      id: SCHEDULE.id,
      cron: SCHEDULE.cron,
      timezone: SCHEDULE.timezone,
      request: SCHEDULE.request,
      overlap: 'skip',
    },
    result: { schedule: SCHEDULE },
  },
})
