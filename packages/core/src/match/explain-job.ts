import { AdmitRound, type LimitHold, NO_CLAIMS } from '../admit/admit-round.ts'
import type { Pause } from '../admit/pauses.ts'
import { epochOf } from '../admit/quotas.ts'
import type { Caller, JobId, ProviderId } from '../encoding/ids.ts'
import { FairleadError } from '../errors.ts'
import type { Job } from '../market/job.ts'
import type { Market } from '../market/market.ts'
import { priorityOf } from '../options/terms.ts'
import { ENQUEUED_BEFORE } from '../order/queued-job.ts'
import { type ScoreTerms, scoreAt, scoreTerms, shownScore } from '../order/score.ts'
import type { Policy } from '../policy/policy.ts'
import { adviceOn } from '../registry/notice.ts'
import { leaseCap } from '../registry/provider.ts'
import { explainSession, type SessionWait } from '../sessions/explain-session.ts'
import { type Refusal, refusalOf, type Terms } from './eligibility.ts'
import { opensAt, untilOf } from './opens-at.ts'
import { type WaitReason, waitGate } from './wait-gate.ts'

/** The verdict of one provider on a waiting job. */
export interface ProviderCheck {
  readonly id: ProviderId
  /** The first check that fails; null if the provider would fit. */
  readonly refusal: Refusal | null
  /** When time alone makes that check pass; null if that is not known. */
  readonly until: number | null
  /** The number of leases that it may hold at once. */
  readonly slots: number
  /** For `limit_exhausted`: the limit and the reason. */
  readonly limit: LimitHold | null
  /** The state of the provider and the remedy, if someone has to act. */
  readonly advice: string | null
}

/** Why a job waits, as data. The text for people is made from it (EXPLAIN-2). */
export interface WaitExplanation {
  readonly job: Job
  readonly at: number
  readonly waitReason: WaitReason
  readonly notBefore: number | null
  /** The jobs that it waits for. */
  readonly dependencies: readonly JobId[]
  /** Its rank among the jobs of its caller; it decides nothing under fairness `score`. */
  readonly priority: number
  /** The widest pause that holds the job back; null if none does. */
  readonly pause: Pause | null
  /** 1 is next among the ready jobs of its kind, or of its caller under fair shares. */
  readonly place: number
  readonly of: number
  /** `score` if the place is among all callers; `tenant` if it is among the caller's own jobs. */
  readonly fairness: Policy['match']['fairness']
  readonly score: number
  readonly terms: ScoreTerms
  /** Every provider, ordered by id. */
  readonly providers: readonly ProviderCheck[]
  /**
   * As things stand, the job cannot run before this time. It is now for a job that could run now; null if unknown.
   */
  readonly earliestAt: number | null
  /** Registrations only, else null. Their place is among the waiting jobs of their session. */
  readonly session: SessionWait | null
}

/** Explains a QUEUED job as of the market's time. */
export function explainWaiting(market: Market, job: Job): WaitExplanation {
  const { nowMs, policy, pool, pauses } = market
  if (job.status !== 'QUEUED') {
    throw new FairleadError('InvalidState', `job ${job.id} is ${job.status} and does not wait`, {
      jobId: job.id,
      status: job.status,
    })
  }
  const terms = termsNow(market)
  const providers = pool.all().map((provider) => {
    const refusal = refusalOf(provider, job, terms)
    const limit =
      refusal === 'limit_exhausted' ? (terms.admit?.hold(job, provider.id) ?? null) : null
    const until = refusal === null ? null : untilOf(refusal, { provider, job, market, terms })
    const advice = refusal === null ? null : adviceOn(refusal, provider, policy)
    return { id: provider.id, refusal, until, slots: leaseCap(provider, policy), limit, advice }
  })
  const session = job.session === null ? null : explainSession(market, job.session)
  const fits = providers.some(({ refusal }) => refusal === null)
  const freeAt = market.windows.freeAt(job.caller, nowMs, policy)
  const { reason: held, until } = waitGate(market, job)
  const isLimited = !fits && providers.some(({ limit }) => limit !== null)
  let takenFrom = Infinity
  for (const provider of pool.all()) {
    takenFrom = Math.min(takenFrom, opensAt({ provider, job, market, terms }))
  }
  const isAhead = takenFrom > nowMs && takenFrom < Infinity
  const gates = [until, freeAt, isAhead ? takenFrom : null].filter((at) => at !== null)
  // Nobody knows when a pause, a job or a slot of a budget will end.
  const isEndKnown = held !== 'paused' && held !== 'dependencies'
  const isTimeKnown = isEndKnown && (gates.length > 0 || (fits && held !== 'budget'))
  return {
    job,
    at: nowMs,
    waitReason: held ?? (fits ? 'ready' : isLimited ? 'budget' : 'no_provider'),
    notBefore: until,
    dependencies: market.dependencies.openOf(job),
    priority: priorityOf(job, policy),
    pause: pauses.holding(job.shape),
    ...(session === null ? placeOf(market, job) : { place: session.place, of: session.of }),
    fairness: policy.match.fairness,
    score: shownScore(scoreAt(job, nowMs, policy.priority), policy.priority),
    terms: scoreTerms(job, nowMs, policy.priority),
    providers,
    earliestAt: !isTimeKnown ? null : gates.length > 0 ? Math.max(...gates) : nowMs,
    session: session?.wait ?? null,
  }
}

/** Admission may be left out. */
type TermsSource = Pick<Market, 'nowMs' | 'policy' | 'windows'> &
  Partial<Pick<Market, 'limits' | 'admit' | 'claims'>>

/** The terms of a check outside a round. */
export function termsNow({
  nowMs,
  policy,
  windows,
  limits,
  admit: rules = null,
  claims = NO_CLAIMS,
}: TermsSource): Terms {
  const window = policy.queue.quotas.requesterWindow
  return {
    nowMs,
    policy,
    epoch: epochOf(nowMs, policy),
    admit: rules && limits ? new AdmitRound({ rules, limits, nowMs, claims }) : null,
    isWindowFull: (caller: Caller) =>
      window !== null && windows.count(caller, nowMs, policy) >= window.jobs,
  }
}

/** Counts the ready jobs that it competes with: the heaps know only their first item. */
function placeOf({ queues, nowMs, policy }: Market, job: Job): { place: number; of: number } {
  const own = scoreAt(job, nowMs, policy.priority)
  const isBefore = ENQUEUED_BEFORE[policy.match.ties]
  const byShare = policy.match.fairness === 'tenant'
  const priority = byShare ? priorityOf(job, policy) : 0
  const rivals = queues.get(job.shape.kind)?.readyAt(nowMs, byShare ? job.caller : null) ?? []
  let place = 1
  let of = 0
  for (const other of rivals) {
    if (other === job) continue
    of++
    const rank = byShare ? priorityOf(other, policy) : 0
    if (rank !== priority) {
      if (rank > priority) place++
      continue
    }
    const score = scoreAt(other, nowMs, policy.priority)
    if (score > own || (score === own && isBefore(other, job))) place++
  }
  return { place, of: of + 1 }
}
