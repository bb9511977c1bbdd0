import type { PlatformPolicy } from '../policy/platform-policy.ts'
import { classifyAnswer, failureReason, type RefusedAnswer } from './classify.ts'

/** What a look at the platform's bookings found. */
export type Lookup = 'booked' | 'not_booked' | 'failed'

/**
 * How an attempt ended. `unknown`: the request may have arrived and no answer came back. `unsent`: its
 * worker never said that it would send it, so it was not sent. `isUnsent`: it was refused before the call
 * that can book. `lookup` is there when somebody looked and found out. With an unknown outcome `http` is
 * what the platform said last, to whatever it was asked.
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

/** What has been true of the job until this outcome. */
export interface AttemptContext {
  readonly policy: PlatformPolicy
  /** A cancel came in while the attempt was in flight. */
  readonly isCancelNoted: boolean
  /** The attempt before this one could have booked. */
  readonly wasUnknown: boolean
}

export type SessionEndStatus = 'COMPLETED' | 'FAILED' | 'CANCELED'

/** What becomes of the job. A retry still has to find room in the retry window. */
export type Judgement =
  | {
      readonly type: 'end'
      readonly status: SessionEndStatus
      /** Only a failure has one. */
      readonly reason: string | null
    }
  | { readonly type: 'retry'; readonly isUnknown: boolean; readonly retryAfterMs: number }

/** Decides what an outcome means for its job; nothing is ever booked twice (ATTEMPT-5). */
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

/** Would the outcome stay unknown although somebody could look? Then that comes first (ATTEMPT-9). */
export function needsLookup(outcome: AttemptOutcome, context: AttemptContext): boolean {
  if (!lookupDecides(context.policy, context.isCancelNoted)) return false
  const hasLooked = 'lookup' in outcome && outcome.lookup !== undefined
  return !hasLooked && resultOf(outcome, context) === 'unknown'
}

/** A cancel while the job waits: of an attempt that could have booked, a lookup decides (ATTEMPT-7). */
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

/** Should somebody look before `judgeAttempt` or `judgeCancel` is asked about an unknown outcome? */
export function lookupDecides(policy: PlatformPolicy, isCancelNoted: boolean): boolean {
  return policy.lookupSupported && (isCancelNoted || !policy.idempotencyKeySupported)
}

/** How long the platform asked to be left alone. */
export function askedToWaitMs(outcome: AttemptOutcome): number {
  return 'retryAfterMs' in outcome ? (outcome.retryAfterMs ?? 0) : 0
}

/** How long a job waits before retry `i`, counted from 0: its backoff, or Retry-After if longer (ATTEMPT-3). */
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
      // What was not sent changes nothing: the attempt before it may still have booked.
      return context.wasUnknown ? 'unknown' : 'transient'
    case 'unknown':
      return lookedUp(outcome.lookup, context)
    case 'refused': {
      // A hold that is refused says nothing of the commit before it.
      if (outcome.isUnsent === true && context.wasUnknown) return 'unknown'
      const found = classifyAnswer(outcome, context.policy)
      return found === 'unknown' ? lookedUp(outcome.lookup, context) : found
    }
  }
}

/** With an idempotency key the platform itself sorts it out, unless nothing may be sent any more. */
function lookedUp(lookup: Lookup | undefined, { policy, isCancelNoted }: AttemptContext): Result {
  if (!lookupDecides(policy, isCancelNoted)) return 'unknown'
  if (lookup === 'booked') return 'booked'
  return lookup === 'not_booked' ? 'transient' : 'unknown'
}
