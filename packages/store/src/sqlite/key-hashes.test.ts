import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RowAt } from './batch-codec.ts'
import { KEY_BYTES, KeyHasher, NewKeys, SortedKeyHashes } from './key-hashes.ts'

const hasher = new KeyHasher(Buffer.alloc(16, 7))
const at = (bytes: Uint8Array) => ({ bytes: Buffer.from(bytes), at: 0 })

describe('the number of a name', () => {
  it('is the same wherever the bytes lie, and fits 31 bits', () => {
    const bytes = () => fc.uint8Array({ minLength: 32, maxLength: 32 })
    fc.assert(
      fc.property(bytes(), bytes(), fc.nat({ max: 9 }), (a, b, offset) => {
        for (const name of [a, Buffer.concat([a, b])]) {
          const moved = Buffer.concat([Buffer.alloc(offset), name])
          const number = hasher.hashOf(name)
          expect(hasher.hashOf(moved, offset, name.length)).toBe(number)
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
    const numbers = chosen.map((key) => hasher.hashOf(key))
    // 10,000 random numbers below 2^31 meet 0.02 times.
    expect(new Set(numbers).size).toBeGreaterThan(9_995)
    const other = new KeyHasher(Buffer.alloc(16, 8))
    expect(chosen.filter((key, n) => other.hashOf(key) === numbers[n]).length).toBeLessThan(5)
  })
})

describe('new names', () => {
  it('with one number are told apart, also while some of them are leaving', () => {
    const ids = Array.from({ length: 3 }, () => Buffer.concat([Buffer.alloc(4), randomBytes(28)]))
    const rows = ids.map(at)
    const found = (fresh: NewKeys) => ids.map((id) => fresh.factsOf(id)?.bytes ?? null)
    for (let left = 0; left <= ids.length; left++) {
      const fresh = new NewKeys(hasher)
      const add = (row: RowAt) => fresh.add(hasher.hashOf(row.bytes), row.at, 32, row)
      for (const row of rows.slice(0, left)) expect(add(row)).toBe(true)
      fresh.leave()
      for (const row of rows.slice(left)) expect(add(row)).toBe(true)
      for (const row of rows) expect(add(row)).toBe(false)
      expect(found(fresh)).toEqual(ids)
      fresh.forgetLeft()
      expect(found(fresh)).toEqual(ids.map((id, i) => (i < left ? null : id)))
    }
  })
})

describe('names in order', () => {
  it('come as in their table, a few at a time, each with its job', () => {
    const jobs = Array.from({ length: 1_000 }, (_, n) => ({ seq: n + 1, id: randomBytes(32) }))
    const inOrder = new SortedKeyHashes(hasher)
    for (const { seq, id } of jobs) inOrder.add(seq, at(id), 32)
    const cells: number[] = []
    for (let left = 1_000; left > 0; left = Math.max(0, left - 7)) {
      expect(inOrder.left).toBe(left)
      cells.push(...inOrder.take(7))
    }
    expect(inOrder.left).toBe(0)
    const due = jobs.map(({ seq, id }) => [hasher.hashOf(id), seq] as const)
    expect(cells).toEqual(due.sort(([a, i], [b, j]) => a - b || i - j).flat())
  })
})
