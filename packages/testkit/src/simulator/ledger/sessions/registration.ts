import { createHash } from 'node:crypto'
import { type CborMap, decodeCbor, type LeaseId } from '@fairlead/core'
import type { PlatformPolicy } from '@fairlead/core/internal'
import type { JobEntry } from '../book.ts'

/** A registration as its payload and the journal tell it. */
export interface Registration {
  readonly job: JobEntry
  readonly platform: string
  readonly orgRef: string
  readonly eventId: string
  readonly userId: string
  scheduledTime: number
  readonly tie: string
  /** An operator asked for it, at whatever time. */
  readonly isOperators: boolean
  rank: number | null
  sendAt: number | null
  attempts: number
  lastAttempt: LeaseId | null
  firstSentAt: number | null
  sentAt: number | null
  retryAt: number | null
  isUnknown: boolean
  isCancelNoted: boolean
  /** Somebody has to look, until this time, and since when. */
  lookupUntil: number | null
  lookupSince: number
}

export function registrationOf(job: JobEntry, payload: Uint8Array): Registration {
  const asked = decodeCbor(payload) as CborMap
  const text = (name: string): string => asked[name] as string
  const scheduledTime = Number(asked['scheduled_time'])
  const iso = new Date(scheduledTime).toISOString()
  const digest = createHash('sha256').update(`${text('user_id')}${iso}${text('event_id')}`)
  return {
    job,
    platform: text('provider'),
    orgRef: text('org_ref'),
    eventId: text('event_id'),
    userId: text('user_id'),
    scheduledTime,
    tie: digest.digest('hex').slice(0, 16),
    isOperators: (asked['args'] as CborMap)['operator'] === true,
    rank: null,
    sendAt: null,
    attempts: 0,
    lastAttempt: null,
    firstSentAt: null,
    sentAt: null,
    retryAt: null,
    isUnknown: false,
    isCancelNoted: false,
    lookupUntil: null,
    lookupSince: 0,
  }
}

/** SESSION-2. */
export function isBefore(a: Registration, b: Registration): boolean {
  if (a.scheduledTime !== b.scheduledTime) return a.scheduledTime < b.scheduledTime
  const [atA, atB] = [a.job.facts.enqueueTs, b.job.facts.enqueueTs]
  if (atA !== atB) return atA < atB
  return a.tie !== b.tie ? a.tie < b.tie : a.job.facts.id < b.job.facts.id
}

/** From when on it may be sent; infinite where that is not a matter of time. */
export function readyFrom({ sentAt, lookupUntil, retryAt, sendAt }: Registration): number {
  if (sentAt !== null || lookupUntil !== null) return Number.POSITIVE_INFINITY
  return retryAt ?? sendAt ?? Number.POSITIVE_INFINITY
}

/** ATTEMPT-4. */
export function windowEnd(
  { scheduledTime, firstSentAt }: Registration,
  { windowMs }: PlatformPolicy,
): number {
  return Math.max(scheduledTime, firstSentAt ?? 0) + windowMs
}
