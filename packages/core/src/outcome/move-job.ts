import type { Job } from '../market/job.ts'
import type { Market } from '../market/market.ts'
import { invalidJobMove, type JobEvent, type JobStatus, nextJobStatus } from './job-table.ts'

/**
 * Moves a job by the table. A move that is not in it is refused with `InvalidState` and changes nothing (STATE-1).
 */
export function moveJob(market: Market, job: Job, on: JobEvent, isLast = false): JobStatus {
  const to = nextJobStatus(job.status, on, isLast)
  if (to === null) throw invalidJobMove(job.id, job.status, on)
  countWaiting(market, job, job.status, -1)
  countWaiting(market, job, to, 1)
  job.status = to
  market.touch.job(job)
  return to
}

/** `queue.max_per_caller` counts QUEUED jobs (ENQUEUE-7). */
export function countWaiting(market: Market, job: Job, status: JobStatus, by: 1 | -1): void {
  if (status !== 'QUEUED') return
  const total = (market.waitingOf.get(job.caller) ?? 0) + by
  if (total === 0) market.waitingOf.delete(job.caller)
  else market.waitingOf.set(job.caller, total)
}
