import { createHash } from 'node:crypto'
import type { JobId, JobRow, JobStatus, KindName, LeaseStatus, Policy } from '@fairlead/core'

/**
 * The arithmetic of the rules once more, as plainly as it can be written. It shares nothing with core
 * but the settings: a mistake would have to be made twice to go unseen.
 */

const R = 1_000_000
const ENDED: ReadonlySet<JobStatus> = new Set(['COMPLETED', 'FAILED', 'EXPIRED', 'CANCELED'])
const LIVE: ReadonlySet<LeaseStatus> = new Set(['ACTIVE', 'RENEWED'])

/** STATE-2. */
export function hasEndedStatus(status: JobStatus): boolean {
  return ENDED.has(status)
}

/** STATE-4. */
export function isLiveStatus(status: LeaseStatus): boolean {
  return LIVE.has(status)
}

/** A score at one time (ORDER-1, ORDER-2). */
export function scoreOf(job: JobRow, nowMs: number, { priority }: Policy): number {
  const { weights, ageHorizonSecs: horizon, feeHalf, sizeHalf } = priority
  const fee = Number((BigInt(R) * job.fee) / (job.fee + feeHalf))
  const size = Number((BigInt(R) * sizeHalf) / (BigInt(job.sizeBytes) + sizeHalf))
  const tier = priority.tiers[job.tier] ?? 0
  const age = Math.min(horizon, Math.floor(nowMs / 1_000) - Math.floor(job.enqueueTs / 1_000))
  const fixed = weights.fee * fee + weights.size * size + weights.tier * tier
  return fixed * horizon + weights.age * R * age
}

/** Units of a job that asks for this much (QUOTA-2). */
export function unitsOf(job: {
  kind: KindName
  maxTokens: number
  shots: number
  depthHint: number
}): number {
  if (job.kind === 'ai') return Math.ceil(job.maxTokens / 100)
  if (job.kind === 'quantum') return Math.ceil((job.shots * Math.max(1, job.depthHint)) / 10_000)
  return 1
}

/** How long a job waits that has failed, with `n` charges before (RETRY-1). */
function backoffMs(kind: KindName, jobId: JobId, n: number, { queue }: Policy): number {
  const { baseBackoffAiSecs, baseBackoffQuantumSecs, baseBackoffTaskSecs } = queue.retries
  const { backoffCapSecs, backoffFactor } = queue.retries
  const base = {
    ai: baseBackoffAiSecs,
    quantum: baseBackoffQuantumSecs,
    task: baseBackoffTaskSecs,
    registration: 0,
  }[kind]
  const grown = (BigInt(base) * BigInt(backoffFactor) ** BigInt(n)) / 1_000n ** BigInt(n)
  const delay = grown < backoffCapSecs ? grown : BigInt(backoffCapSecs)
  const hash = taggedHash('AICF|retry', Buffer.from(jobId.slice(2), 'hex'), uvarint(n))
  const v = hash.readBigUInt64BE(0) >> 11n
  return 1_000 * Number((delay * (9n * 2n ** 52n + v) + 5n * 2n ** 52n) / (10n * 2n ** 52n))
}

/** The charges that end a job (OPTIONS-3). */
export function attemptsOf({ options }: JobRow, { queue, registry }: Policy): number {
  const { attemptMax } = queue.retries
  const own = options?.attempts ?? attemptMax
  return registry.health === 'on' ? Math.min(own, attemptMax) : own
}

/** How long a job waits after a charge or a loss, with a backoff of its own too (OPTIONS-4). */
export function waitOf({ id, kind, options }: JobRow, n: number, policy: Policy): number {
  const byKind = backoffMs(kind, id, n, policy)
  const own = options?.backoff
  if (own === undefined) return byKind
  const grown = (BigInt(own.baseMs) * BigInt(own.factorPermille) ** BigInt(n)) / 1_000n ** BigInt(n)
  const d = grown < own.capMs ? grown : BigInt(own.capMs)
  const hash = taggedHash('AICF|retry', Buffer.from(id.slice(2), 'hex'), uvarint(n))
  const v = hash.readBigUInt64BE(0) >> 11n
  const j = BigInt(own.jitterPermille)
  const spread = (1_000n - j) * 2n ** 52n + j * v
  const ms = Number((d * spread + 500n * 2n ** 52n) / (1_000n * 2n ** 52n))
  return policy.registry.health === 'on' ? Math.max(ms, byKind) : ms
}

