import { expect, it } from 'vitest'
import type { JobId } from '../encoding/ids.ts'
import { SessionLine } from './session-line.ts'
import type { SessionJob } from './session-order.ts'

let looks = 0

/** Somebody in a session who counts how often he is looked at. */
function job(n: number, queuedAt = n): SessionJob {
  const place = {
    ...{ platform: 'p', orgRef: 'o', eventId: 'e', tieBreaker: '', seat: '' },
    ...{ id: `0x${n}` as JobId, queuedAt, rank: null, sendAt: null },
  }
  return Object.defineProperty(place as unknown as SessionJob, 'scheduledTime', {
    get: () => {
      looks++
      return 5
    },
  })
}

it('SESSION-12: to join, to find a place and to leave take a few looks, however many stand in line', () => {
  const line = new SessionLine()
  const many = 5_000
  const jobs = Array.from({ length: many }, (_, i) => job(i))
  for (const one of jobs) line.add(one)
  const cost = (step: () => unknown): number => {
    looks = 0
    step()
    return looks
  }
  // Two for each comparison, and one comparison for each halving.
  const most = 2 * (Math.ceil(Math.log2(many)) + 2)
  const late = job(many + 1, many / 2)
  expect(cost(() => line.add(late))).toBeLessThanOrEqual(most)
  for (const n of [0, 1_234, 4_999]) {
    expect(cost(() => line.placeOf(jobs[n] as SessionJob))).toBeLessThanOrEqual(most)
  }
  expect(cost(() => line.remove(late))).toBeLessThanOrEqual(most)
  expect(line.placeOf(late)).toBe(0)
  expect(line.placeOf(jobs[4_999] as SessionJob)).toBe(5_000)
})

it('SESSION-2: a line is in the order of its session', () => {
  const line = new SessionLine()
  const jobs = [3, 1, 2].map((n) => job(n))
  for (const one of jobs) line.add(one)
  expect(line.jobs().map(({ queuedAt }) => queuedAt)).toEqual([1, 2, 3])
  line.remove(jobs[1] as SessionJob)
  expect(jobs.map((one) => line.placeOf(one))).toEqual([2, 0, 1])
})
