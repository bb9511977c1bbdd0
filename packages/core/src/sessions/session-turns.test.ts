import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  bookWeightedTurn,
  nextTurn,
  type Turn,
  type Weights,
  weightedTurn,
} from './session-turns.ts'

const turnsOf = (...ids: string[]): Turn[] => ids.map((eventId) => ({ eventId, credit: 0 }))

function takeWeighted(ready: readonly Turn[], weights: Weights): string {
  const served = weightedTurn(ready, weights) as Turn
  bookWeightedTurn(ready, weights, served)
  return served.eventId
}

describe('round robin', () => {
  it('DISPATCH-3: the next in key order behind the one served last, then the first again', () => {
    const ready = turnsOf('a', 'c', 'e')
    const after = (served: string | null) => nextTurn(ready, served)?.eventId
    expect([null, 'a', 'b', 'c', 'd', 'e', 'f'].map(after)).toEqual([
      ...['a', 'c', 'c', 'e', 'e', 'a', 'a'],
    ])
    expect(nextTurn([], 'a')).toBeUndefined()
  })

  it('DISPATCH-3: keys are compared by their UTF-8 bytes', () => {
    const ready = turnsOf('a', '\uffff', '\u{10151}')
    expect(nextTurn(ready, '\uffff')?.eventId).toBe('\u{10151}')
    expect(nextTurn(ready, '\u{10151}')?.eventId).toBe('a')
  })
})

describe('weighted round robin', () => {
  it('DISPATCH-4: 3 and 1 go a a b a, smoothly', () => {
    const ready = turnsOf('a', 'b')
    const served = Array.from({ length: 8 }, () => takeWeighted(ready, { a: 3 }))
    expect(served.join('')).toBe('aabaaaba')
  })

  it('DISPATCH-4: a session that is not ready gains nothing and keeps its figure', () => {
    const [a, b] = turnsOf('a', 'b') as [Turn, Turn]
    expect(takeWeighted([a, b], { a: 3 })).toBe('a')
    expect([a.credit, b.credit]).toEqual([-1, 1])
    expect(takeWeighted([a], { a: 3 })).toBe('a')
    expect([a.credit, b.credit]).toEqual([-1, 1])
  })

  it('DISPATCH-4: in as many sends as the weights sum up to each session gets its weight', () => {
    const weights = fc.dictionary(
      fc.constantFrom('a', 'b', 'c', 'toString'),
      fc.integer({ min: 1, max: 9 }),
    )
    fc.assert(
      fc.property(weights, (given) => {
        const ready = turnsOf('a', 'b', 'c', 'toString')
        const weightOf = (id: string) => (Object.hasOwn(given, id) ? (given[id] as number) : 1)
        const sum = ready.reduce((total, { eventId }) => total + weightOf(eventId), 0)
        const served = Array.from({ length: sum }, () => takeWeighted(ready, given))
        for (const { eventId, credit } of ready) {
          expect(served.filter((id) => id === eventId)).toHaveLength(weightOf(eventId))
          expect(credit).toBe(0)
        }
      }),
    )
  })
})
