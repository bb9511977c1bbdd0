import { encode as cbor2Encode, encodedNumber } from 'cbor2'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { refusal } from '../../test/refusal.ts'
import { FairleadError } from '../errors.ts'
import {
  CBOR_DEPTH_MAX,
  CborFloat,
  type CborMap,
  type CborValue,
  decodeCbor,
  encodeCbor,
} from './cbor.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const unhex = (text: string): Uint8Array => Buffer.from(text, 'hex')

const decodes = (bytes: Uint8Array) => refusal(() => decodeCbor(bytes))

/** The same encoding by an independent library (RFC 8949 core deterministic). */
function byLibrary(value: CborValue): Uint8Array {
  return cbor2Encode(forLibrary(value), { cde: true, ignoreOriginalEncoding: false })
}

function forLibrary(value: CborValue): unknown {
  if (value instanceof CborFloat) return encodedNumber(value.value, 'f')
  if (value instanceof Uint8Array) return new Uint8Array(value)
  if (typeof value === 'number') {
    if (Object.is(value, -0)) return 0
    return Number.isInteger(value) ? value : encodedNumber(value, 'f')
  }
  if (Array.isArray(value)) return value.map((item: CborValue) => forLibrary(item))
  if (typeof value !== 'object' || value === null) return value
  return new Map(Object.entries(value).map(([key, item]) => [key, forLibrary(item as CborValue)]))
}

/** A text that two values share exactly when they are one value in CBOR. */
function identity(value: CborValue): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'bigint') return `int ${value}`
  if (typeof value === 'number')
    return Number.isInteger(value) ? `int ${BigInt(value)}` : floatIdentity(value)
  if (value instanceof CborFloat) return floatIdentity(value.value)
  if (value instanceof Uint8Array) return `bytes ${hex(value)}`
  if (Array.isArray(value)) return `[${value.map((item: CborValue) => identity(item)).join()}]`
  const map = value as CborMap
  const rows = Object.keys(map).map(
    (key) => `${JSON.stringify(key)}:${identity(map[key] as CborValue)}`,
  )
  return `{${rows.sort().join()}}`
}

const floatIdentity = (n: number): string => `float ${Object.is(n, -0) ? '-0' : String(n)}`

const view = new DataView(new ArrayBuffer(8))
function halfOf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 31
  const fraction = bits & 1023
  return exponent === 0
    ? sign * fraction * 2 ** -24
    : sign * (1024 + fraction) * 2 ** (exponent - 25)
}
function singleOf(bits: number): number {
  view.setUint32(0, bits)
  return view.getFloat32(0)
}
function doubleOf(bits: bigint): number {
  view.setBigUint64(0, bits)
  return view.getFloat64(0)
}

const BOUNDARIES = [0n, 23n, 24n, 255n, 256n, 65_535n, 65_536n, 2n ** 32n, 2n ** 53n, 2n ** 64n]
const nearBoundary = fc
  .tuple(fc.constantFrom(...BOUNDARIES), fc.bigInt(-3n, 3n), fc.boolean())
  .map(([boundary, delta, isNegative]) => (isNegative ? -boundary + delta : boundary + delta))
  .filter((n) => n >= -(2n ** 64n) && n < 2n ** 64n)
const anyInteger = fc.oneof(nearBoundary, fc.bigInt(-(2n ** 64n), 2n ** 64n - 1n))
/** Both forms that JavaScript has for an integer, where the smaller one can hold it. */
const integers = fc
  .tuple(anyInteger, fc.boolean())
  .map(
    ([n, asNumber]): CborValue =>
      asNumber && n >= -BigInt(Number.MAX_SAFE_INTEGER) && n <= BigInt(Number.MAX_SAFE_INTEGER)
        ? Number(n)
        : n,
  )
const finiteFloats = fc
  .oneof(
    fc.integer({ min: 0, max: 0xffff }).map((bits) => halfOf(bits & 0xfbff)),
    fc.integer({ min: 0, max: 0x3ff }).map((bits) => halfOf(bits)),
    fc.nat({ max: 0xffff_ffff }).map(singleOf),
    fc.nat({ max: 0x7f_ffff }).map(singleOf),
    fc.bigInt(0n, 2n ** 64n - 1n).map(doubleOf),
    fc.bigInt(0n, 2n ** 52n - 1n).map(doubleOf),
    fc.constantFrom(
      0,
      -0,
      1,
      -1,
      65_504,
      65_505,
      65_520,
      65_536,
      2 ** -14,
      2 ** -24,
      2 ** -25,
      2 ** -149,
      5e-324,
    ),
  )
  .filter(Number.isFinite)
