import { expect, it } from 'vitest'
import { Cadence } from './cadence.ts'
import { planFirings } from './plan-firings.ts'

const NOON = Date.parse('2026-05-01T12:00:00Z')
const MINUTE = 60_000
const EVERY_MINUTE = new Cadence('* * * * *', 'UTC')

const plan = (catchUp: 'none' | 'last' | 'all', missedMinutes: number) =>
  planFirings({ nextAt: NOON, catchUp }, EVERY_MINUTE, {
    missedUntil: NOON + missedMinutes * MINUTE,
  })

it('SCHEDULE-5: a time that is not missed fires, whatever the schedule would catch up', () => {
  for (const catchUp of ['none', 'last', 'all'] as const) {
    const firings = planFirings({ nextAt: NOON, catchUp }, EVERY_MINUTE, { missedUntil: NOON - 1 })
    expect(firings).toEqual([{ dueAt: NOON, at: NOON, nextAt: NOON + MINUTE }])
  }
})

it('SCHEDULE-5: none leaves out all missed times', () => {
  expect(plan('none', 2.5)).toEqual([{ dueAt: NOON, at: null, nextAt: NOON + 3 * MINUTE }])
  // One that is missed to the millisecond is missed.
  expect(plan('none', 3)).toEqual([{ dueAt: NOON, at: null, nextAt: NOON + 4 * MINUTE }])
})

it('SCHEDULE-5: last fires for the newest missed time', () => {
  expect(plan('last', 2.5)).toEqual([
    { dueAt: NOON, at: NOON + 2 * MINUTE, nextAt: NOON + 3 * MINUTE },
  ])
})

it('SCHEDULE-5: all fires for each missed time, one step after the other', () => {
  expect(plan('all', 2)).toEqual([
    { dueAt: NOON, at: NOON, nextAt: NOON + MINUTE },
    { dueAt: NOON + MINUTE, at: NOON + MINUTE, nextAt: NOON + 2 * MINUTE },
    { dueAt: NOON + 2 * MINUTE, at: NOON + 2 * MINUTE, nextAt: NOON + 3 * MINUTE },
  ])
})

it('SCHEDULE-5: all fires for the newest 100 at most', () => {
  expect(plan('all', 99)).toHaveLength(100)
  const firings = plan('all', 100)
  expect(firings).toHaveLength(100)
  expect(firings[0]).toEqual({ dueAt: NOON, at: NOON + MINUTE, nextAt: NOON + 2 * MINUTE })
  expect(firings.at(-1)?.nextAt).toBe(NOON + 101 * MINUTE)
})
