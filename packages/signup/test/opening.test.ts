import { compareAscii, tieBreaker } from '@fairlead/core/internal'
import type { Arrival } from '@fairlead/testkit/booking-provider'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Budget, jobOf, OpeningRig, type Person } from './opening-rig.ts'
import { siteLookup, siteRow } from './rig.ts'

const BUDGET: Budget = { max_concurrency: 4, max_rps: 20, burst: 4, min_spacing_ms: 20 }
const ONE_BY_ONE: Budget = { ...BUDGET, max_concurrency: 1 }
const SLOW: Budget = { max_concurrency: 4, max_rps: 6, burst: 2, min_spacing_ms: 20 }
const KEYS = { idempotency_key_supported: true, idempotency_key_location: 'header' }
/** What goes wrong at a site while it is opened. */
const ROUGH = { seats: 22, latencyMs: 60, errorPermille: 100, cutPermille: 100, hangPermille: 30 }
const QUICK = { timeout_ms: 1_000, lookup_settle_ms: 300 }
const ROUGH_SITES = ['keys', 'lookup', 'neither'] as const

let rig: OpeningRig
beforeAll(async () => {
  rig = await OpeningRig.open({
    keys: {
      rules: { ...ROUGH, idempotency: true, seed: 'keys' },
      row: (url) => siteRow(url, { profile: KEYS, adapter: QUICK }),
      budget: BUDGET,
    },
    lookup: {
      rules: { ...ROUGH, seed: 'lookup' },
      row: (url) => siteRow(url, { adapter: { ...siteLookup(url), ...QUICK } }),
      budget: BUDGET,
    },
    neither: {
      rules: { ...ROUGH, seed: 'neither' },
      row: (url) => siteRow(url, { adapter: QUICK }),
      budget: BUDGET,
    },
    calm: { rules: { seats: 4, waitlist: 1, latencyMs: 5 }, row: siteRow, budget: ONE_BY_ONE },
    plain: { rules: { latencyMs: 20 }, row: siteRow, budget: SLOW },
  })
  await rig.startWorkers({}, {}, {})
})
afterAll(() => rig.close())

const people = (provider: string, org: string, event: string, count: number): Person[] =>
  Array.from({ length: count }, (_, i) => ({ provider, org, event, user: `${org}-${event}-${i}` }))

/** Opens when everybody has had the time to ask. */
const soon = () => Date.now() + 2_000

