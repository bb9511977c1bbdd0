import type { Policy } from '../policy/policy.ts'

export type PriorityPolicy = Policy['priority']

/** The inputs of a score, apart from the waiting time. */
export interface Scored {
  readonly fee: bigint
  readonly sizeBytes: number
  readonly tier: string
}

/** Terms run from 0 to R. */
const R = 1_000_000

/** The four terms of a score at one time, for explanations (ORDER-1). */
export interface ScoreTerms {
  readonly fee: number
  readonly size: number
  readonly tier: number
  readonly ageSecs: number
}

export function scoreTerms(
  job: Scored & { readonly readyTs: number },
  nowMs: number,
  policy: PriorityPolicy,
): ScoreTerms {
  return {
    fee: feeTerm(job.fee, policy.feeHalf),
    size: sizeTerm(job.sizeBytes, policy.sizeHalf),
    tier: tierTerm(job.tier, policy),
    ageSecs: Math.min(policy.ageHorizonSecs, secondOf(nowMs) - secondOf(job.readyTs)),
  }
}

/** The part of a score that time does not change: at most 10^9 (ORDER-2). */
export function staticScore(job: Scored, policy: PriorityPolicy): number {
  const { weights } = policy
  return (
    weights.fee * feeTerm(job.fee, policy.feeHalf) +
    weights.size * sizeTerm(job.sizeBytes, policy.sizeHalf) +
    weights.tier * tierTerm(job.tier, policy)
  )
}

/** `static·A + w_age·R·age`, exact: the bound on the horizon keeps it below 2^53 (ORDER-2). */
export function scoreAt(
  job: { readonly staticScore: number; readonly readyTs: number },
  nowMs: number,
  policy: PriorityPolicy,
): number {
  const horizon = policy.ageHorizonSecs
  const age = Math.min(horizon, secondOf(nowMs) - secondOf(job.readyTs))
  return job.staticScore * horizon + policy.weights.age * R * age
}

/** A score as people see it, 0 … 1. */
export function shownScore(score: number, policy: PriorityPolicy): number {
  return score / (1_000 * R * policy.ageHorizonSecs)
}

/** The score that one second of waiting adds. */
export function scorePerSecond(policy: PriorityPolicy): number {
  return policy.weights.age * R
}

export function secondOf(ms: number): number {
  return Math.floor(ms / 1_000)
}

function feeTerm(fee: bigint, half: bigint): number {
  return shareOf(fee, half)
}

function sizeTerm(sizeBytes: number, half: bigint): number {
  return shareOf(half, BigInt(sizeBytes))
}

/** R times such a number is below 2^53, and so is the sum of two. So their quotient is rounded down correctly. */
const SMALL_MAX = BigInt(Math.floor(Number.MAX_SAFE_INTEGER / R))

/** `floor(R·part / (part + rest))`. Numbers take a fifth of the time that bigints do. */
function shareOf(part: bigint, rest: bigint): number {
  if (part > SMALL_MAX || rest > SMALL_MAX) return Number((BigInt(R) * part) / (part + rest))
  const small = Number(part)
  return Math.floor((R * small) / (small + Number(rest)))
}

/** A tier that the policy no longer has counts as 0, so that its jobs do not get stuck. */
function tierTerm(tier: string, policy: PriorityPolicy): number {
  return Object.hasOwn(policy.tiers, tier) ? (policy.tiers[tier] as number) : 0
}
