import { jobBackoffMs, readBackoff } from '@fairlead/core/internal'
import { suite } from '../suite.ts'

/** §23: the delay before a retry of a job with a backoff of its own. */
export const jobBackoff = suite(({ job_id, n, backoff }) => {
  return { delay_ms: jobBackoffMs(readBackoff(backoff), job_id, n) }
})
