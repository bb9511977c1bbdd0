import { toHex } from '@fairlead/core'
import { sha3 } from '@fairlead/core/internal'
import { expect, it } from 'vitest'
import { KeyFilter } from './key-filter.ts'

const hash = (text: string): string => toHex(sha3(Buffer.from(text)))
const keyOf = (n: number, caller = n % 7): string => hash(`caller ${caller}`) + hash(`key ${n}`)

it('KEYS-2: every key that was added may be known, and few others may', () => {
  const filter = new KeyFilter()
  filter.isComplete = true
  const added = 60_000
  for (let n = 0; n < added; n++) filter.add(keyOf(n))
  for (let n = 0; n < added; n++) expect(filter.mayHave(keyOf(n))).toBe(true)
  let wrong = 0
  for (let n = added; n < 2 * added; n++) if (filter.mayHave(keyOf(n))) wrong++
  expect(wrong).toBeLessThan(10)
})

it('KEYS-2: the key of one caller is new for another', () => {
  const filter = new KeyFilter()
  filter.isComplete = true
  filter.add(keyOf(1))
  expect(filter.mayHave(keyOf(1, 2))).toBe(false)
})

it('KEYS-2: until the keys of the tables are there, every key may be known', () => {
  const filter = new KeyFilter()
  expect(filter.mayHave(keyOf(1))).toBe(true)
})

it('KEYS-2: a fingerprint of zeros is kept like any other', () => {
  const filter = new KeyFilter()
  filter.isComplete = true
  const zeros = `0x${'0'.repeat(64)}`.repeat(2)
  expect(filter.mayHave(zeros)).toBe(false)
  filter.add(zeros)
  expect(filter.mayHave(zeros)).toBe(true)
})
