import type { Job } from '../market/job.ts'
import type { Market, RequeueReason } from '../market/market.ts'
import type { DispatchJob, SessionEnd } from '../sessions/dispatch-job.ts'
import { endJob } from './end-job.ts'
import type { JobEvent } from './job-table.ts'
import type { AttemptOutcome } from './judge-attempt.ts'
import { moveJob } from './move-job.ts'

/** How a job returns to waiting, if its session has more attempts for it. */
interface Requeue {
  readonly on: JobEvent
  readonly reason: RequeueReason
}

/** Brings the sessions up to date: groups open, and jobs whose retry window is over end (ATTEMPT-4). */
export function advanceSessions(market: Market): void {
  for (const { entry, end } of market.sessions.advance(market.nowMs)) {
    const job = market.jobs.get(entry.id)
    if (job !== undefined && end !== null) endRegistration(market, job, end)
  }
}

/** The lease of a registration has ended, and its session decides about the job. */
export function endAttempt(market: Market, job: Job, outcome: AttemptOutcome, how: Requeue): void {
  market.sessions.moveTo(market.nowMs)
  applyAttemptOutcome(market, job, market.sessions.outcome(job.id, outcome), how)
}

/** Applies the session's decision about an outcome to the job. */
export function applyAttemptOutcome(
  market: Market,
  job: Job,
  { end, retryAt }: DispatchJob,
  { on, reason }: Requeue,
): void {
  if (end !== null) return endRegistration(market, job, end)
  moveJob(market, job, on)
  job.notBefore = retryAt
  const { id: jobId } = job
  market.emit({ type: 'jobRequeued', at: market.nowMs, jobId, reason, notBefore: retryAt })
}

/** The outcome of an attempt without a report of its worker. Without an ack nothing was sent. */
export function silentOutcome(job: Job): AttemptOutcome {
  return job.leases?.at(-1)?.isAcked === true ? { type: 'unknown' } : { type: 'unsent' }
}

export function endRegistration(market: Market, job: Job, { status, reason }: SessionEnd): void {
  endJob(market, job, { on: status === 'CANCELED' ? 'cancel' : 'attemptsOver', reason })
}
