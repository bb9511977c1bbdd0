import type { KindName } from '../../enqueue/kinds.ts'
import { FairleadError, invalidParams } from '../../errors.ts'
import type { Policy } from '../../policy/policy.ts'
import { isAttestedFor } from '../attestation/attestation.ts'
import type { Attestation } from '../provider.ts'
import { PROVIDER_STATUSES, type ProviderStatus } from './status.ts'

/** The facts from which the status of a provider follows at any time (STANDING-1). */
export interface Standing {
  readonly retired: boolean
  /** Null if it is not in jail. `JAILED_FOR_GOOD` ends only by an operator's word. */
  readonly jailedUntil: number | null
  readonly suspended: boolean
  readonly paused: boolean
  readonly admitted: boolean
}

export const NEW_STANDING: Standing = {
  retired: false,
  jailedUntil: null,
  suspended: false,
  paused: false,
  admitted: false,
}

/** The end of a jail that an operator set. */
export const JAILED_FOR_GOOD = Number.MAX_SAFE_INTEGER

/** The first that holds (STANDING-1). */
export function statusOf(standing: Standing, nowMs: number): ProviderStatus {
  if (standing.retired) return 'RETIRED'
  if (isJailed(standing, nowMs)) return 'JAILED'
  if (standing.suspended) return 'SUSPENDED'
  if (standing.paused) return 'PAUSED'
  return standing.admitted ? 'ACTIVE' : 'REGISTERED'
}

export function isSameStanding(a: Standing, b: Standing): boolean {
  return (
    a === b ||
    (a.retired === b.retired &&
      a.jailedUntil === b.jailedUntil &&
      a.suspended === b.suspended &&
      a.paused === b.paused &&
      a.admitted === b.admitted)
  )
}

/** The standing of a provider of which only the status is known. */
export function standingOf(status: ProviderStatus): Standing {
  if (status === 'REGISTERED') return NEW_STANDING
  return setStanding({ ...NEW_STANDING, admitted: true }, status)
}

/** When the status may next change by itself: the end of a jail. Null if only a command changes it. */
export function statusEndsAt(standing: Standing, nowMs: number): number | null {
  const { retired, jailedUntil } = standing
  if (retired || jailedUntil === null || jailedUntil === JAILED_FOR_GOOD) return null
  return nowMs < jailedUntil ? jailedUntil : null
}

/** An operator's word (STANDING-3). */
export function setStanding(standing: Standing, status: unknown): Standing {
  if (!isProviderStatus(status)) {
    throw invalidParams('status', 'ACTIVE, PAUSED, SUSPENDED, JAILED or RETIRED')
  }
  if (standing.retired || status === 'REGISTERED') {
    const found = standing.retired ? 'RETIRED is final' : 'REGISTERED is only how a provider starts'
    throw new FairleadError('InvalidState', `it cannot become ${status}: ${found}`, { status })
  }
  switch (status) {
    case 'ACTIVE':
      return { ...NEW_STANDING, admitted: true }
    case 'PAUSED':
      return { ...standing, paused: true }
    case 'SUSPENDED':
      return { ...standing, suspended: true, jailedUntil: null }
    case 'JAILED':
      return { ...standing, jailedUntil: JAILED_FOR_GOOD }
    case 'RETIRED':
      return { ...standing, retired: true }
  }
}

/**
 * After each command about a provider: it is admitted, for good, when stake and attestation suffice for all that it
 * offers (STANDING-2).
 */
export function admitted(
  standing: Standing,
  provider: Credentials,
  { nowMs, policy }: { readonly nowMs: number; readonly policy: Policy },
): Standing {
  if (standing.admitted || !suffices(provider, nowMs, policy)) return standing
  return { ...standing, admitted: true }
}

/** The health of a provider is 0 (STANDING-4). */
export function withoutHealth(standing: Standing, nowMs: number): Standing {
  return statusOf(standing, nowMs) === 'ACTIVE' ? suspended(standing) : standing
}

/** A certificate of its attestation was revoked, or its root is no longer pinned (STANDING-4). */
export function suspended(standing: Standing): Standing {
  return { ...standing, suspended: true }
}

/** The penalty that comes with a slash: jail, never shortened (SLA-8). */
export function jailed(standing: Standing, { nowMs, epochs, epochSecs }: EpochSpan): Standing {
  if (epochs === 0) return standing
  const until = penaltyEnd(standing.jailedUntil, { nowMs, epochs, epochSecs })
  return { ...standing, jailedUntil: until }
}

export interface EpochSpan {
  readonly nowMs: number
  readonly epochs: number
  readonly epochSecs: number
}

/** The end of a cooldown or a jail that starts now, or the end so far if that is later; null if there is none. */
export function penaltyEnd(
  soFar: number | null,
  { nowMs, epochs, epochSecs }: EpochSpan,
): number | null {
  if (epochs === 0) return soFar
  const end = Math.min(nowMs + 1_000 * epochSecs * epochs, JAILED_FOR_GOOD)
  return soFar === null || soFar < end ? end : soFar
}

/** The properties of a provider on which its admission depends. */
export interface Credentials {
  readonly kinds: Iterable<KindName>
  /** Without what is on its way out. */
  readonly stake: bigint
  readonly attestation: Attestation | null
}

function suffices(
  { kinds, stake, attestation }: Credentials,
  nowMs: number,
  policy: Policy,
): boolean {
  const { minStake, attestationRequired } = policy.registry
  let needed = 0n
  for (const kind of kinds) {
    needed += minStake[kind]
    if (attestationRequired[kind] && !isAttestedFor(kind, attestation, nowMs, policy)) return false
  }
  return stake >= needed
}

function isJailed({ jailedUntil }: Standing, nowMs: number): boolean {
  return jailedUntil !== null && nowMs < jailedUntil
}

function isProviderStatus(status: unknown): status is ProviderStatus {
  return PROVIDER_STATUSES.some((each) => each === status)
}