describe('an opening', () => {
  it('ATTEMPT-5: with workers and the server killed nobody is booked twice, too early, too often or out of turn', async () => {
    rig.killsAt = (sending) => sending % 12 === 0 && sending <= 72
    const opensAt = soon()
    const all = await rig.schedule(
      ROUGH_SITES.flatMap((site) => people(site, 'o1', 'e1', 30)),
      opensAt,
    )
    await rig.until(() => rig.sending >= 40, '40 calls')
    await rig.killServer()
    await rig.allEnded(all)
    rig.killsAt = () => false

    expect(rig.kills).toBeGreaterThanOrEqual(5)
    const records = await rig.records()
    for (const site of ROUGH_SITES) {
      const jobs = all.filter((job) => rig.people.get(job)?.provider === site)
      const { arrivals, bookings } = await rig.seen(site)
      const booked = bookings.map(({ user }) => user)
      expect(booked.filter((user, i) => booked.indexOf(user) !== i)).toEqual([])
      for (const job of jobs) {
        // What it says of itself is what the site has in its books, or that nobody knows.
        const { result, reason } = records.get(job) ?? {}
        const isBooked = booked.includes(userOf(job))
        if (result === 'booked') expect(isBooked).toBe(true)
        else if (isBooked) expect([result, reason]).toEqual(['failed', 'outcome_unknown'])
      }
      // The clocks of two processes of one machine may be a millisecond apart.
      expect(Math.min(...arrivals.map(({ at }) => at))).toBeGreaterThan(opensAt - 2)
      expect(firstIssues(jobs)).toEqual(inOrder(jobs, opensAt))
      expectArrivedInOrder(jobs, arrivals)
      expectBudget(jobs, arrivals, BUDGET)
    }
  })

  it('SESSION-2: seats go to those who asked first, and everybody is told the truth', async () => {
    const opensAt = soon()
    const jobs = await rig.schedule(people('calm', 'o1', 'e1', 8), opensAt)
    await rig.allEnded(jobs)
    const { bookings } = await rig.seen('calm')
    const order = inOrder(jobs, opensAt)
    expect(bookings.map(({ user }) => user)).toEqual(order.slice(0, 5).map(userOf))
    const records = await rig.records()
    const told = order.map((job) => records.get(job))
    expect(told.map((one) => one?.result)).toEqual([
      ...['booked', 'booked', 'booked', 'booked', 'waitlisted', 'failed', 'failed', 'failed'],
    ])
    expect(told.map((one) => one?.rank)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    expect(told.map((one) => one?.booking_number).slice(0, 5)).toEqual(
      bookings.map(({ number }) => number),
    )
    expect(told.map((one) => one?.message.name)).toEqual([
      ...['success', 'success', 'success', 'success', 'waitlisted', 'full', 'full', 'full'],
    ])
    expect(told[7]?.first_attempt_delay_ms).toBeGreaterThanOrEqual(7 * ONE_BY_ONE.min_spacing_ms)
    expect(told[7]?.message.text).toMatch(
      /^We attempted registration (?:right when it opened, but the provider|\d.* after it opened, but The Site) reported/,
    )
  })

  it("BUDGET-1: a hot session delays nobody else's", async () => {
    const opensFirst = soon()
    const alone = await rig.schedule(people('plain', 'calm', 'e1', 12), opensFirst)
    await rig.allEnded(alone)
    // Its bucket is full again by then.
    const opensAt = soon()
    const beside = await rig.schedule(people('plain', 'calm', 'e2', 12), opensAt)
    const hot = ['h1', 'h2', 'h3', 'h4'].flatMap((event) => people('plain', 'hot', event, 12))
    const crowd = await rig.schedule(hot, opensAt)
    await rig.allEnded(beside)
    const { arrivals } = await rig.seen('plain')
    const waits = {
      alone: p95Wait(alone, arrivals, opensFirst, SLOW),
      beside: p95Wait(beside, arrivals, opensAt, SLOW),
    }
    const allowed = Math.max(1.1 * waits.alone, waits.alone + 20)
    expect(waits.beside).toBeLessThanOrEqual(allowed + longestStall(opensAt, Infinity))
    // It was hot: by then it had not got through.
    expect(firstIssues(crowd).length).toBeLessThan(crowd.length)
  })
})

const userOf = (job: string) => rig.people.get(job)?.user ?? ''

/** Attempts as the engine issued them; who only looks sends nothing. */
function issues(jobs: readonly string[]): { readonly job: string; readonly at: number }[] {
  return rig.events.flatMap((one) =>
    one.type === 'jobAssigned' && one.task !== 'lookup' && jobs.includes(one.jobId)
      ? [{ job: one.jobId, at: one.at }]
      : [],
  )
}

/** The jobs in the order of their first attempts. */
function firstIssues(jobs: readonly string[]): string[] {
  return [...new Set(issues(jobs).map(({ job }) => job))]
}

/** In the order in which people asked; in one millisecond the tie decides. */
function inOrder(jobs: readonly string[], opensAt: number): string[] {
  const asked = jobs.map((job) => {
    const at = rig.events.find((one) => one.type === 'jobEnqueued' && jobOf(one) === job)?.at
    const { user = '', event = '' } = rig.people.get(job) ?? {}
    return { job, at: at ?? Number.NaN, tie: tieBreaker(user, opensAt, event) }
  })
  asked.sort((a, b) => a.at - b.at || compareAscii(a.tie, b.tie))
  return asked.map(({ job }) => job)
}

/** How long a worker stood still at most, of the times that touch a span. */
function longestStall(fromMs: number, toMs: number): number {
  const touching = rig.stalls.filter(({ from, to }) => from <= toMs && to >= fromMs)
  return Math.max(0, ...touching.map(({ from, to }) => to - from))
}

/**
 * Of two first calls that went out more than 25 ms apart the first arrives first. When a call left is not known
 * of a worker that stood still right then.
 */
function expectArrivedInOrder(jobs: readonly string[], arrivals: readonly Arrival[]): void {
  const calls = rig.sends.flatMap(({ jobId, attempt, sentAt, pid }) => {
    if (!jobs.includes(jobId) || attempt !== 0 || sentAt === null) return []
    // The first arrival of somebody is that of the first attempt: there is never a second one meanwhile.
    const first = arrivals.find(({ call, user }) => call === 'book' && user === userOf(jobId))
    const isKnown = !rig.stalls.some(
      (one) => one.pid === pid && one.from <= sentAt && sentAt <= one.to,
    )
    return first === undefined ? [] : [{ sentAt, at: first.at, isKnown }]
  })
  let pairs = 0
  for (const a of calls.filter(({ isKnown }) => isKnown)) {
    for (const b of calls.filter(({ sentAt }) => sentAt - a.sentAt > 25)) {
      expect(b.at).toBeGreaterThan(a.at)
      pairs++
    }
  }
  expect(pairs).toBeGreaterThan(jobs.length)
}

/**
 * In no span more than the bucket gives: exactly as they were issued; with a quarter of a second as the site
 * counts them, and as much more as a worker stood still with calls that it had.
 */
function expectBudget(jobs: readonly string[], arrivals: readonly Arrival[], budget: Budget): void {
  const issued = issues(jobs).map(({ at }) => at)
  expectWithin(issued.toSorted(ascending), budget, () => 0)
  const arrived = arrivals.filter(({ call }) => call === 'book').map(({ at }) => at)
  expectWithin(
    arrived.toSorted(ascending),
    budget,
    (from, to) => 250 + longestStall(from - 1_000, to),
  )
}

const ascending = (a: number, b: number) => a - b

function expectWithin(
  times: readonly number[],
  { burst, max_rps: rate }: Budget,
  slackMs: (from: number, to: number) => number,
): void {
  times.forEach((from, i) => {
    for (let j = i; j < times.length; j++) {
      const to = times[j] as number
      const secs = (to - from + slackMs(from, to)) / 1_000
      expect(j - i + 1).toBeLessThanOrEqual(burst + rate * secs + 1e-6)
    }
  })
}

/** How much later than their send times people's first calls came to the site. */
function p95Wait(
  jobs: readonly string[],
  arrivals: readonly Arrival[],
  opensAt: number,
  { min_spacing_ms: spacing }: Budget,
): number {
  const users = new Map(inOrder(jobs, opensAt).map((job, rank) => [userOf(job), rank]))
  const waits = [...users].map(([user, rank]) => {
    const first = arrivals.find((one) => one.user === user)
    return (first?.at ?? Infinity) - opensAt - rank * spacing
  })
  return waits.toSorted(ascending)[Math.ceil(0.95 * waits.length) - 1] as number
}
