import { hasEnded, type JobId, type JobRow, type Market, type WaitReason } from '@fairlead/core'
import { invalidParams, refusalOf, termsNow, waitGate } from '@fairlead/core/internal'

/** The reason why a job waits; null if it does not wait (any more). */
export function waitReasonOf(market: Market, id: JobId): WaitReason | null {
  const job = market.jobs.get(id)
  if (job?.status !== 'QUEUED') return null
  const gate = waitGate(market, job).reason
  if (gate !== null) return gate
  const terms = termsNow(market)
  const passing = market.pool.passing(job.shape.kind, market.nowMs)
  let isLimited = false
  for (const provider of passing) {
    const refusal = refusalOf(provider, job, terms)
    if (refusal === null) return 'ready'
    isLimited ||= refusal === 'limit_exhausted'
  }
  return isLimited ? 'budget' : 'no_provider'
}

/** The same of a job as the tables have it. */
export function rowWaitsFor(market: Market, row: JobRow): WaitReason | null {
  return row.proofAwaitedSince === null ? waitReasonOf(market, row.id) : 'proof'
}

/** The status of the jobs to look at: the tables know of no wait reason. */
export function statusWithReason(
  waitReason: WaitReason | undefined,
  status: JobRow['status'] | undefined,
): { readonly status?: JobRow['status'] } {
  if (waitReason === undefined) return status === undefined ? {} : { status }
  if (status !== undefined && hasEnded(status)) {
    throw invalidParams('wait_reason', 'none beside the status of jobs that have ended')
  }
  return { status: status ?? (waitReason === 'proof' ? 'RUNNING' : 'QUEUED') }
}
