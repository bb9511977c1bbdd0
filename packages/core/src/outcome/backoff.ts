import { KINDS, type KindName } from '../enqueue/kinds.ts'
import { type JobId, retryHash } from '../ids.ts'
import type { Policy } from '../policy.ts'

/**
 * Seconds until a charged job is ready again: `b0·2^n` up to the cap, with a jitter of ±10 % that
 * comes from the job's id, so a restart computes the same time and jobs that failed together still
 * spread out (RETRY-1).
 */
export function backoffSecs(
  kind: KindName,
  jobId: JobId,
  retriesBefore: number,
  policy: Policy,
): number {
  const { backoffCapSecs: cap } = policy.queue.retries
  const base = KINDS[kind].backoffBaseSecs(policy)
  // From 2^53 on any base but 0 has reached the cap, and a higher power would lose its last digits.
  const delay = Math.min(cap, base * 2 ** Math.min(retriesBefore, 53))
  return withJitter(delay, retryHash(jobId, retriesBefore))
}

/** `floor(delay·(1 + (2x − 1)·0.1) + 0.5)` in exact arithmetic, x the first 53 bits of the hash. */
function withJitter(delaySecs: number, hash: Uint8Array): number {
  const v = Buffer.from(hash).readBigUInt64BE(0) >> 11n
  const scale = 1n << 52n
  return Number((BigInt(delaySecs) * (9n * scale + v) + 5n * scale) / (10n * scale))
}
