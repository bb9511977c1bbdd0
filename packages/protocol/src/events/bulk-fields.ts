import { z } from 'zod'
import { AT, CALLER } from '../examples.ts'
import { caller, count } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

/** The fields of events of an operation on many jobs. */
export const bulkFields = {
  ...eventFields,
  subject: z.string().describe('its operation id'),
  action: z.enum(['cancel', 'retry']),
  caller: caller.nullable().describe('null: with the rights of an operator'),
  done: count.describe('jobs that were cancelled or enqueued again, so far'),
  skipped: count.describe('jobs that were left as they are, so far'),
}

export const BULK_EXAMPLE = {
  seq: 17,
  at: AT,
  subject: 'op-17',
  action: 'retry',
  caller: CALLER,
  done: 250,
  skipped: 3,
} as const
