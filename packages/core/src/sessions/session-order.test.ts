import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JobId } from '../encoding/ids.ts'
import {
  compareInSession,
  compareSessions,
  minSpacingMs,
  type SessionJob,
  SessionRanks,
  type SessionRequest,
  sessionUser,
  tieBreaker,
} from './session-order.ts'

// A second reading of the rules, with Date and plain lists.
interface NaiveJob {
  readonly request: SessionRequest
  readonly queuedAt: number
  readonly tie: string
  canceled: boolean
  rank: number | null
  sendAt: number | null
}

const naiveTie = (userId: string, time: number, eventId: string): string =>
  createHash('sha256')
    .update(Buffer.from(userId + new Date(time).toISOString() + eventId, 'utf8'))
    .digest('hex')
    .slice(0, 16)

const bytesOf = (text: string): Buffer => Buffer.from(text, 'utf8')

function naiveOrder(a: NaiveJob, b: NaiveJob): number {
  const [left, right] = [a.request, b.request]
  if (left.scheduledTime !== right.scheduledTime) return left.scheduledTime - right.scheduledTime
  if (a.queuedAt !== b.queuedAt) return a.queuedAt - b.queuedAt
  if (a.tie !== b.tie) return Buffer.compare(bytesOf(a.tie), bytesOf(b.tie))
  return Buffer.compare(bytesOf(left.id), bytesOf(right.id))
}

class NaiveRanks {
  readonly jobs: NaiveJob[] = []
  now = 0

  inGroupOf(request: SessionRequest): NaiveJob[] {
    return this.jobs.filter(
      ({ request: other }) =>
        other.platform === request.platform &&
        other.orgRef === request.orgRef &&
        other.eventId === request.eventId &&
        other.scheduledTime === request.scheduledTime,
    )
  }

  advance(now: number): void {
    this.now = Math.max(this.now, now)
    const due = this.jobs.filter(
      (job) => !job.canceled && job.rank === null && job.request.scheduledTime <= this.now,
    )
    for (const job of due.sort(naiveOrder)) this.#rank(job)
  }

  join(request: SessionRequest, userId: string): NaiveJob {
    const { scheduledTime, eventId } = request
    const tie = naiveTie(userId, scheduledTime, eventId)
    const job = { request, queuedAt: this.now, tie, canceled: false, rank: null, sendAt: null }
    this.jobs.push(job)
    if (scheduledTime <= this.now) this.#rank(job)
    return job
  }

  #rank(job: NaiveJob): void {
    const taken = this.inGroupOf(job.request).map(({ rank }) => rank ?? -1)
    job.rank = Math.max(-1, ...taken) + 1
    const spacing = { bookeo: 40, campminder: 100 }[job.request.platform] ?? 50
    job.sendAt = job.request.scheduledTime + job.rank * spacing
  }
}

const T0 = 1_760_000_000_000
const idOf = (n: number): JobId =>
  `0x${createHash('sha256').update(String(n)).digest('hex')}` as JobId

const platforms = fc.constantFrom('bookeo', 'campminder', 'other', 'a","b', '\u{10151}')
const refs = fc.constantFrom('org', 'a', 'a","b', '', '["a"]', '\uffff')
type Join = {
  op: 'join'
  at: number
  platform: string
  orgRef: string
  eventId: string
  userId: string
  offset: number
}
type Step = Join | { op: 'cancel'; at: number; which: number } | { op: 'tick'; at: number }
const joins: fc.Arbitrary<Join> = fc.record({
  op: fc.constant('join' as const),
  at: fc.integer({ min: T0 - 20, max: T0 + 120 }),
  platform: platforms,
  orgRef: refs,
  eventId: refs,
  userId: fc.string({ unit: 'binary', maxLength: 4 }),
  offset: fc.constantFrom(0, 0, 0, 30, 60, 100),
})
const cancels = fc.record({
  op: fc.constant('cancel' as const),
  at: fc.integer({ min: T0 - 20, max: T0 + 120 }),
  which: fc.nat(),
})
const ticks = fc.record({
  op: fc.constant('tick' as const),
  at: fc.integer({ min: T0 - 40, max: T0 + 130 }),
})
const oneSession = joins.map((step) => ({
  ...step,
  platform: 'bookeo',
  orgRef: 'org',
  eventId: 'e',
}))
/** In the order of time more often than not, so that much happens before an opening. */
const scripts = (join: fc.Arbitrary<Join>): fc.Arbitrary<Step[]> =>
  fc
    .tuple(
      fc.array<Step>(fc.oneof({ weight: 4, arbitrary: join }, cancels, ticks), { maxLength: 40 }),
      fc.boolean(),
    )
    .map(([steps, sorted]) => (sorted ? steps.sort((a, b) => a.at - b.at) : steps))

