import type { Job } from '../market/job.ts'
import type { Market } from '../market/market.ts'
import { explainSession } from '../sessions/explain-session.ts'

/** Why a job waits (EXPLAIN-1). The first of these that holds is the reason. */
export const WAIT_REASONS = [
  'paused',
  'not_open',
  'scheduled',
  'dependencies',
  'backoff',
  'pacing',
  'budget',
  'proof',
  'no_provider',
  'ready',
] as const
export type WaitReason = (typeof WAIT_REASONS)[number]

/** The reason why a job cannot be taken whatever the providers, and until when as far as that is known. */
export interface WaitGate {
  readonly reason: WaitReason | null
  readonly until: number | null
}

const OPEN: WaitGate = { reason: null, until: null }
const PAUSED: WaitGate = { reason: 'paused', until: null }

/** Looks at the job alone, so that a long list of jobs can be asked for it. */
export function waitGate(market: Market, job: Job): WaitGate {
  if (market.pauses.holding(job.shape) !== null) return PAUSED
  if (job.session !== null) return explainSession(market, job.session).gate
  const { startsAt, waitsFor, notBefore } = job
  const isAhead = startsAt !== null && startsAt > market.nowMs
  if (isAhead && notBefore === null) return { reason: 'scheduled', until: startsAt }
  if (waitsFor > 0) return { reason: 'dependencies', until: null }
  return isAhead ? { reason: 'backoff', until: startsAt } : OPEN
}
