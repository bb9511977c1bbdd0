import { expect, it } from 'vitest'
import { brokenLink, type Entry, withStretch } from './linked.ts'

const entry = (seq: number, prev = `h${seq - 1}`): Entry =>
  ({ seq, hash: `h${seq}`, prev_hash: prev }) as Entry

it('VIEW-9: entries that continue each other hold; a wrong link and a gap are named', () => {
  expect(brokenLink([entry(3), entry(2), entry(1)])).toBeNull()
  expect(brokenLink([entry(3), entry(2, 'other'), entry(1)])).toBe(2)
  expect(brokenLink([{ ...entry(4), prev_hash: 'h2' }, entry(2)])).toBe(4)
  expect(brokenLink([])).toBeNull()
})

it('VIEW-9: stretches that were checked are joined only where they touch', () => {
  const known = { from: 101, to: 200 }
  expect(withStretch(null, known)).toEqual(known)
  expect(withStretch(known, { from: 201, to: 220 })).toEqual({ from: 101, to: 220 })
  expect(withStretch(known, { from: 1, to: 100 })).toEqual({ from: 1, to: 200 })
  expect(withStretch(known, { from: 202, to: 300 })).toEqual(known)
  expect(withStretch(known, { from: 1, to: 99 })).toEqual(known)
})
