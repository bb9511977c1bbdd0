import { publicKeyOf, signEd25519 } from './ed25519.ts'
import { isoUtc } from './iso-utc.ts'

/** The content of an Ed25519 certificate, and the key of its issuer. */
export interface CertificateRequest {
  /** Common names. */
  readonly subject: string
  readonly issuer: string
  readonly publicKey: Uint8Array
  /** The secret seed of the issuer. */
  readonly signedBy: Uint8Array
  readonly isCa: boolean
  /** Whole seconds, as ms since the Unix epoch. */
  readonly notBefore: number
  readonly notAfter: number
  /** Different for each certificate of an issuer. */
  readonly serial?: bigint
}

/**
 * An X.509 certificate in DER, without another program: for tests, demos and tools. It refuses nothing. The rules that
 * read certificates do not need it.
 */
export function issueCertificate(request: CertificateRequest): Uint8Array {
  const { subject, issuer, publicKey, signedBy, isCa, notBefore, notAfter, serial = 1n } = request
  const body = sequence(
    tlv(0xa0, integer(2n)),
    integer(serial),
    ED25519,
    name(issuer),
    sequence(time(notBefore), time(notAfter)),
    name(subject),
    sequence(ED25519, bitString(publicKey)),
    tlv(0xa3, sequence(basicConstraints(isCa))),
  )
  return sequence(body, ED25519, bitString(signEd25519(signedBy, body)))
}

/** A certificate that a key issues for itself. */
export function issueRoot(
  request: Omit<CertificateRequest, 'issuer' | 'publicKey' | 'isCa'>,
): Uint8Array {
  const publicKey = publicKeyOf(request.signedBy)
  return issueCertificate({ ...request, issuer: request.subject, publicKey, isCa: true })
}

function tlv(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const head =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...head), content])
}

const sequence = (...parts: readonly Uint8Array[]): Buffer => tlv(0x30, ...parts)
const bitString = (bytes: Uint8Array): Buffer => tlv(0x03, Buffer.of(0), bytes)
const oid = (...bytes: readonly number[]): Buffer => tlv(0x06, Buffer.of(...bytes))
const ED25519 = sequence(oid(0x2b, 0x65, 0x70))

/** A leading zero keeps a number whose first bit is set from being negative. */
function integer(value: bigint): Buffer {
  const digits = value.toString(16)
  const even = digits.length % 2 === 0 ? digits : `0${digits}`
  return tlv(0x02, Buffer.from(/^[89a-f]/.test(even) ? `00${even}` : even, 'hex'))
}

/** UTCTime before 2050, GeneralizedTime from then on (RFC 5280). */
function time(ms: number): Buffer {
  const digits = isoUtc(ms).slice(0, 19).replaceAll(/[-:T]/g, '')
  const isShort = ms < FROM_2050
  return tlv(isShort ? 0x17 : 0x18, Buffer.from(`${isShort ? digits.slice(2) : digits}Z`))
}

const FROM_2050 = 2_524_608_000_000

function name(common: string): Buffer {
  const text = tlv(0x0c, Buffer.from(common))
  return sequence(tlv(0x31, sequence(oid(0x55, 0x04, 0x03), text)))
}

function basicConstraints(isCa: boolean): Buffer {
  const value = sequence(...(isCa ? [tlv(0x01, Buffer.of(0xff))] : []))
  return sequence(oid(0x55, 0x1d, 0x13), tlv(0x01, Buffer.of(0xff)), tlv(0x04, value))
}
