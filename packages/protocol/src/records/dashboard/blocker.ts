import { KIND_NAMES, REFUSALS, WAIT_REASONS } from '@fairlead/core'
import { z } from 'zod'
import { count, jsonObject, taskId, timeMs } from '../../wire/leaves.ts'

/** The change that would let the jobs of a blocker go. */
export const change = z
  .strictObject({
    text: z.string().describe('for people: what to do'),
    jobs: count.describe('jobs that it would let go'),
    method: z.string().nullable().describe('the call that makes it; null: no single call does'),
    params: jsonObject.nullable().describe('of that call'),
  })
  .meta({ id: 'Change' })

/** Waiting jobs that one thing holds up. */
export const blocker = z
  .strictObject({
    id: z.string().describe('the same in every answer, for as long as it is there'),
    kind: z.enum(KIND_NAMES),
    reason: z.enum(WAIT_REASONS).describe('as wait_reason of aicf.explainJob'),
    check: z
      .enum(REFUSALS)
      .nullable()
      .describe('the check at which the provider fails that comes closest; null: none is asked'),
    slots: count
      .nullable()
      .describe(
        'lease_cap_reached: all slots of the providers that would take them; 0: none of their workers is connected; else null',
      ),
    limit: z.string().nullable().describe('the key of the limit that holds them'),
    jobs: count,
    callers: count.nullable().describe('null: not counted'),
    names: z
      .array(z.strictObject({ name: z.string().nullable(), jobs: count }))
      .describe('models or task names, those with the most jobs first, at most 5'),
    oldest_wait_ms: count
      .nullable()
      .describe('how long the job has waited that has waited longest'),
    earliest_at: timeMs.nullable().describe('when the first of them can go; null: not known'),
    earliest_in_ms: count.nullable().describe('the same from now'),
    example: taskId.nullable().describe('one of the jobs'),
    text: z.string().describe('a sentence for people'),
    change: change.nullable(),
  })
  .meta({ id: 'Blocker' })

export type ChangeRecord = z.output<typeof change>
export type BlockerRecord = z.output<typeof blocker>
