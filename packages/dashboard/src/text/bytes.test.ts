import fc from 'fast-check'
import { expect, it } from 'vitest'
import { bytesOfHex, hexDump, hexOf, textOfBytes } from './bytes.ts'

it('hex and bytes are the same both ways', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      expect(bytesOfHex(hexOf(bytes))).toEqual(bytes)
    }),
  )
})

it('text is told from bytes that are none', () => {
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
  expect(textOfBytes(encode('naïve\n\ttext'))).toBe('naïve\n\ttext')
  expect(textOfBytes(encode('a\u0000b'))).toBeNull()
  expect(textOfBytes(Uint8Array.of(0xc3, 0x28))).toBeNull()
})

it('a dump has the offset, the bytes, and what can be read of them', () => {
  const bytes = new TextEncoder().encode('h q[0]; cx q[0],q[1];')
  expect(hexDump(bytes)).toBe(
    [
      '00000000  68 20 71 5b 30 5d 3b 20 63 78 20 71 5b 30 5d 2c  h q[0]; cx q[0],',
      '00000010  71 5b 31 5d 3b                                   q[1];',
    ].join('\n'),
  )
})