/** Runs a script in both and compares them after every step; gives all jobs of the real one. */
function runBoth(steps: readonly Step[]): SessionJob[] {
  const ranks = new SessionRanks()
  const naive = new NaiveRanks()
  const jobs: SessionJob[] = []
  const canceled = new Set<SessionJob>()
  const given = new Map<SessionJob, number>()
  for (const step of steps) {
    ranks.advance(step.at)
    naive.advance(step.at)
    if (step.op === 'join') {
      const { platform, orgRef, eventId, userId, offset } = step
      const scheduledTime = T0 + offset
      const user = sessionUser(userId, scheduledTime, eventId)
      const request = { id: idOf(jobs.length), platform, orgRef, eventId, ...user, scheduledTime }
      jobs.push(ranks.join(request))
      naive.join(request, userId)
    } else if (step.op === 'cancel' && jobs.length > 0) {
      const which = step.which % jobs.length
      canceled.add(jobs[which] as SessionJob)
      ranks.cancel(jobs[which] as SessionJob)
      ;(naive.jobs[which] as NaiveJob).canceled = true
    }
    for (const [job, rank] of given) expect(job.rank).toBe(rank)
    for (const job of jobs) if (job.rank !== null) given.set(job, job.rank)
    expect(jobs.map(({ rank, sendAt, queuedAt }) => ({ rank, sendAt, queuedAt }))).toEqual(
      naive.jobs.map(({ rank, sendAt, queuedAt }) => ({ rank, sendAt, queuedAt })),
    )
  }
  return jobs
}

const job = (changes: Partial<SessionJob>): SessionJob => ({
  id: idOf(0),
  platform: 'bookeo',
  orgRef: 'org',
  eventId: 'e',
  scheduledTime: T0,
  queuedAt: T0,
  tieBreaker: '8000000000000000',
  seat: '8000000000000000',
  rank: null,
  sendAt: null,
  ...changes,
})
const signUp = (n: number, changes: Partial<SessionRequest> = {}): SessionRequest => ({
  id: idOf(n),
  platform: 'bookeo',
  orgRef: 'org',
  eventId: 'e',
  ...sessionUser(`u${n}`, T0, 'e'),
  scheduledTime: T0,
  ...changes,
})
const ranksOf = (jobs: readonly SessionJob[]): (number | null)[] => jobs.map(({ rank }) => rank)

