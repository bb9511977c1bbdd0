import { backoffSecs } from '@fairlead/core/internal'
import { suite } from '../suite.ts'
import { FUND } from '../vector-policy.ts'

/** §9: the delay before a retry. */
export const backoff = suite(({ kind, job_id, n, policy }) => {
  const retries = policy
    ? {
        ...FUND.queue.retries,
        baseBackoffAiSecs: policy.base_secs,
        baseBackoffQuantumSecs: policy.base_secs,
        baseBackoffTaskSecs: policy.base_secs,
        backoffCapSecs: policy.cap_secs,
      }
    : FUND.queue.retries
  const used = { ...FUND, queue: { ...FUND.queue, retries } }
  return { delay_secs: backoffSecs(kind, job_id, n, used) }
})
