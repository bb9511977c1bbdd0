import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readU64, showU64, U64_MAX } from './u64.ts'

const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER)
const u64s = fc.oneof(
  fc.bigInt(0n, U64_MAX),
  fc.bigInt(0n, 300n),
  fc.bigInt(-3n, 3n).map((delta) => 2n ** 53n + delta),
  fc.bigInt(-3n, 0n).map((delta) => U64_MAX + delta),
)

describe('a u64 in JSON', () => {
  it('VALUE-2: a u64 is shown as a number up to 2^53 − 1 and as a decimal string above', () => {
    fc.assert(
      fc.property(u64s, (value) => {
        const shown = showU64(value)
        if (value <= SAFE_MAX) expect(shown).toBe(Number(value))
        else expect(shown).toBe(String(value))
      }),
    )
    expect(showU64(SAFE_MAX)).toBe(9_007_199_254_740_991)
    expect(showU64(SAFE_MAX + 1n)).toBe('9007199254740992')
    expect(showU64(U64_MAX)).toBe('18446744073709551615')
  })

  it('VALUE-2: what is shown reads back as the same value, through JSON too', () => {
    fc.assert(
      fc.property(u64s, (value) => {
        expect(readU64(JSON.parse(JSON.stringify(showU64(value))))).toBe(value)
      }),
    )
  })

  it('VALUE-2: both forms are accepted on input and stand for one value', () => {
    fc.assert(
      fc.property(u64s, (value) => {
        expect(readU64(String(value))).toBe(value)
        expect(readU64(value)).toBe(value)
        if (value <= SAFE_MAX) expect(readU64(Number(value))).toBe(value)
      }),
    )
    expect(readU64(0)).toBe(0n)
    expect(readU64('0')).toBe(0n)
    expect(readU64(-0)).toBe(0n)
  })

  it('VALUE-2: the largest u64 is accepted and one more is refused', () => {
    expect(readU64('18446744073709551615')).toBe(U64_MAX)
    expect(readU64('18446744073709551616')).toBeNull()
    expect(readU64('99999999999999999999')).toBeNull()
    expect(readU64(U64_MAX + 1n)).toBeNull()
    expect(readU64('100000000000000000000')).toBeNull()
    expect(readU64('1'.repeat(100_000))).toBeNull()
  })

  it('VALUE-4: a number beyond 2^53 − 1 is refused, because it may have been rounded', () => {
    expect(readU64(Number.MAX_SAFE_INTEGER)).toBe(SAFE_MAX)
    expect(readU64(2 ** 53)).toBeNull()
    expect(readU64(2 ** 63)).toBeNull()
    expect(readU64(1e300)).toBeNull()
  })

  it.each([
    '',
    ' ',
    ' 1',
    '1 ',
    '1\n',
    '+1',
    '-1',
    '-0',
    '00',
    '01',
    '007',
    '1.0',
    '1e3',
    '0x1',
    '0b1',
    '1n',
    '1_000',
    '1,000',
    '\u0661',
    '１',
    'NaN',
  ])('VALUE-2: the string %j is refused', (written) => {
    expect(readU64(written)).toBeNull()
  })

  it.each([
    [-1],
    [-1n],
    [0.5],
    [1e-9],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [null],
    [undefined],
    [true],
    [false],
    [[]],
    [[1]],
    [{}],
    [Object(1)],
    [Object('1')],
    [Object(1n)],
    [new Uint8Array(8)],
    [{ valueOf: () => 1 }],
    [{ toString: () => '1' }],
  ])('VALUE-2: %o is refused', (written) => {
    expect(readU64(written)).toBeNull()
  })

  it('VALUE-2: a string is accepted exactly when it is how the number is written', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9 +.e-]{1,21}$/), (written) => {
        const isDecimal = /^[0-9]+$/.test(written) && String(BigInt(written)) === written
        const expected = isDecimal && BigInt(written) <= U64_MAX ? BigInt(written) : null
        expect(readU64(written)).toBe(expected)
      }),
      { numRuns: 500 },
    )
  })
})
