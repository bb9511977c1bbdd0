import { X509Certificate } from 'node:crypto'
import { asBuffer } from './bytes.ts'
import { ed25519KeyOf } from './ed25519.ts'
import { sha256Of } from './hash.ts'
import { utcMs } from './iso-utc.ts'

/** The properties of an X.509 certificate that the rules look at (ATTEST-3). Nothing else in it counts. */
export interface Certificate {
  /** SHA-256 of its DER, as `0x` hex. */
  readonly fingerprint: string
  /** Null if its key is not an Ed25519 key. */
  readonly publicKey: Uint8Array | null
  readonly isCa: boolean
  readonly notBefore: number
  readonly notAfter: number
  /** True if the name of the issuer is the subject of the other, as OpenSSL compares them. */
  names(issuer: Certificate): boolean
  isSignedBy(issuer: Certificate): boolean
}

/** The certificate in these bytes; null if they are not exactly one X.509 certificate in DER. */
export function readCertificate(der: Uint8Array): Certificate | null {
  try {
    const x509 = new X509Certificate(der)
    // Node also reads PEM, and ignores bytes after a certificate.
    if (!x509.raw.equals(asBuffer(der))) return null
    const notBefore = timeOf(x509.validFrom)
    const notAfter = timeOf(x509.validTo)
    if (notBefore === null || notAfter === null) return null
    return new NodeCertificate(x509, sha256Of(der), { notBefore, notAfter })
  } catch {
    return null
  }
}

class NodeCertificate implements Certificate {
  readonly fingerprint: string
  readonly notBefore: number
  readonly notAfter: number
  readonly isCa: boolean
  readonly publicKey: Uint8Array | null
  readonly #x509: X509Certificate

  constructor(
    x509: X509Certificate,
    fingerprint: string,
    times: { readonly notBefore: number; readonly notAfter: number },
  ) {
    this.#x509 = x509
    this.fingerprint = fingerprint
    this.notBefore = times.notBefore
    this.notAfter = times.notAfter
    this.isCa = x509.ca
    this.publicKey = keyOf(x509)
  }

  names(issuer: Certificate): boolean {
    return attempt(() => this.#x509.checkIssued((issuer as NodeCertificate).#x509))
  }

  isSignedBy(issuer: Certificate): boolean {
    return attempt(() => this.#x509.verify((issuer as NodeCertificate).#x509.publicKey))
  }
}

/** Node throws for a key of a type that it does not know. */
function keyOf(x509: X509Certificate): Uint8Array | null {
  try {
    return ed25519KeyOf(x509.publicKey)
  } catch {
    return null
  }
}

function attempt(check: () => boolean): boolean {
  try {
    return check()
  } catch {
    return false
  }
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Node has the times of a certificate as text: `Nov  3 16:00:00 2025 GMT`. */
function timeOf(text: string): number | null {
  const parts = /^([A-Z][a-z]{2}) +(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) (\d{4}) GMT$/.exec(text)
  if (parts === null) return null
  const [, name = '', ...numbers] = parts
  const month = MONTHS.indexOf(name) + 1
  const [day = 0, hours = 0, minutes = 0, seconds = 0, year = 0] = numbers.map(Number)
  return month === 0
    ? null
    : utcMs({ year, month, day }) + (hours * 3_600 + minutes * 60 + seconds) * 1_000
}
