import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { fromHex, toHex } from './bytes.ts'
import { publicKeyOf, readPublicKey, signEd25519, verifyEd25519 } from './ed25519.ts'

const bytes = (hex: string): Uint8Array => Buffer.from(hex, 'hex')

// The second test of RFC 8032.
const SECRET = bytes('4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb')
const PUBLIC = bytes('3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c')
const MESSAGE = bytes('72')
const SIGNATURE = bytes(
  '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
)
const ORDER = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n

it('PROOF-3: keys and signatures are those of RFC 8032', () => {
  expect(toHex(publicKeyOf(SECRET))).toBe(toHex(PUBLIC))
  expect(toHex(signEd25519(SECRET, MESSAGE))).toBe(toHex(SIGNATURE))
  expect(verifyEd25519(PUBLIC, MESSAGE, SIGNATURE)).toBe(true)
})

it('PROOF-3: the second half of a signature is below the order of the group', () => {
  const low = BigInt(`0x${Buffer.from(SIGNATURE.subarray(32)).reverse().toString('hex')}`)
  const high = Buffer.from((low + ORDER).toString(16).padStart(64, '0'), 'hex').reverse()
  const malleated = Buffer.concat([SIGNATURE.subarray(0, 32), high])
  expect(verifyEd25519(PUBLIC, MESSAGE, malleated)).toBe(false)
})

test('PROOF-3: anything else is no signature, and never an exception', () => {
  const anyBytes = fc.oneof(
    fc.uint8Array({ maxLength: 70 }),
    fc.uint8Array({ minLength: 32, maxLength: 32 }),
    fc.uint8Array({ minLength: 64, maxLength: 64 }),
  )
  fc.assert(
    fc.property(anyBytes, anyBytes, (key, signature) => {
      expect(verifyEd25519(key, MESSAGE, signature)).toBe(false)
      expect(verifyEd25519(PUBLIC, MESSAGE, signature)).toBe(false)
    }),
    { numRuns: 200 },
  )
})

const SMALL = [
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  `ec${'ff'.repeat(30)}7f`,
  `ed${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(30)}7f`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
]

it.each(SMALL)('PROOF-4: the key %s is of small order, with either sign', (hex) => {
  const negative = bytes(hex)
  negative[31] = (negative[31] as number) | 0x80
  for (const key of [bytes(hex), negative]) {
    expect(() => readPublicKey(toHex(key))).toThrow(
      expect.objectContaining({ code: 'InvalidParams', details: { field: 'public_key' } }),
    )
  }
})

it.each(['', '0x', PUBLIC.subarray(1), '0xZZ', null, 5, toHex(PUBLIC).toUpperCase()])(
  'PROOF-4: %j is not a key',
  (wrong) => {
    expect(() => readPublicKey(wrong)).toThrow(expect.objectContaining({ code: 'InvalidParams' }))
  },
)

it('PROOF-4: a key is 32 bytes, given as they are or as hex', () => {
  expect(readPublicKey(PUBLIC)).toBe(toHex(PUBLIC))
  expect(readPublicKey(toHex(PUBLIC))).toBe(toHex(PUBLIC))
  expect(fromHex(readPublicKey(PUBLIC))).toHaveLength(32)
})
