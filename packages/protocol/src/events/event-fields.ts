import { count, timeMs } from '../wire/leaves.ts'

/** What every event has. */
export const eventFields = {
  seq: count.describe('one more than that of the event before'),
  at: timeMs.describe('when it took effect'),
}
