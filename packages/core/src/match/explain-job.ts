import { epochOf } from '../admit/quotas.ts'
import { FairleadError } from '../errors.ts'
import type { Caller, ProviderId } from '../ids.ts'
import type { Job } from '../job.ts'
import type { Market } from '../market.ts'
import { enqueuedBefore } from '../order/queued-job.ts'
import { type ScoreTerms, scoreAt, scoreTerms, shownScore } from '../order/score.ts'
import { type Refusal, refusalOf, type Terms } from './eligibility.ts'

/** What holds a waiting job (EXPLAIN-1). */
export type WaitReason = 'ready' | 'backoff' | 'no_provider'

/** Why a job waits, as data; a person's version is made of it (EXPLAIN-2). */
export interface WaitExplanation {
  readonly job: Job
  readonly at: number
  readonly waitReason: WaitReason
  readonly notBefore: number | null
  /** 1 is next; among the ready jobs of its kind, and under fair shares of its caller. */
  readonly place: number
  readonly of: number
  readonly score: number
  readonly terms: ScoreTerms
  /** Every provider with the first check that fails, null where it would fit. */
  readonly providers: readonly { readonly id: ProviderId; readonly refusal: Refusal | null }[]
  /** When all gates that have a time are open; now, if it could go now; null where nobody knows. */
  readonly earliestAt: number | null
}

/** Explains a job that is QUEUED, as things stand at the market's time. */
export function explainWaiting(market: Market, job: Job): WaitExplanation {
  const { nowMs, policy, pool } = market
  if (job.status !== 'QUEUED') {
    throw new FairleadError('InvalidState', `job ${job.id} is ${job.status} and does not wait`, {
      jobId: job.id,
      status: job.status,
    })
  }
  const terms = termsNow(market)
  const providers = pool.all().map((provider) => ({
    id: provider.id,
    refusal: refusalOf(provider, job, terms),
  }))
  const inBackoff = job.notBefore !== null && job.notBefore > nowMs
  const fits = providers.some(({ refusal }) => refusal === null)
  const freeAt = market.windows.freeAt(job.caller, nowMs, policy)
  const gates = [inBackoff ? job.notBefore : null, freeAt].filter((at) => at !== null)
  return {
    job,
    at: nowMs,
    waitReason: inBackoff ? 'backoff' : fits ? 'ready' : 'no_provider',
    notBefore: inBackoff ? job.notBefore : null,
    ...placeOf(market, job),
    score: shownScore(scoreAt(job, nowMs, policy.priority), policy.priority),
    terms: scoreTerms(job, nowMs, policy.priority),
    providers,
    earliestAt: gates.length > 0 ? Math.max(...gates) : fits ? nowMs : null,
  }
}

/** The terms of a check that is made now, outside of a round. */
export function termsNow({
  nowMs,
  policy,
  windows,
}: Pick<Market, 'nowMs' | 'policy' | 'windows'>): Terms {
  const window = policy.queue.quotas.requesterWindow
  return {
    nowMs,
    policy,
    epoch: epochOf(nowMs, policy),
    isWindowFull: (caller: Caller) =>
      window !== null && windows.count(caller, nowMs, policy) >= window.jobs,
  }
}

/** Counted, not looked up: the heaps know only their head, and an explanation may take its time. */
function placeOf({ jobs, nowMs, policy }: Market, job: Job): { place: number; of: number } {
  const own = scoreAt(job, nowMs, policy.priority)
  const isRival = ({ status, shape, notBefore }: Job): boolean =>
    status === 'QUEUED' &&
    shape.kind === job.shape.kind &&
    (notBefore === null || notBefore <= nowMs) &&
    (policy.match.fairness === 'score' || shape.caller === job.caller)
  let place = 1
  let of = 0
  for (const other of jobs.values()) {
    if (other === job || !isRival(other)) continue
    of++
    const score = scoreAt(other, nowMs, policy.priority)
    if (score > own || (score === own && enqueuedBefore(other, job))) place++
  }
  return { place, of: of + 1 }
}
