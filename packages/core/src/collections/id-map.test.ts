import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { IdMap } from './id-map.ts'

interface Thing {
  readonly id: string
  readonly n: number
}

/** Adds below, gets, and deletes again: few ids, so that they meet, and enough for the table to grow and shrink. */
const anyStep = fc.record({
  act: fc.constantFrom('add', 'add', 'get', 'delete'),
  id: fc.oneof(
    fc.nat({ max: 40 }).map((n) => `job-${n}`),
    fc.nat({ max: 3 }).map((n) => 'x'.repeat(n)),
    fc.string({ maxLength: 20 }),
  ),
})

function sorted(things: Iterable<Thing>): Thing[] {
  return [...things].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
}

describe('a map by ids', () => {
  it('holds what a Map would, whatever comes and goes', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 200 }), (steps) => {
        const map = new IdMap<Thing>()
        const plain = new Map<string, Thing>()
        for (const [n, { act, id }] of steps.entries()) {
          if (act === 'add') {
            map.add({ id, n })
            plain.set(id, { id, n })
          } else if (act === 'delete') expect(map.delete(id)).toBe(plain.delete(id))
          expect(map.get(id)).toEqual(plain.get(id))
          expect(map.has(id)).toBe(plain.has(id))
          expect(map.size).toBe(plain.size)
        }
        expect(sorted(map.values())).toEqual(sorted(plain.values()))
      }),
    )
  })

  it('grows to many, finds each, and shrinks again', () => {
    const map = new IdMap<Thing>()
    const ids = Array.from({ length: 20_000 }, (_, n) => `0x${(n * 2_654_435_761).toString(16)}`)
    for (const [n, id] of ids.entries()) map.add({ id, n })
    expect(map.size).toBe(ids.length)
    expect(ids.every((id, n) => map.get(id)?.n === n)).toBe(true)
    const [gone, left] = [ids.slice(100), ids.slice(0, 100)]
    expect(gone.every((id) => map.delete(id))).toBe(true)
    expect(gone.some((id) => map.has(id))).toBe(false)
    expect(left.every((id, n) => map.get(id)?.n === n)).toBe(true)
    expect(sorted(map.values()).map(({ id }) => id)).toEqual([...left].sort())
  })

  it('finds and frees what meets in one place, around the end of the table, too', () => {
    // Only the last twelve characters count, so all of these meet.
    const ids = Array.from({ length: 300 }, (_, n) => `${n}-the same end`)
    for (const kept of [0, 1, 2]) {
      const map = new IdMap<Thing>()
      for (const [n, id] of ids.entries()) map.add({ id, n })
      for (const [n, id] of ids.entries()) if (n % 3 !== kept) expect(map.delete(id)).toBe(true)
      for (const [n, id] of ids.entries())
        expect(map.get(id)?.n).toBe(n % 3 === kept ? n : undefined)
    }
  })
})
