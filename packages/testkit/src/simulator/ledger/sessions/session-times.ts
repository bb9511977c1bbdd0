import type { Book, JobEntry } from '../book.ts'
import { readyFrom } from './registration.ts'

/** Whether its session and its dispatch key would let a waiting registration go now. */
export function maySend({ sessions }: Book, job: JobEntry, nowMs: number): boolean {
  const registration = sessions.of(job)
  if (registration === null) return false
  const org = sessions.orgOf(registration)
  const policy = sessions.policyOf(org.platform)
  const isLookup = registration.lookupUntil !== null
  if (org.peekRefusal(policy, nowMs, isLookup) !== null) return false
  if (isLookup) return (registration.retryAt ?? nowMs) <= nowMs
  return readyFrom(registration) <= nowMs && org.spacedAt(policy, registration.eventId) <= nowMs
}

/** Openings, sends, ends of windows and pauses, tokens and recoveries to come. */
export function* sessionTimes({ sessions }: Book): Iterable<number> {
  for (const registration of sessions.jobs.values()) {
    yield registration.scheduledTime
    yield readyFrom(registration)
    yield sessions.givenUpAt(registration)
  }
  for (const org of sessions.orgs.values()) {
    if (org.jobs.size === 0) continue
    yield org.tokenAt()
    yield org.recoversAt(sessions.policyOf(org.platform))
    yield org.pausedUntil ?? 0
  }
}
