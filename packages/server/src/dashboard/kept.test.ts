import { expect, it } from 'vitest'
import { Kept } from './kept.ts'

it('FIGURE-1: makes an answer once in its time, for each asker', () => {
  const kept = new Kept<number>(500, () => 0)
  let made = 0
  const ask = (asker: string, nowMs: number) => kept.get(asker, nowMs, () => ++made)
  expect([ask('a', 0), ask('a', 499), ask('b', 499)]).toEqual([1, 1, 2])
  expect([ask('a', 500), ask('a', 999), ask('b', 998)]).toEqual([3, 3, 2])
  // A clock that was set back begins anew.
  expect(ask('a', 100)).toBe(4)
})

it('FIGURE-1: forgets askers, so that any number of them may come', () => {
  const kept = new Kept<number>(500, () => 0)
  for (let i = 0; i < 1_000; i++) kept.get(String(i), 0, () => i)
  expect(kept.size).toBeLessThanOrEqual(100)
})

it('FIGURE-1: an answer that takes long is kept for longer, and for five seconds at the most', () => {
  let clock = 0
  const kept = new Kept<number>(500, () => clock)
  let made = 0
  const ask = (nowMs: number, takesMs: number) =>
    kept.get('', nowMs, () => {
      clock += takesMs
      return ++made
    })
  expect([ask(0, 20), ask(999, 0), ask(1_000, 1_000)]).toEqual([1, 1, 2])
  expect([ask(5_999, 0), ask(6_000, 0), ask(6_499, 0), ask(6_500, 0)]).toEqual([2, 3, 3, 4])
})
