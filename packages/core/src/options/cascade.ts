import type { Job } from '../market/job.ts'
import { type Market, queueFor } from '../market/market.ts'
import { endJob } from '../outcome/end-job.ts'
import { hasEnded } from '../outcome/job-table.ts'
import type { EndedDependency } from './dependencies.ts'

/** The dependents that one cascade tells. More than that go on in the next one. */
export const CASCADE_JOBS = 250

/** Tells the next dependents of jobs that have ended (OPTIONS-8). Returns how many it told. */
export function cascade(market: Market): number {
  let told = 0
  for (; told < CASCADE_JOBS; told++) {
    const next = market.dependencies.next()
    if (next === null) break
    settle(market, next.job, next.dependency)
  }
  return told
}

/** The job is ready for its queue after its last dependency, or ends with the first that did not complete. */
function settle(market: Market, job: Job, { isCompleted, endedAt }: EndedDependency): void {
  if (hasEnded(job.status)) return
  if (!isCompleted && job.options?.onDependency !== 'run') return breakOff(market, job)
  if (job.waitsFor > 0) return
  job.releasedAt = endedAt
  queueFor(market, job.shape.kind).release(job)
  market.due.enterTtls(job)
  market.touch.job(job)
}

/** A job ends because one that it depends on did not complete, or was never there. */
export function breakOff(market: Market, job: Job): void {
  endJob(market, job, { on: 'cancel', reason: 'dependency_failed' })
}
