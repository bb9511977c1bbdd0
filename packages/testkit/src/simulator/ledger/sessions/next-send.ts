import type { PlatformPolicy } from '@fairlead/core/internal'
import type { JobEntry } from '../book.ts'
import type { OrgAccount } from './org-account.ts'
import { isBefore, type Registration, readyFrom } from './registration.ts'

/** Who is to be sent next by a dispatch key, and the sessions that had somebody ready. */
export interface NextSend {
  readonly registration: Registration
  readonly sessions: readonly string[]
}

/**
 * Whose turn it is (DISPATCH-2 to DISPATCH-4). One that nobody may take for the moment is passed over and
 * holds nobody up (DISPATCH-8); null where nobody is left.
 */
export function nextSend(
  org: OrgAccount,
  now: {
    readonly policy: PlatformPolicy
    readonly atMs: number
    readonly fits: (job: JobEntry) => boolean
    /** Those that this round has passed over, to which those are added that are now. */
    readonly passed?: Set<Registration>
  },
): NextSend | null {
  const { policy, atMs, fits, passed = new Set() } = now
  const ready = new Set(
    [...org.jobs].filter(
      (one) =>
        !passed.has(one) && readyFrom(one) <= atMs && org.spacedAt(policy, one.eventId) <= atMs,
    ),
  )
  while (ready.size > 0) {
    const sessions = [...new Set([...ready].map(({ eventId }) => eventId))].sort(byBytes)
    const turn = turnOf(org, policy, sessions)
    const own = [...ready].filter(({ eventId }) => eventId === turn)
    const registration = own.reduce((a, b) => (isBefore(b, a) ? b : a))
    if (fits(registration.job)) return { registration, sessions }
    ready.delete(registration)
    passed.add(registration)
  }
  return null
}

function turnOf(org: OrgAccount, { weights }: PlatformPolicy, sessions: readonly string[]): string {
  const [first] = sessions as [string, ...string[]]
  if (weights === null) {
    const { servedLast } = org
    const behind = sessions.find((one) => servedLast !== null && byBytes(one, servedLast) > 0)
    return behind ?? first
  }
  const figureOf = (one: string): number => (org.figures.get(one) ?? 0) + (weights[one] ?? 1)
  return sessions.reduce((a, b) => (figureOf(b) > figureOf(a) ? b : a), first)
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
