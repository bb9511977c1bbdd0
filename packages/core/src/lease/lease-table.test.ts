import { describe, expect, it, test } from 'vitest'
import {
  isLive,
  LEASE_EVENTS,
  LEASE_STATUSES,
  LEASE_TABLE,
  type LeaseEvent,
  type LeaseStatus,
  nextLeaseStatus,
} from './lease-table.ts'

/** §4 written out: `ACTIVE → RENEWED → COMPLETED`, and the two other ends from either of the first. */
// biome-ignore format: a table
const MOVES: Readonly<Record<LeaseStatus, Readonly<Record<LeaseEvent, LeaseStatus | null>>>> = {
  ACTIVE:    { renew: 'RENEWED', complete: 'COMPLETED', cancel: 'CANCELLED', deadline: 'EXPIRED' },
  RENEWED:   { renew: 'RENEWED', complete: 'COMPLETED', cancel: 'CANCELLED', deadline: 'EXPIRED' },
  COMPLETED: { renew: null,      complete: null,        cancel: null,        deadline: null },
  CANCELLED: { renew: null,      complete: null,        cancel: null,        deadline: null },
  EXPIRED:   { renew: null,      complete: null,        cancel: null,        deadline: null },
}

const PAIRS = LEASE_STATUSES.flatMap((from) => LEASE_EVENTS.map((on) => [from, on] as const))

describe('every pair of status and event', () => {
  test.each(PAIRS)('STATE-3: a lease that is %s, on %s', (from, on) => {
    expect(nextLeaseStatus(from, on)).toBe(MOVES[from][on])
  })

  it('STATE-3: the table has no row and no event beyond these', () => {
    expect(Object.keys(LEASE_TABLE)).toEqual(Object.keys(MOVES))
    for (const row of Object.values(LEASE_TABLE))
      expect(Object.keys(MOVES.ACTIVE)).toEqual(expect.arrayContaining(Object.keys(row)))
  })
})

it('STATE-4: a lease is live while it is ACTIVE or RENEWED', () => {
  expect(LEASE_STATUSES.filter(isLive)).toEqual(['ACTIVE', 'RENEWED'])
})
