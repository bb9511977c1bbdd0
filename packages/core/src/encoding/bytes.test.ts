import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { asBuffer, compareAscii, fromHex, isHex32, toHex, utf8, utf8Length } from './bytes.ts'
import { compareText, utf8Bytes } from './text.ts'

describe('hex', () => {
  // Before any that is right: what was right last is remembered.
  it.each(['', null, undefined, 0, '0x', `0x${'d'.repeat(62)}`])(
    'VALUE-3: %s is no 32 bytes',
    (text) => {
      expect(isHex32(text)).toBe(false)
      expect(isHex32(`0x${'d'.repeat(64)}`)).toBe(true)
      expect(isHex32(text)).toBe(false)
    },
  )

  it('VALUE-3: bytes are 0x and lower-case hex, and read back as they were', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const written = toHex(bytes)
        expect(written).toMatch(/^0x[0-9a-f]*$/)
        expect(written).toHaveLength(2 + 2 * bytes.length)
        expect(Array.from(fromHex(written) ?? [])).toEqual(Array.from(bytes))
      }),
    )
    expect(toHex(Uint8Array.of(0, 1, 0xab, 0xff))).toBe('0x0001abff')
    expect(fromHex('0x')).toHaveLength(0)
  })

  it('VALUE-3: a text is accepted exactly when it is the hex of some bytes', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^0?[xX]?[0-9a-fA-FgG ]{0,6}$/), (written) => {
        const bytes = fromHex(written)
        if (bytes === null) expect(written).not.toMatch(/^0x([0-9a-f][0-9a-f])*$/)
        else expect(toHex(bytes)).toBe(written)
      }),
      { numRuns: 500 },
    )
  })

  it.each([
    '',
    '0',
    'x',
    '00',
    'ab',
    '0X00',
    '0xA0',
    '0xaB',
    '0x0',
    '0x000',
    '0xg0',
    '0x 0',
    '0x00 ',
    ' 0x00',
    '0x00\n',
    '0x00\u0000',
    '0x0x00',
    '0x٠٠',
    '0x00,00',
  ])('VALUE-3: %j is refused', (written) => {
    expect(fromHex(written)).toBeNull()
  })

  it('VALUE-3: hex of a few megabytes is read like any other', () => {
    const digits = '0f'.repeat(2 ** 21)
    expect(fromHex(`0x${digits}`)).toHaveLength(2 ** 21)
    expect(fromHex(`0x${digits}0`)).toBeNull()
    expect(fromHex(`0x${digits}0G`)).toBeNull()
  })

  it('VALUE-3: text beyond ASCII is never hex, wherever it stands and however long it is', () => {
    for (const length of [4, 64, 4_094, 4_096, 4_098, 8_192]) {
      const digits = `0x${'ab'.repeat(length / 2 - 1)}`
      expect(fromHex(digits)).toHaveLength(length / 2 - 1)
      for (const at of [2, 3, length >> 1, length - 2, length - 1]) {
        for (const wrong of ['é', '\uffff', '\ud800', '\u0100', '\0', 'G']) {
          expect(fromHex(digits.slice(0, at) + wrong + digits.slice(at + 1))).toBeNull()
        }
      }
    }
  })

  it('VALUE-3: a window on a larger buffer shows its own bytes', () => {
    const whole = Uint8Array.of(1, 2, 3, 4)
    expect(toHex(whole.subarray(1, 3))).toBe('0x0203')
    expect(toHex(Buffer.from(whole.buffer, 2, 1))).toBe('0x03')
  })
})

describe('text', () => {
  const texts = fc.string({ unit: 'binary', maxLength: 12 })
  /** By code points, which is the order of UTF-8 and not that of UTF-16. */
  function compareCodePoints(a: string, b: string): number {
    const left = Array.from(a, (c) => c.codePointAt(0) as number)
    const right = Array.from(b, (c) => c.codePointAt(0) as number)
    for (let i = 0; i < Math.min(left.length, right.length); i++) {
      if (left[i] !== right[i]) return Math.sign((left[i] as number) - (right[i] as number))
    }
    return Math.sign(left.length - right.length)
  }

  it('VALUE-9: text is ordered by its UTF-8 bytes', () => {
    fc.assert(
      fc.property(texts, texts, texts, (a, b, prefix) => {
        expect(Math.sign(compareText(a, b))).toBe(compareCodePoints(a, b))
        expect(Math.sign(compareText(prefix + a, prefix + b))).toBe(compareCodePoints(a, b))
        expect(Math.sign(compareText(b, a))).toBe(-compareCodePoints(a, b) + 0)
      }),
      { numRuns: 500 },
    )
    expect(compareText('\uffff', '\u{10000}')).toBeLessThan(0)
    expect(compareText('', 'a')).toBeLessThan(0)
    expect(compareText('a', 'a')).toBe(0)
  })

  it('VALUE-9: a lone surrogate has the place and the length of the replacement character', () => {
    const halves = fc.string({
      unit: fc.constantFrom('a', 'é', '\ud83d', '\ude00', '\ufffd', '\uffff'),
      maxLength: 6,
    })
    fc.assert(
      fc.property(halves, halves, (a, b) => {
        expect(compareText(a, b)).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)))
        expect(utf8Bytes(a)).toBe(Buffer.byteLength(a))
      }),
      { numRuns: 1_000 },
    )
  })

  it('VALUE-9: ASCII text has the same order in the short comparison', () => {
    const ascii = fc.string({ unit: 'binary-ascii', maxLength: 12 })
    fc.assert(
      fc.property(ascii, ascii, (a, b) => {
        expect(Math.sign(compareAscii(a, b))).toBe(compareCodePoints(a, b))
      }),
      { numRuns: 500 },
    )
  })

  it('HASH-3: the bytes of a text are its UTF-8, and its length is counted in them', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const bytes = new TextEncoder().encode(text)
        expect(Array.from(utf8(text))).toEqual(Array.from(bytes))
        expect(utf8Length(text)).toBe(bytes.length)
        expect(utf8Bytes(text)).toBe(bytes.length)
        expect(utf8Bytes(text.repeat(100))).toBe(100 * bytes.length)
      }),
    )
    expect(utf8Length('é')).toBe(2)
    expect(utf8Length('\u{10151}')).toBe(4)
  })

  it('VALUE-3: a buffer view shares the memory of its bytes and nothing around them', () => {
    const whole = Uint8Array.of(1, 2, 3, 4)
    const view = asBuffer(whole.subarray(1, 3))
    expect(Array.from(view)).toEqual([2, 3])
    whole[1] = 9
    expect(Array.from(view)).toEqual([9, 3])
    const buffer = Buffer.from([1])
    expect(asBuffer(buffer)).toBe(buffer)
  })
})
