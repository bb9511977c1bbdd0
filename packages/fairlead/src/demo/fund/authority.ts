import { randomBytes } from 'node:crypto'
import { issueCertificate, issueRoot } from '@fairlead/core/internal'

export interface Validity {
  /** Whole seconds, as ms since the Unix epoch. */
  readonly notBefore: number
  readonly notAfter: number
}

/**
 * A maker of hardware for demos and tests: it signs certificates for the keys of providers. Its own key is made at run
 * time and never written.
 */
export class CertificateAuthority {
  /** The certificate to pin. */
  readonly root: Uint8Array
  readonly #name: string
  readonly #secretKey: Uint8Array
  readonly #validity: Validity
  #serial = 1n

  constructor(name: string, validity: Validity, secretKey: Uint8Array = randomBytes(32)) {
    this.#name = name
    this.#validity = validity
    this.#secretKey = secretKey
    this.root = issueRoot({ subject: name, signedBy: secretKey, ...validity })
  }

  /** The chain that vouches for a public key, leaf first and root last. */
  chainFor(subject: string, publicKey: Uint8Array, validity = this.#validity): Uint8Array[] {
    const leaf = issueCertificate({
      subject,
      issuer: this.#name,
      publicKey,
      signedBy: this.#secretKey,
      isCa: false,
      serial: ++this.#serial,
      ...validity,
    })
    return [leaf, this.root]
  }
}

/** A chain as a file has it. */
export function pemOf(chain: readonly Uint8Array[]): string {
  return chain
    .map((der) => {
      const lines =
        Buffer.from(der)
          .toString('base64')
          .match(/.{1,64}/g) ?? []
      return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
    })
    .join('')
}
