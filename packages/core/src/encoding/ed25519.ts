import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { invalidParams } from '../errors.ts'
import { asBuffer, fromHex, toHex } from './bytes.ts'

/** Ed25519 as RFC 8032 has it: `S < L`, and keys of 32 bytes. */
export const ED25519_KEY_BYTES = 32
export const ED25519_SIGNATURE_BYTES = 64

/** The public key of a 32-byte secret seed. */
export function publicKeyOf(secretKey: Uint8Array): Uint8Array {
  return rawPublicKey(createPublicKey(privateKey(secretKey)))
}

export function signEd25519(secretKey: Uint8Array, message: Uint8Array): Uint8Array {
  return new Uint8Array(sign(null, message, privateKey(secretKey)))
}

/** False for everything that is not a signature by this key over this message. It never throws. */
export function verifyEd25519(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (publicKey.length !== ED25519_KEY_BYTES || signature.length !== ED25519_SIGNATURE_BYTES) {
    return false
  }
  try {
    return verify(null, message, keyObject(publicKey), signature)
  } catch {
    return false
  }
}

/** The 32 bytes of an Ed25519 key, or null for a key of another type. */
export function ed25519KeyOf(key: KeyObject): Uint8Array | null {
  return key.asymmetricKeyType === 'ed25519' ? rawPublicKey(key) : null
}

/**
 * The key of a provider in its one form, or `InvalidParams`. Under a key of small order one signature holds for any
 * message, so such a key would let everybody sign (PROOF-4).
 */
export function readPublicKey(written: unknown, field = 'public_key'): string {
  const bytes = typeof written === 'string' ? fromHex(written) : written
  if (!(bytes instanceof Uint8Array) || bytes.length !== ED25519_KEY_BYTES) {
    throw invalidParams(field, 'an Ed25519 key of 32 bytes as 0x hex')
  }
  if (isSmallOrder(bytes)) {
    throw invalidParams(field, 'an Ed25519 key that is not of small order; make a new key pair')
  }
  return toHex(bytes)
}

/** The y coordinates of the points of small order, little-endian; those of 0 and 1 also unreduced, as p and p + 1. */
const SMALL_ORDER = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
]

/** The sign bit is the only difference between a point and its negative, which has the same order. */
function isSmallOrder(publicKey: Uint8Array): boolean {
  const y = Buffer.from(publicKey)
  y[31] = (y[31] as number) & 0x7f
  return SMALL_ORDER.includes(y.toString('hex'))
}

// Node takes raw keys only inside of their DER frames.
const SPKI_FRAME = Buffer.from('302a300506032b6570032100', 'hex')
const PKCS8_FRAME = Buffer.from('302e020100300506032b657004220420', 'hex')

function privateKey(secretKey: Uint8Array): KeyObject {
  if (secretKey.length !== ED25519_KEY_BYTES) throw invalidParams('secret_key', '32 bytes')
  const der = Buffer.concat([PKCS8_FRAME, secretKey])
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

function rawPublicKey(key: KeyObject): Uint8Array {
  const der = key.export({ format: 'der', type: 'spki' })
  return new Uint8Array(der.subarray(der.length - ED25519_KEY_BYTES))
}

/** Making a key object costs as much as a verification, and a provider sends many proofs. */
const keyObjects = new Map<string, KeyObject>()
const KEY_OBJECTS_MAX = 4_096

function keyObject(publicKey: Uint8Array): KeyObject {
  const name = asBuffer(publicKey).toString('latin1')
  let key = keyObjects.get(name)
  if (key !== undefined) return key
  const der = Buffer.concat([SPKI_FRAME, publicKey])
  key = createPublicKey({ key: der, format: 'der', type: 'spki' })
  if (keyObjects.size >= KEY_OBJECTS_MAX) {
    for (const oldest of keyObjects.keys()) {
      keyObjects.delete(oldest)
      break
    }
  }
  keyObjects.set(name, key)
  return key
}
