import { expect, it } from 'vitest'
import { brokenLink, type Entry } from './linked.ts'

const entry = (seq: number, prev = `h${seq - 1}`): Entry =>
  ({ seq, hash: `h${seq}`, prev_hash: prev }) as Entry

it('VIEW-9: entries that continue each other hold; a wrong link and a gap are named', () => {
  expect(brokenLink([entry(3), entry(2), entry(1)])).toBeNull()
  expect(brokenLink([entry(3), entry(2, 'other'), entry(1)])).toBe(2)
  expect(brokenLink([{ ...entry(4), prev_hash: 'h2' }, entry(2)])).toBe(4)
  expect(brokenLink([])).toBeNull()
})
