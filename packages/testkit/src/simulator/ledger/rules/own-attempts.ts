import type { PlatformPolicy } from '@fairlead/core/internal'

/**
 * What becomes of a registration when an attempt of it ends, once more and as plainly as it can be written
 * (ATTEMPT-1 to ATTEMPT-9).
 */

/** What the holder of a lease said of its attempt; null: it said nothing. */
export interface Said {
  readonly isBooked: boolean
  readonly code: string
  readonly permanent: boolean
  readonly http?: number
  readonly retryAfterMs?: number
  readonly isUnknown?: boolean
  /** It was refused before the call that can book. */
  readonly isUnsent?: boolean
  readonly lookup?: 'booked' | 'not_booked' | 'failed'
}

export interface AttemptFacts {
  readonly policy: PlatformPolicy
  /** Somebody was sent to look, and to send nothing. */
  readonly isLookup: boolean
  readonly isAcked: boolean
  readonly isCancelNoted: boolean
  /** An earlier attempt could have booked. */
  readonly wasUnknown: boolean
}

export type Verdict =
  | { readonly type: 'ends'; readonly status: string; readonly reason: string | null }
  | { readonly type: 'retries'; readonly isUnknown: boolean; readonly retryAfterMs: number }
  | { readonly type: 'looks'; readonly waitMs: number }

const TRANSIENT = ['timeout', 'network', 'not_yet_open']
const PERMANENT = ['validation_error', 'sold_out', 'not_found', 'auth_error']
/** Codes of the worker itself, for attempts of which the site has told nothing. */
const WORKERS_OWN = [
  'error',
  'invalid_result',
  'not_sent',
  'unclear_answer',
  'adapter_error',
  'outcome_unknown',
]
const RETRIED = [408, 429, 500, 502, 503, 504]

export function verdictOf(said: Said | null, facts: AttemptFacts): Verdict {
  const { policy, isCancelNoted } = facts
  const meaning = meaningOf(said, facts)
  if (meaning === 'booked') return { type: 'ends', status: 'COMPLETED', reason: null }
  const isAsked = policy.lookupSupported && (isCancelNoted || !policy.idempotencyKeySupported)
  const retryAfterMs = said?.retryAfterMs ?? 0
  if (meaning === 'unknown' && isAsked && said?.lookup === undefined) {
    // After a look that told nothing the next one keeps the longest distance.
    const wait = facts.isLookup ? (policy.backoffMs.at(-1) ?? 0) : 0
    return { type: 'looks', waitMs: Math.max(wait, retryAfterMs) }
  }
  const unknown = { type: 'ends', status: 'FAILED', reason: 'outcome_unknown' } as const
  if (isCancelNoted) {
    return meaning === 'unknown' ? unknown : { type: 'ends', status: 'CANCELED', reason: null }
  }
  if (meaning === 'permanent') {
    return { type: 'ends', status: 'FAILED', reason: said?.code ?? '' }
  }
  if (meaning === 'unknown' && !policy.idempotencyKeySupported) return unknown
  return { type: 'retries', isUnknown: meaning === 'unknown', retryAfterMs }
}

/** A code that the rules, the worker or the platform's taxonomy know; anything else is `other` (FAIL-5). */
export function registrationCode(code: string, { errorTaxonomy }: PlatformPolicy): string {
  const isKnown =
    [...TRANSIENT, ...PERMANENT, ...WORKERS_OWN, ...Object.keys(errorTaxonomy)].includes(code) ||
    /^http_[0-9]{3}$/.test(code)
  return isKnown ? code : 'other'
}

/** A 429 slows its dispatch key down, whatever was asked and whatever else it means. */
export function isThrottle(said: Said | null): boolean {
  return said?.http === 429
}

function meaningOf(
  said: Said | null,
  facts: AttemptFacts,
): 'booked' | 'transient' | 'permanent' | 'unknown' {
  if (said === null) {
    // Nothing was sent without an ack; what came before stays as open as it was.
    if (facts.isAcked && !facts.isLookup) return 'unknown'
    return facts.wasUnknown || facts.isLookup ? 'unknown' : 'transient'
  }
  if (said.isBooked) return 'booked'
  if (said.isUnsent === true && facts.wasUnknown) return 'unknown'
  const meaning =
    facts.isLookup || said.isUnknown === true ? 'unknown' : classOf(said, facts.policy)
  if (meaning !== 'unknown') return meaning
  const { policy, isCancelNoted } = facts
  if (!policy.lookupSupported || (policy.idempotencyKeySupported && !isCancelNoted))
    return 'unknown'
  if (said.lookup === 'booked') return 'booked'
  return said.lookup === 'not_booked' ? 'transient' : 'unknown'
}

function classOf(
  said: Said,
  { errorTaxonomy, retryOnHttp }: PlatformPolicy,
): 'transient' | 'permanent' | 'unknown' {
  const byCode = errorTaxonomy[said.code]
  if (byCode !== undefined) return byCode
  if (TRANSIENT.includes(said.code)) return 'transient'
  if (PERMANENT.includes(said.code)) return 'permanent'
  if (said.http !== undefined) {
    const byStatus = errorTaxonomy[String(said.http)]
    if (byStatus !== undefined) return byStatus
    if (retryOnHttp !== null) {
      if (retryOnHttp.includes(said.http)) return 'transient'
      // A list says nothing of 501 or 599; everything else that it leaves out is final.
      return said.http > 500 && !RETRIED.includes(said.http) ? 'transient' : 'permanent'
    }
    if (RETRIED.includes(said.http)) return 'transient'
    if (said.http >= 400 && said.http < 500) return 'permanent'
  }
  return said.permanent ? 'permanent' : 'transient'
}
