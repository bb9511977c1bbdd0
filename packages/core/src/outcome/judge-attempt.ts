import type { PlatformPolicy } from '../policy/platform-policy.ts'
import { classifyAnswer, failureReason, type RefusedAnswer } from './classify.ts'

/** The finding of a lookup in the platform's bookings. */
export type Lookup = 'booked' | 'not_booked' | 'failed'

/**
 * How an attempt ended. `unknown`: the request may have arrived, and no answer came back. `unsent`: the worker
 * never announced that it would send, so nothing was sent. `isUnsent`: the attempt was refused before the call
 * that can book. `lookup`: present if a lookup was made and is not worth repeating. With an unknown outcome,
 * `http` is the platform's last answer to any request.
 */
export type AttemptOutcome =
  | { readonly type: 'booked' }
  | ({
      readonly type: 'refused'
      readonly retryAfterMs?: number
      readonly isUnsent?: boolean
      readonly lookup?: Lookup
    } & RefusedAnswer)
  | {
      readonly type: 'unknown'
      readonly http?: number
      readonly retryAfterMs?: number
      readonly lookup?: Lookup
    }
  | { readonly type: 'unsent' }

/** Facts about the job from before this outcome. */
export interface AttemptContext {
  readonly policy: PlatformPolicy
  /** A cancel arrived while the attempt was in flight. */
  readonly isCancelNoted: boolean
  /** The previous attempt may have booked. */
  readonly wasUnknown: boolean
}

export type SessionEndStatus = 'COMPLETED' | 'FAILED' | 'CANCELED'

/** The decision about the job. A retry still needs room in the retry window. */
export type Judgement =
  | {
      readonly type: 'end'
      readonly status: SessionEndStatus
      /** Only a failure has a reason. */
      readonly reason: string | null
    }
  | { readonly type: 'retry'; readonly isUnknown: boolean; readonly retryAfterMs: number }

/** Decides what an outcome means for its job. Nothing is ever booked twice (ATTEMPT-5). */
export function judgeAttempt(outcome: AttemptOutcome, context: AttemptContext): Judgement {
  const { policy, isCancelNoted } = context
  const result = resultOf(outcome, context)
  if (result === 'booked') return ended('COMPLETED')
  const isUnknown = result === 'unknown'
  if (isCancelNoted) return isUnknown ? OUTCOME_UNKNOWN : ended('CANCELED')
  if (result === 'permanent') return ended('FAILED', failureReason(outcome as RefusedAnswer))
  if (isUnknown && !policy.idempotencyKeySupported) return OUTCOME_UNKNOWN
  return { type: 'retry', isUnknown, retryAfterMs: askedToWaitMs(outcome) }
}

/** True if the outcome stays unknown and a lookup can decide it. Then the lookup comes first (ATTEMPT-9). */
export function needsLookup(outcome: AttemptOutcome, context: AttemptContext): boolean {
  if (!lookupDecides(context.policy, context.isCancelNoted)) return false
  const hasLooked = 'lookup' in outcome && outcome.lookup !== undefined
  return !hasLooked && resultOf(outcome, context) === 'unknown'
}

/** Judges a cancel of a waiting job. If an attempt may have booked, a lookup decides (ATTEMPT-7). */
export function judgeCancel(
  isUnknown: boolean,
  policy: PlatformPolicy,
  lookup: Lookup | null,
): Judgement {
  if (!isUnknown) return ended('CANCELED')
  const outcome: AttemptOutcome =
    lookup === null ? { type: 'unknown' } : { type: 'unknown', lookup }
  return judgeAttempt(outcome, { policy, isCancelNoted: true, wasUnknown: true })
}

/** True if a lookup must come before `judgeAttempt` or `judgeCancel` judges an unknown outcome. */
export function lookupDecides(policy: PlatformPolicy, isCancelNoted: boolean): boolean {
  return policy.lookupSupported && (isCancelNoted || !policy.idempotencyKeySupported)
}

/** The wait that the platform asked for. */
export function askedToWaitMs(outcome: AttemptOutcome): number {
  return 'retryAfterMs' in outcome ? (outcome.retryAfterMs ?? 0) : 0
}

/** The wait before retry `i`, counted from 0: its backoff, or Retry-After if that is longer (ATTEMPT-3). */
export function retryWaitMs(policy: PlatformPolicy, i: number, retryAfterMs: number): number {
  const { backoffMs } = policy
  const backoff = backoffMs[Math.min(i, backoffMs.length - 1)] ?? 0
  return Math.max(backoff, retryAfterMs)
}

const OUTCOME_UNKNOWN: Judgement = ended('FAILED', 'outcome_unknown')

function ended(status: SessionEndStatus, reason: string | null = null): Judgement {
  return { type: 'end', status, reason }
}

type Result = 'booked' | 'transient' | 'permanent' | 'unknown'

function resultOf(outcome: AttemptOutcome, context: AttemptContext): Result {
  switch (outcome.type) {
    case 'booked':
      return 'booked'
    case 'unsent':
      // An unsent attempt changes nothing: the attempt before it may still have booked.
      return context.wasUnknown ? 'unknown' : 'transient'
    case 'unknown':
      return lookedUp(outcome.lookup, context)
    case 'refused': {
      // A refused hold says nothing about the commit before it.
      if (outcome.isUnsent === true && context.wasUnknown) return 'unknown'
      const found = classifyAnswer(outcome, context.policy)
      return found === 'unknown' ? lookedUp(outcome.lookup, context) : found
    }
  }
}

/** With an idempotency key a retry lets the platform settle it, unless nothing may be sent any more. */
function lookedUp(lookup: Lookup | undefined, { policy, isCancelNoted }: AttemptContext): Result {
  if (!lookupDecides(policy, isCancelNoted)) return 'unknown'
  if (lookup === 'booked') return 'booked'
  return lookup === 'not_booked' ? 'transient' : 'unknown'
}