const floats = finiteFloats.map((n) => new CborFloat(n))
const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom(
    '',
    '__proto__',
    'constructor',
    'toString',
    '10',
    '9',
    '\u{10151}',
    '\uffff',
    '\ufeff',
    '\0',
    'é',
  ),
  fc.constantFrom(22, 23, 24, 25, 255, 256).map((n) => 'k'.repeat(n)),
)
const { value: values, map: maps } = fc.letrec<{ value: CborValue; map: CborMap }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom<CborValue>(null, true, false),
    integers,
    floats,
    texts,
    fc.uint8Array({ maxLength: 30 }),
    fc.array(tie('value'), { maxLength: 6 }),
    tie('map'),
  ),
  map: fc
    .uniqueArray(fc.tuple(texts, tie('value')), { maxLength: 8, selector: ([key]) => key })
    .map((entries): CborMap => Object.fromEntries(entries)),
}))

describe('the encoder', () => {
  it('CBOR-1: any value has the encoding that an independent library gives it', () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(hex(encodeCbor(value))).toBe(hex(byLibrary(value)))
      }),
      { numRuns: 700 },
    )
  })

  it('CBOR-3: long texts that come again are the same, also where keys have to be sorted', () => {
    const ids = ['a', 'é', 'bb'].map((text) => text.repeat(33))
    const text = fc.constantFrom(...ids)
    // Longer keys first: the map is begun again in canonical order.
    const map = fc.record({ zz: text, y: text, long: fc.array(text) }).map(({ zz, y, long }) => {
      return { [ids[2] as string]: y, long, zz, y, [ids[0] as string]: zz }
    })
    fc.assert(
      fc.property(fc.array(fc.oneof(text, map)), (value) => {
        expect(hex(encodeCbor(value))).toBe(hex(byLibrary(value)))
      }),
    )
  })

  it('CBOR-1: integers of every width take the fewest bytes', () => {
    fc.assert(
      fc.property(anyInteger, (n) => {
        const argument = n < 0n ? -1n - n : n
        const width =
          argument < 24n
            ? 1
            : argument < 2n ** 8n
              ? 2
              : argument < 2n ** 16n
                ? 3
                : argument < 2n ** 32n
                  ? 5
                  : 9
        const encoded = encodeCbor(n)
        expect(encoded).toHaveLength(width)
        expect(hex(encoded)).toBe(hex(byLibrary(n)))
      }),
      { numRuns: 600 },
    )
  })

  it.each([
    ['0', 0, '00'],
    ['23', 23, '17'],
    ['24', 24, '1818'],
    ['1000000000000', 1_000_000_000_000, '1b000000e8d4a51000'],
    ['2^64 − 1', 18446744073709551615n, '1bffffffffffffffff'],
    ['−2^64', -18446744073709551616n, '3bffffffffffffffff'],
    ['−1', -1, '20'],
    ['−1000', -1000, '3903e7'],
    ['2^53 − 1', Number.MAX_SAFE_INTEGER, '1b001fffffffffffff'],
    ['−2^53', -(2n ** 53n), '3b001fffffffffffff'],
    ['−(2^53 − 1)', Number.MIN_SAFE_INTEGER, '3b001ffffffffffffe'],
    ['-0 as a number', -0, '00'],
    ['0.0', new CborFloat(0), 'f90000'],
    ['-0.0', new CborFloat(-0), 'f98000'],
    ['1.0', new CborFloat(1), 'f93c00'],
    ['1.1', 1.1, 'fb3ff199999999999a'],
    ['1.5', 1.5, 'f93e00'],
    ['65504.0', new CborFloat(65504), 'f97bff'],
    ['100000.0', new CborFloat(100000), 'fa47c35000'],
    ['the largest f32', new CborFloat(3.4028234663852886e38), 'fa7f7fffff'],
    ['1e300', new CborFloat(1e300), 'fb7e37e43c8800759c'],
    ['the smallest f16', 2 ** -24, 'f90001'],
    ['the smallest normal f16', 0.00006103515625, 'f90400'],
    ['-4.1', -4.1, 'fbc010666666666666'],
    ['ü', 'ü', '62c3bc'],
    ['U+10151', '\u{10151}', '64f0908591'],
    ['nested', [1, [2, 3], [4, 5]], '8301820203820405'],
    ['a map', { b: [2, 3], a: 1 }, 'a26161016162820203'],
  ] as [string, CborValue, string][])(
    'CBOR-1: the encoding of %s is that of RFC 8949',
    (_, value, expected) => {
      expect(hex(encodeCbor(value))).toBe(expected)
    },
  )

  it('CBOR-2: a float has the shortest width that keeps it, for every f16', () => {
    for (let bits = 0; bits < 0x1_0000; bits++) {
      if (((bits >> 10) & 31) === 31) continue
      const encoded = encodeCbor(new CborFloat(halfOf(bits)))
      if (hex(encoded) !== `f9${bits.toString(16).padStart(4, '0')}`) {
        expect(hex(encoded)).toBe(`f9${bits.toString(16).padStart(4, '0')}`)
      }
    }
  })

  it('CBOR-2: a float is as wide as its value needs and no wider', () => {
    fc.assert(
      fc.property(finiteFloats, (n) => {
        const encoded = encodeCbor(new CborFloat(n))
        expect(hex(encoded)).toBe(hex(byLibrary(new CborFloat(n))))
        const decoded = decodeCbor(encoded)
        expect(decoded).toBeInstanceOf(CborFloat)
        expect(Object.is((decoded as CborFloat).value, n)).toBe(true)
        if (encoded.length === 9) expect(Math.fround(n)).not.toBe(n)
      }),
      { numRuns: 600 },
    )
  })

  it('CBOR-3: map keys are sorted by their encoded bytes, whatever the order they came in', () => {
    const encodedKey = (key: string): Buffer => Buffer.from(byLibrary(key))
    fc.assert(
      fc.property(fc.uniqueArray(texts, { maxLength: 12 }), fc.nat(), (keys, turn) => {
        const turned = keys.map((_, i) => keys[(i + turn) % keys.length] as string)
        const sorted = [...keys].sort((a, b) => Buffer.compare(encodedKey(a), encodedKey(b)))
        const map = (order: string[]): CborMap => Object.fromEntries(order.map((key) => [key, 0]))
        const expected = Buffer.concat([
          Buffer.from([0xa0 | keys.length]),
          ...sorted.flatMap((key) => [encodedKey(key), Buffer.from([0])]),
        ])
        expect(hex(encodeCbor(map(keys)))).toBe(hex(expected))
        expect(hex(encodeCbor(map(turned)))).toBe(hex(expected))
      }),
    )
  })

  it('CBOR-3: a key beyond U+FFFF comes after U+FFFF, as its bytes do and its UTF-16 does not', () => {
    expect(hex(encodeCbor({ '\u{10151}': 0, '\uffff': 1 }))).toBe('a263efbfbf0164f090859100')
    expect(hex(encodeCbor({ 'a\u{10151}': 0, 'a\uffffb': 1 }))).toBe(
      'a26561efbfbf620165' + '61f090859100',
    )
  })

  it.each([
    ['2^64', 2n ** 64n],
    ['−2^64 − 1', -(2n ** 64n) - 1n],
    ['2^53 as a number', 2 ** 53],
    ['−2^53 as a number', -(2 ** 53)],
    ['1e300 as a whole number', 1e300],
    ['NaN', Number.NaN],
    ['infinity', Number.POSITIVE_INFINITY],
    ['minus infinity as a float', new CborFloat(Number.NEGATIVE_INFINITY)],
    ['NaN as a float', new CborFloat(Number.NaN)],
    ['a lone high surrogate', 'a\ud800b'],
    ['a lone low surrogate', '\udc00'],
    ['surrogates in the wrong order', '\udc00\ud800'],
    ['a lone surrogate in a key', { '\ud800': 1 }],
    ['undefined', undefined],
    ['undefined in a list', [undefined]],
    ['a hole in a list', new Array(1)],
    ['undefined in a map', { a: undefined }],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
  ])('CBOR-4: %s has no encoding', (_, value) => {
    expect(refusal(() => encodeCbor(value as CborValue))).toBe('InvalidParams')
    expect(refusal(() => encodeCbor([{ deep: value as CborValue }]))).toBe('InvalidParams')
  })

  it('CBOR-4: a refusal leaves nothing behind that a later encoding could show', () => {
    fc.assert(
      fc.property(values, (value) => {
        const before = hex(encodeCbor(value))
        expect(refusal(() => encodeCbor(['x'.repeat(5_000), value, '\ud800']))).toBe(
          'InvalidParams',
        )
        expect(hex(encodeCbor(value))).toBe(before)
      }),
    )
  })

  it('CBOR-1: an encoding stays what it is when others are made, small ones and large ones', () => {
    const first = encodeCbor(['first', 1])
    const large = encodeCbor({ text: 'é'.repeat(40_000), bytes: new Uint8Array(70_000).fill(7) })
    const last = encodeCbor(['last', 2])
    expect(hex(first)).toBe('8265666972737401')
    expect(hex(last)).toBe('82646c61737402')
    expect(hex(large)).toBe(
      hex(byLibrary({ text: 'é'.repeat(40_000), bytes: new Uint8Array(70_000).fill(7) })),
    )
  })

  it('CBOR-1: bytes are encoded as they are, also a window on a larger buffer', () => {
    const whole = Uint8Array.from([9, 9, 1, 2, 3, 9])
    expect(hex(encodeCbor(whole.subarray(2, 5)))).toBe('43010203')
    expect(hex(encodeCbor(Buffer.from(whole.buffer, 2, 3)))).toBe('43010203')
  })

  it('CBOR-4: encoding changes nothing in its input', () => {
    fc.assert(
      fc.property(maps, (map) => {
        const before = identity(map)
        const keys = Object.keys(map).join('|')
        encodeCbor(Object.freeze(map))
        expect(identity(map)).toBe(before)
        expect(Object.keys(map).join('|')).toBe(keys)
      }),
    )
  })
})

