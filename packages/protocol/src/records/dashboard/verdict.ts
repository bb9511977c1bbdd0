import { z } from 'zod'
import { count, timeMs } from '../../wire/leaves.ts'
import { blocker } from './blocker.ts'

export const VERDICTS = ['fine', 'held', 'failing', 'unknown'] as const

/** Is it fine, and if not, why? The same sentence is said by `fairlead top` and `fairlead doctor`. */
export const verdict = z
  .strictObject({
    status: z
      .enum(VERDICTS)
      .describe(
        'fine: no work is held up; held: some is; failing: the server has a problem; unknown: the data is too old to tell',
      ),
    text: z.string().describe('the verdict in one sentence or a few'),
    at: timeMs.describe('the time that the data is of'),
    age_ms: count.describe('how old the data was when this was said'),
    valid_ms: count.describe('without a newer answer for so long the verdict is unknown'),
    waiting: count,
    running: count.describe('live leases'),
    cause: blocker.nullable().describe('what holds up the most work'),
    ruled_out: z
      .array(z.strictObject({ check: z.string(), text: z.string() }))
      .describe('what was looked at and is in order'),
    problems: z
      .array(z.strictObject({ check: z.string(), text: z.string(), advice: z.string().nullable() }))
      .describe('what is wrong with the server itself, the worst first'),
  })
  .meta({ id: 'Verdict' })

export type VerdictRecord = z.output<typeof verdict>
