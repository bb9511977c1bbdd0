import { type JobId, retryHash } from '../encoding/ids.ts'
import { KINDS, type KindName } from '../enqueue/kinds.ts'
import type { Policy } from '../policy/policy.ts'

/**
 * Seconds until a failed job is ready again: `b0·factor^n` up to the cap, with a jitter of ±10 %. The jitter comes
 * from the job's id. So a restart computes the same time, and jobs that failed together still spread out
 * (RETRY-1).
 */
export function backoffSecs(
  kind: KindName,
  jobId: JobId,
  retriesBefore: number,
  policy: Policy,
): number {
  const { backoffCapSecs: cap, backoffFactor } = policy.queue.retries
  const base = KINDS[kind].backoffBaseSecs(policy)
  const delay = Math.min(cap, grown(base, backoffFactor, retriesBefore))
  return withJitter(delay, retryHash(jobId, retriesBefore))
}

/** `base·factor^n`, rounded down; the factor is in thousandths. */
function grown(base: number, factor: number, n: number): number {
  // From 2^53 on any base but 0 has reached the cap, and a higher power would lose digits.
  if (factor === 2_000) return base * 2 ** Math.min(n, 53)
  const power = BigInt(n)
  return Number((BigInt(base) * BigInt(factor) ** power) / 1_000n ** power)
}

/** `floor(delay·(1 + (2x − 1)·0.1) + 0.5)` in exact arithmetic, x the first 53 bits of the hash. */
function withJitter(delaySecs: number, hash: Uint8Array): number {
  const v = Buffer.from(hash).readBigUInt64BE(0) >> 11n
  const scale = 1n << 52n
  return Number((BigInt(delaySecs) * (9n * scale + v) + 5n * scale) / (10n * scale))
}