/** The longest wait that a failure can ask for (FAIL-4). */
export function retryAfterMaxMs({ options }: JobRow, { queue, registry }: Policy): number {
  const day = 24 * 3_600_000
  if (registry.health === 'off') return day
  const own = options?.backoff?.capMs ?? 0
  return Math.min(day, Math.max(own, 1_000 * queue.retries.backoffCapSecs))
}

/** The code of a failure as it is kept (FAIL-2). */
export function keptCode(code: string): string {
  if (code === '') return 'error'
  const kept = Array.from(code, (one) => (/^[a-z0-9_.-]$/.test(one) ? one : '_'))
  return kept.slice(0, 64).join('')
}

export function leaseMs(kind: KindName, { queue }: Policy): number {
  const { aiSecs, quantumSecs, taskSecs, registrationSecs } = queue.lease
  return (
    1_000 *
    { ai: aiSecs, quantum: quantumSecs, task: taskSecs, registration: registrationSecs }[kind]
  )
}

/** When the absolute life of a job is over (TTL-1); where it names none it counts `from` a time. */
export function ttlAbsAt(job: JobRow, { queue: { ttl } }: Policy, from = job.enqueueTs): number {
  const {
    absDefaultAiSecs,
    absDefaultQuantumSecs,
    absDefaultTaskSecs,
    absDefaultRegistrationSecs,
  } = ttl
  const byKind = {
    ai: absDefaultAiSecs,
    quantum: absDefaultQuantumSecs,
    task: absDefaultTaskSecs,
    registration: absDefaultRegistrationSecs,
  }
  if (job.ttlAbsSecs !== null) return job.enqueueTs + 1_000 * job.ttlAbsSecs
  const secs = byKind[job.kind]
  return secs === null ? Number.POSITIVE_INFINITY : from + 1_000 * secs
}

/** When its life after the first assignment is over (TTL-1); null is no assignment, and no end. */
export function ttlRelAt(firstAssignedAt: number | null, { queue: { ttl } }: Policy): number {
  if (firstAssignedAt === null || ttl.relMaxSecs === null) return Number.POSITIVE_INFINITY
  return firstAssignedAt + 1_000 * ttl.relMaxSecs
}

/** The most units of a kind that a provider takes in an epoch (QUOTA-5). */
export function unitCap(kind: KindName, { queue: { quotas } }: Policy): number | null {
  const { aiUnitsPerEpoch, quantumUnitsPerEpoch, taskUnitsPerEpoch, registrationUnitsPerEpoch } =
    quotas
  return {
    ai: aiUnitsPerEpoch,
    quantum: quantumUnitsPerEpoch,
    task: taskUnitsPerEpoch,
    registration: registrationUnitsPerEpoch,
  }[kind]
}

export function epochAt(atMs: number, { queue: { quotas } }: Policy): number {
  return Math.floor(atMs / (1_000 * quotas.epochSecs))
}

/** The share of a caller (FAIR-5). */
export function weightOf({ caller, tier }: JobRow, { match }: Policy): number {
  return match.tenantWeights[caller] ?? match.tierWeights[tier] ?? 1
}

/** `SHA3(lp(tag) || lp(f1) || …)` for fields of less than 128 bytes. */
function taggedHash(tag: string, ...fields: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha3-256')
  for (const field of [Buffer.from(tag, 'utf8'), ...fields]) {
    hash.update(Uint8Array.of(field.length)).update(field)
  }
  return hash.digest()
}

function uvarint(n: number): Uint8Array {
  const bytes: number[] = []
  let left = n
  for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) + 128)
  return Uint8Array.from([...bytes, left])
}