describe('the decoder', () => {
  it('CBOR-5: what was encoded decodes to the same value', () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(identity(decodeCbor(encodeCbor(value)))).toBe(identity(value))
      }),
      { numRuns: 700 },
    )
  })

  it('CBOR-5: an encoding by another library decodes and encodes to the same bytes', () => {
    fc.assert(
      fc.property(values, (value) => {
        const bytes = byLibrary(value)
        expect(hex(encodeCbor(decodeCbor(bytes)))).toBe(hex(bytes))
      }),
      { numRuns: 600 },
    )
  })

  it('CBOR-7: an integer and a float of the same value are two values', () => {
    expect(decodeCbor(unhex('01'))).toBe(1)
    expect(decodeCbor(unhex('f93c00'))).toEqual(new CborFloat(1))
    fc.assert(
      fc.property(fc.maxSafeInteger(), (n) => {
        expect(hex(encodeCbor(n))).not.toBe(hex(encodeCbor(new CborFloat(n))))
      }),
    )
  })

  it('VALUE-4: an integer is a number as long as that is exact, else a bigint', () => {
    const forms = ['1b001fffffffffffff', '1b0020000000000000', '3b001ffffffffffffe']
    expect(forms.map((form) => decodeCbor(unhex(form)))).toEqual([
      Number.MAX_SAFE_INTEGER,
      2n ** 53n,
      Number.MIN_SAFE_INTEGER,
    ])
    // −2^53 is a double, but so is what −2^53 − 1 would be rounded to.
    expect(decodeCbor(unhex('3b001fffffffffffff'))).toBe(-(2n ** 53n))
  })

  /** Either refused, or the bytes are the one encoding of what they decode to. */
  function isCanonicalOrRefused(bytes: Uint8Array): boolean {
    let value: CborValue
    try {
      value = decodeCbor(bytes)
    } catch (error) {
      if (error instanceof FairleadError && error.code === 'InvalidParams') return true
      throw error
    }
    return hex(encodeCbor(value)) === hex(bytes)
  }

  it('CBOR-5: every input of one or two bytes is refused or canonical', () => {
    const wrong: string[] = []
    for (let a = 0; a < 256; a++) {
      const one = Uint8Array.of(a)
      if (!isCanonicalOrRefused(one)) wrong.push(hex(one))
      for (let b = 0; b < 256; b++) {
        const two = Uint8Array.of(a, b)
        if (!isCanonicalOrRefused(two)) wrong.push(hex(two))
      }
    }
    expect(wrong).toEqual([])
  })

  it('CBOR-5: of all f16 exactly the finite ones are accepted, and none of them as f32 or f64', () => {
    const wrong: string[] = []
    const wide = Buffer.alloc(9)
    for (let bits = 0; bits < 0x1_0000; bits++) {
      const isNumber = ((bits >> 10) & 31) !== 31
      const half = Uint8Array.of(0xf9, bits >> 8, bits & 255)
      if ((decodes(half) === null) !== isNumber) wrong.push(hex(half))
      if (!isNumber || bits % 16 !== 0) continue
      wide[0] = 0xfa
      wide.writeFloatBE(halfOf(bits), 1)
      if (decodes(wide.subarray(0, 5)) === null) wrong.push(hex(wide.subarray(0, 5)))
      wide[0] = 0xfb
      wide.writeDoubleBE(halfOf(bits), 1)
      if (decodes(wide) === null) wrong.push(hex(wide))
    }
    expect(wrong).toEqual([])
  })

  const SAMPLES: readonly CborValue[] = [
    [1, 'ab', Uint8Array.of(1, 2), null],
    { '': 0, b: true, aa: [] },
    { a: { b: { c: new CborFloat(1.5) } } },
    [24, 256, 65_536, -25, -257],
    [2 ** 32, -(2n ** 64n)],
    [new CborFloat(-0), Math.fround(0.1), 0.1],
    ['\u{10151}', 'é', '\uffff'],
    'x'.repeat(24),
  ]

  it('CBOR-5: every change of a single byte of an encoding is refused or canonical', () => {
    const wrong: string[] = []
    for (const sample of SAMPLES) {
      const bytes = encodeCbor(sample)
      for (let at = 0; at < bytes.length; at++) {
        const kept = bytes[at] as number
        for (let other = 0; other < 256; other++) {
          bytes[at] = other
          if (!isCanonicalOrRefused(bytes)) wrong.push(hex(bytes))
        }
        bytes[at] = kept
      }
    }
    expect(wrong).toEqual([])
  })

  it('CBOR-5: flipped bits, truncations and trailing bytes of any encoding are refused or canonical', () => {
    fc.assert(
      fc.property(values, fc.nat(255), fc.nat(), (value, byte, place) => {
        const bytes = encodeCbor(value)
        const at = place % bytes.length
        for (let bit = 0; bit < 8; bit++) {
          const flipped = Uint8Array.from(bytes)
          flipped[at] = (flipped[at] as number) ^ (1 << bit)
          expect(isCanonicalOrRefused(flipped), hex(flipped)).toBe(true)
        }
        expect(decodes(bytes.subarray(0, at))).toBe('InvalidParams')
        expect(decodes(Buffer.concat([bytes, Uint8Array.of(byte)]))).toBe('InvalidParams')
      }),
      { numRuns: 600 },
    )
  })

  it('CBOR-5: every truncation of an encoding is refused', () => {
    for (const sample of SAMPLES) {
      const bytes = encodeCbor(sample)
      for (let end = 0; end < bytes.length; end++) {
        expect(decodes(bytes.subarray(0, end)), hex(bytes.subarray(0, end))).toBe('InvalidParams')
      }
    }
  })

  it('CBOR-5: random bytes are refused or canonical, and never crash the decoder', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 24 }), (bytes) => {
        expect(isCanonicalOrRefused(bytes), hex(bytes)).toBe(true)
      }),
      { numRuns: 600 },
    )
  })

  it.each([
    ['an indefinite text', '7f6161ff'],
    ['an indefinite array', '9fff'],
    ['an indefinite map', 'bfff'],
    ['a break', 'ff'],
    ['a tag', 'c074323031332d30332d32315432303a30343a30305a'],
    ['a bignum tag', 'c249010000000000000000'],
    ['undefined', 'f7'],
    ['a simple value', 'f8ff'],
    ['false in two bytes', 'f814'],
    ['a long integer', '1800'],
    ['a long text length', '780161' + '61'],
    ['a long byte length', '590001ff'],
    ['a long array length', '98010a'],
    ['a long map length', 'b801616100'],
    ['an integer key', 'a10102'],
    ['a byte key', 'a1416100'],
    ['a null key', 'a1f600'],
    ['a float key', 'a1f93c0000'],
    ['keys out of order', 'a2616201616100'],
    ['a longer key first', 'a262616100616200'],
    ['keys in UTF-16 order', 'a264f09085910063efbfbf01'],
    ['a duplicate key', 'a2616100616101'],
    ['a duplicate empty key', 'a260006001'],
    ['a duplicate __proto__', 'a2695f5f70726f746f5f5f00695f5f70726f746f5f5f01'],
    ['text that is not UTF-8', '62c328'],
    ['an overlong NUL', '62c080'],
    ['a surrogate in UTF-8', '63eda080'],
    ['a pair of surrogates in UTF-8', '66eda081edb091'],
    ['beyond U+10FFFF', '64f4908080'],
    ['a key that is not UTF-8', 'a162c32800'],
    ['NaN with a payload', 'f97e01'],
    ['minus infinity', 'f9fc00'],
    ['nothing', ''],
    ['two values', '0000'],
  ])('CBOR-5: %s is refused', (_, form) => {
    expect(decodes(unhex(form))).toBe('InvalidParams')
    // The decoder has no memory: what comes next is read as ever.
    expect(decodeCbor(unhex('62c3bc'))).toBe('ü')
  })

  it('CBOR-5: a byte order mark is text like any other', () => {
    expect(decodeCbor(unhex('63efbbbf'))).toBe('\ufeff')
    expect(decodeCbor(encodeCbor('\ufeffa'))).toBe('\ufeffa')
  })

  it('CBOR-5: a map with the key __proto__ has it as its own and no other prototype', () => {
    const map = decodeCbor(encodeCbor(JSON.parse('{"__proto__": {"polluted": true}}'))) as CborMap
    expect(Object.keys(map)).toEqual(['__proto__'])
    expect(map['polluted']).toBeUndefined()
    expect(({} as CborMap)['polluted']).toBeUndefined()
  })

  it('CBOR-5: what was decoded does not change when the input is used again', () => {
    const input = Buffer.from(encodeCbor([Uint8Array.of(1, 2, 3), 'abc', { key: 1 }]))
    const value = decodeCbor(input)
    const before = identity(value)
    input.fill(0xff)
    expect(identity(value)).toBe(before)
  })

  it('CBOR-5: a window on a larger buffer is read from its own start to its own end', () => {
    const whole = unhex('ffff830102' + '03ff')
    expect(decodeCbor(whole.subarray(2, 6))).toEqual([1, 2, 3])
    expect(decodes(whole.subarray(2, 5))).toBe('InvalidParams')
    expect(decodeCbor(new Uint8Array(whole).subarray(2, 6))).toEqual([1, 2, 3])
  })

  it.each([
    ['bytes', '5b7fffffffffffffff00'],
    ['bytes of 2^31', '5a8000000000'],
    ['bytes of 2^53', '5b002000000000000000'],
    ['text', '7bffffffffffffffff61'],
    ['text of 2^32 − 1', '7affffffff61'],
    ['an array', '9bffffffffffffffff01'],
    ['an array of 2^32 − 1', '9affffffff0101'],
    ['a map', 'bbffffffffffffffff616101'],
    ['a map of 2^32 − 1', 'baffffffff616101'],
    ['arrays in arrays', '9affffffff'.repeat(200)],
  ])('CBOR-5: a claimed length beyond the input allocates nothing: %s', (_, form) => {
    const before = process.memoryUsage()
    for (let i = 0; i < 100; i++) expect(decodes(unhex(form))).toBe('InvalidParams')
    const after = process.memoryUsage()
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(32 * 2 ** 20)
    expect(after.heapTotal - before.heapTotal).toBeLessThan(256 * 2 ** 20)
  })
})

