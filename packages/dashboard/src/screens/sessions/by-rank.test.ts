import { expect, it } from 'vitest'
import { byRank } from './by-rank.ts'

it('success by place: groups of one size that hold everybody once', () => {
  const people = Array.from({ length: 25 }, (_, rank) => ({
    rank,
    result: rank < 7 ? ('booked' as const) : ('failed' as const),
  }))
  const groups = byRank([...people, { rank: null, result: 'canceled' }])
  expect(groups[0]).toEqual({
    ...{ from: 1, to: 3, people: 3, booked: 3, waitlisted: 0, failed: 0, pending: 0 },
  })
  expect(groups.at(-1)).toMatchObject({ from: 25, to: 25, people: 1 })
  expect(groups.reduce((sum, one) => sum + one.people, 0)).toBe(25)
  expect(groups.reduce((sum, one) => sum + one.booked, 0)).toBe(7)
})

it('before the opening there are no places', () => {
  expect(byRank([{ rank: null, result: 'pending' }])).toEqual([])
})
