import { createHash, createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FairleadError } from '../errors.ts'
import {
  type HashField,
  hmacSha256Hex,
  sha3,
  sha256Hex,
  taggedHash,
  taggedHashHex,
  uvarint,
} from './hash.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** LEB128 as its definition has it, in arithmetic of any size. */
function naiveUvarint(n: bigint): Buffer {
  const bytes: number[] = []
  let rest = n
  do {
    const low = Number(rest % 128n)
    rest /= 128n
    bytes.push(rest === 0n ? low : low + 128)
  } while (rest > 0n)
  return Buffer.from(bytes)
}

function naiveField(field: HashField): Buffer {
  if (typeof field === 'string') return Buffer.from(field, 'utf8')
  return typeof field === 'object' ? Buffer.from(field) : naiveUvarint(BigInt(field))
}

function naiveH(tag: string, fields: readonly HashField[]): string {
  const hash = createHash('sha3-256')
  for (const field of [tag, ...fields]) {
    const bytes = naiveField(field)
    hash.update(naiveUvarint(BigInt(bytes.length))).update(bytes)
  }
  return hash.digest('hex')
}

const u64s = fc.oneof(
  fc.bigInt(0n, 2n ** 64n - 1n),
  fc
    .tuple(fc.integer({ min: 0, max: 63 }), fc.bigInt(-1n, 1n))
    .map(([bit, delta]) => 2n ** BigInt(bit) + delta),
  fc.constant(2n ** 64n - 1n),
)
const fields: fc.Arbitrary<HashField> = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.nat(),
  fc.maxSafeInteger().map(Math.abs),
  u64s,
  fc.uint8Array({ maxLength: 200 }),
)

describe('uvarint', () => {
  it('HASH-1: a uvarint is unsigned LEB128, from 0 to 2^64 − 1', () => {
    fc.assert(
      fc.property(u64s, (n) => {
        expect(hex(uvarint(n))).toBe(hex(naiveUvarint(n)))
      }),
      { numRuns: 1_000 },
    )
  })

  it('HASH-1: a number and a bigint of one value have one uvarint', () => {
    fc.assert(
      fc.property(fc.oneof(fc.nat(300), fc.maxSafeInteger().map(Math.abs)), (n) => {
        expect(hex(uvarint(n))).toBe(hex(uvarint(BigInt(n))))
      }),
    )
  })

  it.each([
    [0, '00'],
    [127, '7f'],
    [128, '8001'],
    [300, 'ac02'],
    [0xffff_ffff, 'ffffffff0f'],
    [2 ** 32, '8080808010'],
    [Number.MAX_SAFE_INTEGER, 'ffffffffffffff0f'],
    [2n ** 63n, '80808080808080808001'],
    [2n ** 64n - 1n, 'ffffffffffffffffff01'],
  ])('HASH-1: the uvarint of %s is %s', (n, expected) => {
    expect(hex(uvarint(n))).toBe(expected)
  })

  it.each([-1, -1n, -(2n ** 64n), 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, 2n ** 64n])(
    'HASH-1: %s has no uvarint, alone or as a field of H',
    (n) => {
      expect(() => uvarint(n)).toThrow(FairleadError)
      expect(() => taggedHash('tag', n)).toThrow(FairleadError)
    },
  )

  it('HASH-1: uvarints made one after the other do not share memory', () => {
    const first = uvarint(300)
    uvarint(2n ** 64n - 1n)
    expect(hex(first)).toBe('ac02')
  })
})

describe('H', () => {
  it('HASH-2: H is SHA3-256 over the tag and the fields, each behind its length', () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fields, { maxLength: 6 }), (tag, list) => {
        expect(taggedHashHex(tag, ...list)).toBe(`0x${naiveH(tag, list)}`)
        expect(hex(taggedHash(tag, ...list))).toBe(naiveH(tag, list))
      }),
      { numRuns: 500 },
    )
  })

  it('HASH-2: fields of any length are hashed whole, and short ones right after them too', () => {
    for (const length of [127, 128, 1_000, 1_014, 1_023, 1_024, 1_025, 16_384, 70_000]) {
      const list = ['a', 'é'.repeat(length), new Uint8Array(length).fill(length & 255), 7n]
      expect(taggedHashHex('large', ...list)).toBe(`0x${naiveH('large', list)}`)
      expect(taggedHashHex('small', 1)).toBe(`0x${naiveH('small', [1])}`)
    }
  })

  it('HASH-2: a byte moved from one field to the next gives another hash', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string(), (a, b) => {
        const moved = taggedHashHex('t', a.slice(0, -1), a.slice(-1) + b)
        expect(moved).not.toBe(taggedHashHex('t', a, b))
        expect(taggedHashHex(`t${a}`, b)).not.toBe(taggedHashHex('t', a, b))
      }),
    )
    expect(taggedHashHex('t')).not.toBe(taggedHashHex('t', ''))
    expect(taggedHashHex('t', '')).not.toBe(taggedHashHex('t', '', ''))
  })

  it('HASH-3: text is its UTF-8 bytes, an integer its uvarint bytes', () => {
    expect(taggedHashHex('t', 'é\u{10151}')).toBe(
      taggedHashHex('t', Buffer.from('c3a9f0908591', 'hex')),
    )
    expect(taggedHashHex('t', 300)).toBe(taggedHashHex('t', Uint8Array.of(0xac, 0x02)))
    expect(taggedHashHex('t', 0)).not.toBe(taggedHashHex('t', new Uint8Array(0)))
  })

  it('HASH-3: a hash handed out stays what it is when others are made', () => {
    const first = taggedHash('first', 1)
    const before = hex(first)
    taggedHash('second', 2)
    expect(hex(first)).toBe(before)
  })

  it('HASH-3: text without UTF-8 bytes never has the hash of other text', () => {
    const hashOf = (text: string): string => {
      try {
        return taggedHashHex('t', text)
      } catch (error) {
        expect(error).toBeInstanceOf(FairleadError)
        return 'refused'
      }
    }
    expect(hashOf('\ud800')).not.toBe(hashOf('\ufffd'))
  })
})

describe('the hash functions', () => {
  it('HASH-2: SHA3 is SHA3-256, not Keccak-256', () => {
    expect(hex(sha3(new Uint8Array(0)))).toBe(
      'a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a',
    )
    expect(hex(sha3(Buffer.from('abc')))).toBe(
      '3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532',
    )
  })

  it('SESSION-3: SHA-256 is over the UTF-8 of the text', () => {
    expect(sha256Hex('abc')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(sha256Hex(text)).toBe(
          createHash('sha256').update(Buffer.from(text, 'utf8')).digest('hex'),
        )
      }),
    )
  })

  it('AUDIT-7: HMAC-SHA-256 gives the values of RFC 4231', () => {
    expect(hmacSha256Hex(Buffer.from('Jefe'), 'what do ya want for nothing?')).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    )
    expect(hmacSha256Hex(new Uint8Array(20).fill(0x0b), 'Hi There')).toBe(
      'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
    )
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.string({ unit: 'binary' }), (key, text) => {
        const expected = createHmac('sha256', key).update(Buffer.from(text, 'utf8')).digest('hex')
        expect(hmacSha256Hex(key, text)).toBe(expected)
      }),
    )
  })
})
