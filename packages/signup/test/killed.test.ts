import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { OpeningRig, type SitePlan } from './opening-rig.ts'
import { siteHolds, siteLookup, siteRow } from './rig.ts'

const BUDGET = { max_concurrency: 4, max_rps: 20, burst: 4, min_spacing_ms: 20 }
const KEYS = { idempotency_key_supported: true, idempotency_key_location: 'header' }
const HOLD_TTL_MS = 1_500
const PATIENCE = { timeout: 120_000 }
const HOLDS = {
  booking_model: 'hold_then_commit',
  supports_hold: true,
  hold_ttl_ms: HOLD_TTL_MS,
}

let rig: OpeningRig
afterEach(() => rig.close())

interface Case {
  readonly diesAt: 'held' | 'answered' | 'charged'
  readonly hasKeys?: true
  readonly hasLookup?: true
  readonly hasHolds?: true
  readonly seats?: number
  /** What the receipt says in the end. */
  readonly result: 'booked' | 'failed'
  /** What the site has in its books. */
  readonly bookings: 0 | 1
}

function planOf({ hasKeys, hasLookup, hasHolds, seats = 10 }: Case): SitePlan {
  return {
    rules: { seats, holdTtlMs: HOLD_TTL_MS, idempotency: hasKeys === true },
    row: (url) => ({
      ...siteRow(url, {
        profile: { ...(hasKeys ? KEYS : {}), ...(hasHolds ? HOLDS : {}) },
        adapter: {
          ...(hasHolds ? siteHolds(url) : {}),
          ...(hasLookup ? siteLookup(url) : {}),
          lookup_settle_ms: 100,
        },
      }),
      retry: { window_ms: 5_000 },
    }),
    budget: BUDGET,
  }
}

/** Each at a site of its own, with a worker of its own, all at the same time. */
const CASES: Readonly<Record<string, Case>> = {
  'held, with keys': {
    diesAt: 'held',
    hasHolds: true,
    hasKeys: true,
    result: 'booked',
    bookings: 1,
  },
  'held, with a lookup': {
    diesAt: 'held',
    hasHolds: true,
    hasLookup: true,
    result: 'booked',
    bookings: 1,
  },
  'held, with neither': { diesAt: 'held', hasHolds: true, result: 'failed', bookings: 0 },
  'committed, with keys': {
    diesAt: 'answered',
    hasHolds: true,
    hasKeys: true,
    result: 'booked',
    bookings: 1,
  },
  // The seat that nobody knows of was the last one: a hold is refused, and says nothing of the commit.
  'committed, with keys, the last seat': {
    diesAt: 'answered',
    hasHolds: true,
    hasKeys: true,
    seats: 1,
    result: 'failed',
    bookings: 1,
  },
  'committed, with a lookup': {
    diesAt: 'answered',
    hasHolds: true,
    hasLookup: true,
    seats: 1,
    result: 'booked',
    bookings: 1,
  },
  'committed, with neither': { diesAt: 'answered', hasHolds: true, result: 'failed', bookings: 1 },
  'charged, with keys': { diesAt: 'charged', hasKeys: true, result: 'booked', bookings: 1 },
  'charged, with a lookup': { diesAt: 'charged', hasLookup: true, result: 'booked', bookings: 1 },
}

describe('a worker that is killed', () => {
  it('EXECUTE-4, FEE-1: between hold and commit, commit and answer, fee and report: one booking, one fee', async () => {
    const names = Object.keys(CASES)
    const platformOf = (name: string) => name.replaceAll(/\W+/g, '-')
    rig = await OpeningRig.open(
      Object.fromEntries(names.map((name) => [platformOf(name), planOf(CASES[name] as Case)])),
    )
    const charges = join(rig.folder, 'charges')
    await rig.startWorkers(
      ...names.map((name) => {
        const { diesAt } = CASES[name] as Case
        const platform = platformOf(name)
        return { providerId: `provider:${platform}`, platforms: [platform], diesAt, charges }
      }),
    )
    const people = names.map((name) => ({
      ...{ provider: platformOf(name), org: 'o1', event: 'e1', user: `user of ${name}` },
    }))
    const jobs = await rig.schedule(people, Date.now() + 1_000)
    await rig.until(() => rig.workers === 0, 'the death of all workers')
    await rig.startWorkers({ charges })
    await rig.allEnded(jobs)

    const records = await rig.records()
    const keys = readFileSync(charges, 'utf8').trim().split('\n')
    for (const [i, name] of names.entries()) {
      const { result, bookings } = CASES[name] as Case
      const record = records.get(jobs[i] as string)
      const seen = await rig.seen(platformOf(name))
      expect({ name, result: record?.result, bookings: seen.bookings.length }).toEqual({
        ...{ name, result, bookings },
      })
      // What nobody has committed is given back, or lapses.
      await expect.poll(async () => (await rig.seen(platformOf(name))).holds, PATIENCE).toBe(0)
      if (result === 'failed') {
        expect({ name, reason: record?.reason }).toEqual({ name, reason: 'outcome_unknown' })
        expect(record?.message.text).toContain('Please check with The Site')
      } else expect({ name, fee: record?.fee_status }).toEqual({ name, fee: 'charged' })
    }
    // Told twice where the first worker did not live to report it; what charges heeds the key.
    const times = new Map<string, number>()
    for (const key of keys) times.set(key, (times.get(key) ?? 0) + 1)
    const booked = names.filter((name) => CASES[name]?.result === 'booked')
    const twice = names.filter((name) => CASES[name]?.diesAt === 'charged')
    expect(times.size).toBe(booked.length)
    expect([...times.values()].filter((n) => n === 2)).toHaveLength(twice.length)
    expect(Math.max(...times.values())).toBe(2)
  })
})