describe('ranks', () => {
  it('SESSION-4: ranks and send times are those of a naive model, whatever happens', () => {
    fc.assert(
      fc.property(scripts(joins), (steps) => {
        runBoth(steps)
      }),
      { numRuns: 300 },
    )
  })

  it('SESSION-6: in one session a rank is never given twice and never moves', () => {
    fc.assert(
      fc.property(scripts(oneSession), (steps) => {
        const ranked = runBoth(steps).filter(({ rank }) => rank !== null)
        const places = ranked.map(({ scheduledTime, rank }) => `${scheduledTime} ${rank}`)
        expect(new Set(places).size).toBe(places.length)
      }),
      { numRuns: 300 },
    )
  })

  it('SESSION-4: nobody has a rank before the time, and all who wait have one at it', () => {
    const ranks = new SessionRanks()
    ranks.advance(T0 - 10)
    const jobs = [0, 1, 2, 3].map((n) => ranks.join(signUp(n)))
    ranks.advance(T0 - 1)
    expect(ranksOf(jobs)).toEqual([null, null, null, null])
    expect(jobs.map(({ sendAt }) => sendAt)).toEqual([null, null, null, null])
    ranks.advance(T0)
    const sorted = [...jobs].sort(compareInSession)
    expect(ranksOf(sorted)).toEqual([0, 1, 2, 3])
    expect(sorted.map(({ sendAt }) => sendAt)).toEqual([T0, T0 + 40, T0 + 80, T0 + 120])
  })

  it('SESSION-4: an earlier arrival has the lower rank, and within a millisecond the tie breaker', () => {
    const ranks = new SessionRanks()
    const jobs: SessionJob[] = []
    for (let n = 0; n < 30; n++) {
      ranks.advance(T0 - 30 + Math.floor(n / 10))
      jobs.push(ranks.join(signUp(n)))
    }
    ranks.advance(T0)
    for (const a of jobs) {
      for (const b of jobs) {
        if (a === b) continue
        const isFirst =
          a.queuedAt < b.queuedAt || (a.queuedAt === b.queuedAt && a.tieBreaker < b.tieBreaker)
        expect((a.rank as number) < (b.rank as number)).toBe(isFirst)
      }
    }
  })

  it('SESSION-6: who joins at the opening or later gets the next rank, whatever its tie breaker', () => {
    const ranks = new SessionRanks()
    ranks.advance(T0 - 1)
    const early = [ranks.join(signUp(0)), ranks.join(signUp(1))]
    ranks.advance(T0)
    const late = Array.from({ length: 20 }, (_, n) => ranks.join(signUp(2 + n)))
    expect([...ranksOf(early)].sort()).toEqual([0, 1])
    expect(ranksOf(late)).toEqual(late.map((_, n) => 2 + n))
    ranks.advance(T0 + 5_000)
    expect(ranks.join(signUp(99))).toMatchObject({ rank: 22, sendAt: T0 + 22 * 40 })
  })

  it('SESSION-6: the first to join a session whose time has passed gets rank 0 at once', () => {
    const ranks = new SessionRanks()
    ranks.advance(T0 + 1_000)
    expect(ranks.join(signUp(0))).toMatchObject({ rank: 0, sendAt: T0, queuedAt: T0 + 1_000 })
    expect(ranks.join(signUp(1))).toMatchObject({ rank: 1, sendAt: T0 + 40 })
  })

  it('SESSION-7: cancelled before the opening the gap closes, afterwards it stays', () => {
    const ranks = new SessionRanks()
    ranks.advance(T0 - 10)
    const jobs = Array.from({ length: 6 }, (_, n) => ranks.join(signUp(n)))
    const sorted = [...jobs].sort(compareInSession)
    ranks.cancel(sorted[0] as SessionJob)
    ranks.cancel(sorted[3] as SessionJob)
    ranks.advance(T0)
    expect(ranksOf(sorted)).toEqual([null, 0, 1, null, 2, 3])
    ranks.cancel(sorted[2] as SessionJob)
    ranks.cancel(sorted[5] as SessionJob)
    expect(ranksOf(sorted)).toEqual([null, 0, 1, null, 2, 3])
    expect(ranks.join(signUp(10)).rank).toBe(4)
    expect(sorted[2]?.sendAt).toBe(T0 + 40)
  })

  it('SESSION-7: cancelling twice, or after everyone is gone, changes nothing', () => {
    const ranks = new SessionRanks()
    const only = ranks.join(signUp(0))
    ranks.cancel(only)
    ranks.cancel(only)
    const next = ranks.join(signUp(1))
    ranks.advance(T0)
    expect([only.rank, next.rank]).toEqual([null, 0])
    ranks.cancel(next)
    ranks.cancel(next)
    expect(ranks.join(signUp(2)).rank).toBe(1)
  })

  it('SESSION-1: sessions and times do not share ranks', () => {
    const ranks = new SessionRanks()
    ranks.advance(T0)
    const others: Partial<SessionRequest>[] = [
      {},
      { eventId: 'f' },
      { orgRef: 'org2' },
      { platform: 'campminder' },
      { scheduledTime: T0 - 1 },
      { orgRef: 'org","e', eventId: 'x' },
      { orgRef: 'org', eventId: 'e","x' },
      { orgRef: 'or', eventId: 'ge' },
      { eventId: 'E' },
    ]
    for (const other of others) expect(ranks.join(signUp(0, other)).rank).toBe(0)
    for (const other of others) expect(ranks.join(signUp(1, other)).rank).toBe(1)
  })

  it('SESSION-4: time never goes back: an earlier time counts as the latest seen', () => {
    const ranks = new SessionRanks()
    ranks.advance(T0)
    ranks.advance(T0 - 50)
    const first = ranks.join(signUp(0))
    expect(first).toMatchObject({ queuedAt: T0, rank: 0 })
    expect(ranks.join(signUp(1, { scheduledTime: T0 + 1 })).rank).toBeNull()
  })

  it('SESSION-4: one step over many openings opens them all, each with its own spacing', () => {
    const ranks = new SessionRanks((platform) => minSpacingMs(platform, { other: 7, default: 3 }))
    const jobs = Array.from({ length: 40 }, (_, n) =>
      ranks.join(
        signUp(n, {
          platform: n % 2 === 0 ? 'other' : 'unknown',
          scheduledTime: T0 + (n % 5),
        }),
      ),
    )
    ranks.advance(T0 + 10)
    for (const { platform, scheduledTime, rank, sendAt } of jobs) {
      expect(rank).not.toBeNull()
      expect(sendAt).toBe(scheduledTime + (rank as number) * (platform === 'other' ? 7 : 3))
    }
  })

  it('SESSION-4: a spacing of 0 sends all at once', () => {
    const ranks = new SessionRanks(() => 0)
    ranks.advance(T0)
    expect([ranks.join(signUp(0)).sendAt, ranks.join(signUp(1)).sendAt]).toEqual([T0, T0])
  })
})

