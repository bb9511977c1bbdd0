import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { KEY_BYTES, Names, NewNames } from './names.ts'

const names = new Names(Buffer.alloc(16, 7))
const at = (bytes: Uint8Array) => ({ bytes: Buffer.from(bytes), at: 0 })

describe('the number of a name', () => {
  it('is the same wherever the bytes lie, and fits 31 bits', () => {
    const bytes = () => fc.uint8Array({ minLength: 32, maxLength: 32 })
    fc.assert(
      fc.property(bytes(), bytes(), fc.nat({ max: 9 }), (a, b, offset) => {
        for (const name of [a, Buffer.concat([a, b])]) {
          const moved = Buffer.concat([Buffer.alloc(offset), name])
          const number = names.of(name)
          expect(names.of(moved, offset, name.length)).toBe(number)
          expect(number >= 0 && number < 2 ** 31 && Number.isInteger(number)).toBe(true)
        }
      }),
    )
  })

  it('of chosen keys is spread as that of random ones, and differs from store to store', () => {
    const chosen = Array.from({ length: 10_000 }, (_, n) => {
      const key = Buffer.alloc(KEY_BYTES)
      key.writeUInt32BE(n, KEY_BYTES - 4)
      return key
    })
    const numbers = chosen.map((key) => names.of(key))
    // 10,000 random numbers below 2^31 meet 0.02 times.
    expect(new Set(numbers).size).toBeGreaterThan(9_995)
    const other = new Names(Buffer.alloc(16, 8))
    expect(chosen.filter((key, n) => other.of(key) === numbers[n]).length).toBeLessThan(5)
  })
})

describe('new names', () => {
  it('with one number are told apart, whichever is taken out first', () => {
    const ids = Array.from({ length: 3 }, () => Buffer.concat([Buffer.alloc(4), randomBytes(28)]))
    for (const first of ids) {
      const fresh = new NewNames(names)
      const rows = ids.map(at)
      for (const row of rows) expect(fresh.add(row, 32, row)).toBe(true)
      for (const row of rows) expect(fresh.add(row, 32, row)).toBe(false)
      const named = fresh.named(1, at(first), 32)
      expect(named.name).toBe(0)
      fresh.delete(named)
      const left = ids.map((id) => fresh.factsOf(id)?.bytes ?? null)
      expect(left).toEqual(ids.map((id) => (id === first ? null : id)))
    }
  })
})
