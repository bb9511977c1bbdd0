import { epochOf } from '../admit/quotas.ts'
import type { ProviderId } from '../encoding/ids.ts'
import { KINDS } from '../enqueue/kinds.ts'
import type { Job } from '../market/job.ts'
import type { Charge, Market } from '../market/market.ts'
import { attemptsMax, backoffOf } from '../options/terms.ts'
import { chargeProvider, hasHealth } from '../registry/health.ts'
import type { Provider } from '../registry/provider.ts'
import type { SlaResult } from '../registry/sla/outcome.ts'
import type { Traps } from '../settle/proof/proof-body.ts'
import { backoffMs } from './backoff.ts'
import { endJob } from './end-job.ts'
import type { JobEvent } from './job-table.ts'
import { requeueJob } from './requeue.ts'

/** How each charge moves the job, and how long the provider is denied the job (RETRY-2). */
const CHARGES: { readonly [C in Charge]: { readonly on: JobEvent; readonly denySecs: number } } = {
  ACK_TIMEOUT: { on: 'ackTimeout', denySecs: 0 },
  LEASE_EXPIRED: { on: 'leaseDeadline', denySecs: 60 },
  PROVIDER_FAIL: { on: 'providerFail', denySecs: 0 },
  PROOF_INVALID: { on: 'proofInvalid', denySecs: 60 },
}

/** The longest wait that a failure may ask for (FAIL-4). */
const RETRY_AFTER_MAX_MS = 86_400_000

/**
 * Charges a failure. The job waits for its backoff, or ends if its retries are used up or the error is permanent.
 * The provider's health pays, unless it was the job's own fault (RETRY-2, HEALTH-5).
 */
export function chargeJob(
  market: Market,
  job: Job,
  provider: Provider,
  how: {
    readonly charge: Charge
    readonly permanent?: boolean
    readonly jobsFault?: boolean
    /** Of a signed proof whose traps failed. */
    readonly traps?: Traps | null
    /** The attempt had its time, as its requester set it, so nothing speaks against the provider (OPTIONS-5). */
    readonly isTimeout?: boolean
    /** The minimum wait before the job is tried again. */
    readonly retryAfterMs?: number | undefined
  },
): void {
  const { charge, permanent = false, jobsFault = false, isTimeout = false } = how
  const { retryAfterMs = 0, traps = null } = how
  const { on, denySecs } = CHARGES[charge]
  const before = job.retries
  job.retries++
  // A registration has a retry window instead of a maximum of retries (ATTEMPT-4).
  const isLast = job.session === null && job.retries >= attemptsMax(job, market.policy)
  if (permanent || isLast) {
    const reason = permanent ? 'permanent_error' : 'retries_exhausted'
    endJob(market, job, { on, isLast: true, reason })
  } else {
    // If health is off, an expired lease says nothing about its provider (HEALTH-7).
    const isDenied = denySecs > 0 && !isTimeout && (charge !== 'LEASE_EXPIRED' || hasHealth(market))
    if (isDenied) denyProvider(job, provider.id, market.nowMs + 1_000 * denySecs)
    const askedMs = Math.min(retryAfterMs, longestRetryAfterMs(market, job))
    const waitMs = Math.max(backoffMs(job, before, market.policy), askedMs)
    requeueJob(market, job, { on, reason: charge, notBefore: market.nowMs + waitMs })
  }
  if (jobsFault || isTimeout) return
  chargeProvider(market, provider, charge)
  recordCharge(market, job, provider, { charge, traps })
}

/** A charge counts against the provider's service where its work is proved (SLA-1). */
function recordCharge(
  { fund, nowMs, policy }: Market,
  { shape: { kind } }: Job,
  provider: Provider,
  { charge, traps }: { readonly charge: Charge; readonly traps: Traps | null },
): void {
  if (KINDS[kind].verification(policy) !== 'proof') return
  const outcome = {
    result: SLA_CHARGES[charge],
    epoch: epochOf(nowMs, policy),
    unitMs: null,
    traps,
  }
  fund.recordOutcome(provider.id, kind, outcome, policy.sla)
}

const SLA_CHARGES = {
  ACK_TIMEOUT: 'ack_timeout',
  LEASE_EXPIRED: 'lease_expired',
  PROVIDER_FAIL: 'provider_fail',
  PROOF_INVALID: 'proof_invalid',
} as const satisfies Record<Charge, SlaResult>

/** If health is on, providers are not trusted: they cannot delay a job for longer than its backoff could (FAIL-4). */
function longestRetryAfterMs(market: Market, job: Job): number {
  if (!hasHealth(market)) return RETRY_AFTER_MAX_MS
  const capMs = 1_000 * market.policy.queue.retries.backoffCapSecs
  return Math.min(RETRY_AFTER_MAX_MS, Math.max(capMs, backoffOf(job, market.policy)?.capMs ?? 0))
}

/** Denies the provider this job until a time. A denial is never shortened (RETRY-4). */
export function denyProvider(job: Job, providerId: ProviderId, until: number): void {
  job.denials ??= new Map()
  job.denials.set(providerId, Math.max(until, job.denials.get(providerId) ?? 0))
}