describe('the order in a session', () => {
  it('SESSION-2: scheduled_time, then queued_at, then tie breaker, then job id decide', () => {
    const [low, high] = [idOf(1), idOf(2)].sort() as [JobId, JobId]
    const rows: SessionJob[] = [
      job({ scheduledTime: T0 - 1, queuedAt: T0 + 9, tieBreaker: 'f', id: high }),
      job({ queuedAt: T0 - 1, tieBreaker: 'f', id: high }),
      job({ tieBreaker: '0', id: high }),
      job({ tieBreaker: '8', id: low }),
      job({ tieBreaker: '8', id: high }),
      job({ tieBreaker: 'a', id: low }),
    ]
    for (let i = 0; i < rows.length; i++) {
      for (let k = 0; k < rows.length; k++) {
        const sign = Math.sign(compareInSession(rows[i] as SessionJob, rows[k] as SessionJob))
        expect(sign).toBe(Math.sign(i - k))
      }
    }
  })

  it('SESSION-3: the tie breaker is SHA-256 over user, time and event without separators', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.integer({ min: 0, max: 253_402_300_799_999 }),
        fc.string({ unit: 'binary' }),
        (userId, time, eventId) => {
          const breaker = tieBreaker(userId, time, eventId)
          expect(breaker).toBe(naiveTie(userId, time, eventId))
          expect(breaker).toMatch(/^[0-9a-f]{16}$/)
        },
      ),
    )
    expect(sessionUser('u1', 1_767_261_600_000, 'ev1').tieBreaker).toBe('964feb89c8ccc131')
    expect(tieBreaker('u1', 1_767_261_600_000, 'ev1')).toBe('964feb89c8ccc131')
    const ranks = new SessionRanks()
    expect(ranks.join(signUp(5)).tieBreaker).toBe(naiveTie('u5', T0, 'e'))
  })

  it('SESSION-8: sessions are ordered part by part, by UTF-8 bytes', () => {
    const parts = fc.oneof(refs, fc.string({ unit: 'binary', maxLength: 3 }))
    const keys = fc.record({ platform: parts, orgRef: parts, eventId: parts })
    fc.assert(
      fc.property(keys, keys, (a, b) => {
        const expected =
          Buffer.compare(bytesOf(a.platform), bytesOf(b.platform)) ||
          Buffer.compare(bytesOf(a.orgRef), bytesOf(b.orgRef)) ||
          Buffer.compare(bytesOf(a.eventId), bytesOf(b.eventId))
        expect(Math.sign(compareSessions(a, b))).toBe(expected)
      }),
      { numRuns: 300 },
    )
    // Joined to one text, these two would change places.
    const short = { platform: 'a', orgRef: 'z', eventId: '' }
    const long = { platform: 'ab', orgRef: 'a', eventId: '' }
    expect(compareSessions(short, long)).toBeLessThan(0)
  })
})

describe('spacing', () => {
  it.each([
    ['bookeo', {}, 40],
    ['campminder', {}, 100],
    ['other', {}, 50],
    ['other', { default: 7 }, 7],
    ['bookeo', { default: 7 }, 40],
    ['bookeo', { default: 7, bookeo: 9 }, 9],
    ['other', { other: 0, default: 7 }, 0],
    ['other', { default: 0 }, 0],
    ['default', {}, 50],
    ['default', { default: 8 }, 8],
    ['Bookeo', {}, 50],
    ['constructor', {}, 50],
    ['__proto__', {}, 50],
    ['toString', { default: 6 }, 6],
  ])('SESSION-5: the spacing of %s under %j is %d', (platform, given, expected) => {
    expect(minSpacingMs(platform, given as Record<string, number>)).toBe(expected)
  })
})
