import { publicKeyOf, signEd25519 } from '../src/encoding/ed25519.ts'

/** Certificates in DER, written by hand, so that a test needs no other program. */
export interface CertificateRequest {
  readonly subject: string
  readonly issuer: string
  /** The secret seed of the subject. */
  readonly key: Uint8Array
  /** The secret seed of whoever signs. */
  readonly signedBy: Uint8Array
  readonly isCa: boolean
  /** `YYMMDDhhmmssZ`, or with four digits of the year from 2050 on. */
  readonly from: string
  readonly until: string
  readonly serial?: number
}

export function certificate(request: CertificateRequest): Uint8Array {
  const { subject, issuer, key, signedBy, isCa, from, until, serial = 1 } = request
  const body = sequence(
    tlv(0xa0, integer(2)),
    integer(serial),
    ED25519,
    name(issuer),
    sequence(time(from), time(until)),
    name(subject),
    sequence(ED25519, bitString(publicKeyOf(key))),
    tlv(0xa3, sequence(basicConstraints(isCa))),
  )
  return sequence(body, ED25519, bitString(signEd25519(signedBy, body)))
}

function tlv(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const head =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...head), content])
}

const sequence = (...parts: readonly Uint8Array[]): Buffer => tlv(0x30, ...parts)
const integer = (n: number): Buffer => tlv(0x02, Buffer.of(n))
const bitString = (bytes: Uint8Array): Buffer => tlv(0x03, Buffer.of(0), bytes)
const oid = (...bytes: readonly number[]): Buffer => tlv(0x06, Buffer.of(...bytes))
const time = (text: string): Buffer => tlv(text.length === 13 ? 0x17 : 0x18, Buffer.from(text))
const ED25519 = sequence(oid(0x2b, 0x65, 0x70))

function name(common: string): Buffer {
  const text = tlv(0x0c, Buffer.from(common))
  return sequence(tlv(0x31, sequence(oid(0x55, 0x04, 0x03), text)))
}

function basicConstraints(isCa: boolean): Buffer {
  const value = sequence(...(isCa ? [tlv(0x01, Buffer.of(0xff))] : []))
  return sequence(oid(0x55, 0x1d, 0x13), tlv(0x01, Buffer.of(0xff)), tlv(0x04, value))
}
