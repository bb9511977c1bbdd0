import { type JobId, retryHash } from '../encoding/ids.ts'
import { KINDS, type KindName } from '../enqueue/kinds.ts'
import type { Job } from '../market/job.ts'
import type { Backoff } from '../options/job-options.ts'
import { backoffOf } from '../options/terms.ts'
import type { Policy } from '../policy/policy.ts'

/**
 * Milliseconds until a job is ready again after a charge, with its own backoff if it has one. Where health is on,
 * providers are not trusted, and no job waits for less than RETRY-1 says (OPTIONS-4).
 */
export function backoffMs(job: Job, retriesBefore: number, policy: Policy): number {
  const own = backoffOf(job, policy)
  const isTrusted = policy.registry.health === 'off'
  const ownMs = own === null ? 0 : jobBackoffMs(own, job.id, retriesBefore)
  if (own !== null && isTrusted) return ownMs
  return Math.max(ownMs, 1_000 * backoffSecs(job.shape.kind, job.id, retriesBefore, policy))
}

/** The delay of a job's own backoff in exact arithmetic (OPTIONS-4). */
export function jobBackoffMs(backoff: Backoff, jobId: JobId, retriesBefore: number): number {
  const { baseMs, factorPermille, capMs, jitterPermille } = backoff
  const power = BigInt(retriesBefore)
  const grown = (BigInt(baseMs) * BigInt(factorPermille) ** power) / 1_000n ** power
  const delay = grown < BigInt(capMs) ? grown : BigInt(capMs)
  const jitter = BigInt(jitterPermille)
  const v = jitterBits(retryHash(jobId, retriesBefore))
  const spread = (1_000n - jitter) * SCALE + jitter * v
  return Number((delay * spread + 500n * SCALE) / (1_000n * SCALE))
}

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
  const spread = 9n * SCALE + jitterBits(hash)
  return Number((BigInt(delaySecs) * spread + 5n * SCALE) / (10n * SCALE))
}

/** The mean of `jitterBits`. */
const SCALE = 1n << 52n

/** The first 53 bits of a retry hash. */
function jitterBits(hash: Uint8Array): bigint {
  return Buffer.from(hash).readBigUInt64BE(0) >> 11n
}
