import type { Job } from '../market/job.ts'
import { type Market, queueFor, type RequeueReason } from '../market/market.ts'
import { endAttempt, silentOutcome } from './end-attempt.ts'
import type { JobEvent } from './job-table.ts'
import { moveJob } from './move-job.ts'

/** Returns a job to the queue, at the place that its `enqueue_ts` gives it (RETRY-3). */
export function requeueJob(
  market: Market,
  job: Job,
  how: { readonly on: JobEvent; readonly reason: RequeueReason; readonly notBefore: number | null },
): void {
  // A registration returns to its session, which decides about it.
  if (job.session !== null) return endAttempt(market, job, silentOutcome(job), how)
  moveJob(market, job, how.on)
  job.notBefore = how.notBefore
  queueFor(market, job.shape.kind).push(job)
  const { id: jobId } = job
  const { reason, notBefore } = how
  market.emit({ type: 'jobRequeued', at: market.nowMs, jobId, reason, notBefore })
}