describe('nesting', () => {
  const nestedList = (levels: number): CborValue => {
    let value: CborValue = []
    for (let i = 1; i < levels; i++) value = [value]
    return value
  }
  const nestedMap = (levels: number): CborValue => {
    let value: CborValue = {}
    for (let i = 1; i < levels; i++) value = { a: value }
    return value
  }

  it('CBOR-6: 256 levels are encoded and decoded, with a value in the innermost', () => {
    expect(CBOR_DEPTH_MAX).toBe(256)
    for (const value of [nestedList(256), nestedMap(256)]) {
      const bytes = encodeCbor(value)
      expect(hex(bytes)).toBe(hex(byLibrary(value)))
      expect(hex(encodeCbor(decodeCbor(bytes)))).toBe(hex(bytes))
    }
    const full = `${'81'.repeat(256)}01`
    expect(hex(encodeCbor(decodeCbor(unhex(full))))).toBe(full)
  })

  it('CBOR-6: 257 levels are refused in both directions', () => {
    for (const value of [nestedList(257), nestedMap(257)]) {
      expect(refusal(() => encodeCbor(value))).toBe('InvalidParams')
      expect(decodes(byLibrary(value))).toBe('InvalidParams')
    }
  })

  it('CBOR-6: a hundred thousand levels, or a circle, are refused without a crash', () => {
    expect(decodes(new Uint8Array(100_000).fill(0x81))).toBe('InvalidParams')
    expect(refusal(() => encodeCbor(nestedList(100_000)))).toBe('InvalidParams')
    const circle: CborValue[] = []
    circle.push(circle)
    expect(refusal(() => encodeCbor(circle))).toBe('InvalidParams')
  })
})
