import { fc, test } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { KeyFilter } from './key-filter.ts'
import {
  type JobKey,
  type KeyPage,
  KnownKeys,
  partsOf,
  partsOfHash,
  partsOfText,
} from './known-keys.ts'

const aWord = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
const aKey = fc.record({ caller: aWord, tx: aWord, moreTx: aWord })

describe('the filter', () => {
  test.prop([fc.array(aKey, { maxLength: 200 })])('has whatever was added', (keys) => {
    const filter = new KeyFilter()
    for (const key of keys) filter.add(key)
    expect(keys.every((key) => filter.mayHave(key))).toBe(true)
    expect(filter.size).toBe(keys.length)
  })

  it('takes few keys for ones that were added, also when it has grown', () => {
    const filter = new KeyFilter()
    // A walk over all words by an odd step: as good as random for what is not told apart by chance.
    let state = 1
    const next = (): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return (state ^ (state >>> 15)) >>> 0
    }
    const key = () => ({ caller: 7, tx: next(), moreTx: next() })
    for (let i = 0; i < 400_000; i++) filter.add(key())
    let wrong = 0
    for (let i = 0; i < 100_000; i++) if (filter.mayHave(key())) wrong++
    expect(wrong).toBeLessThan(50)
  })
})

function keyNumber(n: number): JobKey {
  const digits = n.toString(16).padStart(8, '0')
  return { caller: `0x${'c'.repeat(64)}`, txHash: `0x${digits}${'9e3779b9'}${'0'.repeat(48)}` }
}

function mayHave(keys: KnownKeys, n: number): boolean {
  return keys.mayHave(partsOfText(keyNumber(n)))
}

/** A store with jobs whose numbers are those of their keys; pages are given when the test says so. */
function jobsOf(numbers: readonly number[], pageJobs: number) {
  const waiting: (() => void)[] = []
  const read = async (afterSeq: number): Promise<KeyPage> => {
    await new Promise<void>((resolve) => waiting.push(resolve))
    const page = numbers.filter((n) => n > afterSeq).slice(0, pageJobs)
    const bytes = (text: string) => Buffer.from(text.slice(2), 'hex')
    const keys = page.map(keyNumber).map((key) => [bytes(key.caller), bytes(key.txHash)] as const)
    return { parts: partsOf(keys), last: page.length < pageJobs ? null : (page.at(-1) ?? null) }
  }
  return { read, give: () => waiting.shift()?.() }
}

it('of names few are taken for ones that were added', () => {
  const filter = new KeyFilter()
  const nameNumber = (n: number) => partsOfHash(Math.imul(n, 0x2545_f491) >>> 1)
  for (let n = 0; n < 200_000; n++) filter.add(nameNumber(n))
  let wrong = 0
  for (let n = 200_000; n < 300_000; n++) if (filter.mayHave(nameNumber(n))) wrong++
  expect(wrong).toBeLessThan(50)
  expect(filter.mayHave(nameNumber(77_777))).toBe(true)
})

describe('known keys', () => {
  it('any key may be there until all pages were read', async () => {
    const { read, give } = jobsOf([1, 2, 3], 2)
    const keys = new KnownKeys(read)
    expect(mayHave(keys, 9)).toBe(true)
    const learned = keys.begin()
    give()
    await Promise.resolve()
    expect(mayHave(keys, 9)).toBe(true)
    await new Promise((resolve) => setImmediate(resolve))
    give()
    await learned
    expect([1, 2, 3, 9].map((n) => mayHave(keys, n))).toEqual([true, true, true, false])
  })

  it('what is committed meanwhile is known, and so is what comes later', async () => {
    const { read, give } = jobsOf([1], 5)
    const keys = new KnownKeys(read)
    const learned = keys.begin()
    keys.add(partsOfText(keyNumber(2)))
    give()
    await learned
    keys.add(partsOfText(keyNumber(3)))
    expect([1, 2, 3, 4].map((n) => mayHave(keys, n))).toEqual([true, true, true, false])
    await keys.begin()
  })

  it('with too many, those of deleted jobs are forgotten', async () => {
    const stored: number[] = []
    const { read, give } = jobsOf(stored, 100)
    const keys = new KnownKeys(read, { keysMax: 10 })
    const learned = keys.begin()
    give()
    await learned
    for (let n = 1; n <= 11; n++) keys.add(partsOfText(keyNumber(n)))
    stored.push(10, 11)
    expect(mayHave(keys, 1)).toBe(true)
    give()
    await new Promise((resolve) => setImmediate(resolve))
    expect([1, 10, 11].map((n) => mayHave(keys, n))).toEqual([false, true, true])
  })

  it('if too many are there, and where they cannot be read, each key may be', async () => {
    const many = jobsOf([1, 2, 3, 4, 5, 6], 100)
    const keys = new KnownKeys(many.read, { keysMax: 10 })
    const learned = keys.begin()
    many.give()
    await learned
    expect(mayHave(keys, 9)).toBe(true)

    const broken = new KnownKeys(() => Promise.reject(new Error('closed')))
    await broken.begin()
    expect(mayHave(broken, 9)).toBe(true)
  })
})
