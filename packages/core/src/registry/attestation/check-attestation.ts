import { fromHex, toHex } from '../../encoding/bytes.ts'
import { type Certificate, readCertificate } from '../../encoding/certificate.ts'
import { ED25519_SIGNATURE_BYTES, verifyEd25519 } from '../../encoding/ed25519.ts'
import { taggedHash } from '../../encoding/hash.ts'
import { attestationHash, type ProviderId } from '../../encoding/ids.ts'
import { FairleadError, invalidParams } from '../../errors.ts'
import {
  type AttestationClass,
  type AttestationClasses,
  classNamed,
} from '../../policy/attestation-policy.ts'
import type { AcceptedAttestation } from './attestation.ts'

/** 32 random bytes for one attestation, as 0x hex (ATTEST-2). */
export interface Challenge {
  readonly value: string
  readonly expiresAt: number
}

/** How long a challenge is good. */
export const CHALLENGE_MS = 300_000

export interface AttestationRequest {
  readonly nowMs: number
  readonly chainId: bigint
  readonly providerId: ProviderId
  /** The provider's key as 0x hex; null if it never gave one. */
  readonly publicKey: string | null
  readonly className: string
  /** Certificates in DER, leaf first, the root last. */
  readonly chain: readonly Uint8Array[]
  /** By the leaf's key over `attestationMessage`. */
  readonly signature: Uint8Array
  /** The provider's open one. */
  readonly challenge: Challenge | null
  readonly classes: AttestationClasses
  readonly revoked: readonly string[]
}

/** Why a chain does not vouch for a provider, in the order of the checks (ATTEST-3). */
export const ATTESTATION_REASONS = [
  'challenge',
  'key_type',
  'revoked',
  'root_not_pinned',
  'not_a_ca',
  'issuer_mismatch',
  'bad_signature',
  'not_yet_valid',
  'expired',
  'key_mismatch',
  'challenge_signature',
] as const
export type AttestationReason = (typeof ATTESTATION_REASONS)[number]

export const CERTIFICATES_MAX = 5
export const CERTIFICATE_BYTES_MAX = 4_096

/** The 32 bytes that the leaf's key signs (ATTEST-2). */
export function attestationMessage(attempt: {
  readonly chainId: bigint
  readonly providerId: ProviderId
  readonly challenge: string
  readonly attestationHash: string
}): Uint8Array {
  const { chainId, providerId, challenge, attestationHash: hash } = attempt
  return taggedHash('AICF|attest', chainId, providerId, bytesOf(challenge), bytesOf(hash))
}

/** The attestation that a chain of certificates gives, or the refusal of the first check that fails (ATTEST-3). */
export function checkAttestation(request: AttestationRequest): AcceptedAttestation {
  const { nowMs, chainId, providerId, className, challenge, signature } = request
  const known = classNamed(request.classes, className)
  if (known === null) {
    throw invalidParams('class', 'a class of registry.attestation_classes')
  }
  const chain = readChain(request.chain)
  if (signature.length !== ED25519_SIGNATURE_BYTES) {
    throw invalidParams('signature', `${ED25519_SIGNATURE_BYTES} bytes`, `${signature.length}`)
  }
  if (challenge === null || nowMs >= challenge.expiresAt) {
    throw refused('challenge', 'there is no open challenge; ask for one with aicf.getChallenge')
  }
  refuseUntrusted(chain, known, request.revoked)
  refuseUnlinked(chain)
  const notBefore = Math.max(...chain.map((one) => one.notBefore))
  const notAfter = Math.min(...chain.map((one) => one.notAfter))
  if (nowMs < notBefore) throw refused('not_yet_valid', `the chain is valid from ${notBefore} on`)
  if (nowMs >= notAfter) throw refused('expired', `the chain was valid until ${notAfter}`)
  const leafKey = chain[0]?.publicKey as Uint8Array
  if (toHex(leafKey) !== request.publicKey) {
    throw refused('key_mismatch', "the leaf's key is not the key of the provider")
  }
  const hash = attestationHash(className, request.chain)
  const signed = { chainId, providerId, challenge: challenge.value, attestationHash: hash }
  if (!verifyEd25519(leafKey, attestationMessage(signed), signature)) {
    throw refused('challenge_signature', "the signature of the challenge is not by the leaf's key")
  }
  const fingerprints = chain.map(({ fingerprint }) => fingerprint)
  return { className, hash, notBefore, notAfter, fingerprints }
}

function readChain(chain: readonly Uint8Array[]): readonly Certificate[] {
  if (chain.length < 1 || chain.length > CERTIFICATES_MAX) {
    throw invalidParams('chain', `1 to ${CERTIFICATES_MAX} certificates`, `${chain.length}`)
  }
  return chain.map((der, i) => {
    if (der.length > CERTIFICATE_BYTES_MAX) {
      throw invalidParams(`chain[${i}]`, `at most ${CERTIFICATE_BYTES_MAX} bytes`, `${der.length}`)
    }
    const certificate = readCertificate(der)
    if (certificate === null) throw invalidParams(`chain[${i}]`, 'one X.509 certificate in DER')
    return certificate
  })
}

/** The keys are of the right type, nothing is revoked, and the root is one of the pinned ones. */
function refuseUntrusted(
  chain: readonly Certificate[],
  { roots }: AttestationClass,
  revoked: readonly string[],
): void {
  const odd = chain.findIndex(({ publicKey }) => publicKey === null)
  if (odd !== -1) throw refused('key_type', `chain[${odd}] has a key that is not Ed25519`)
  const bad = chain.findIndex(({ fingerprint }) => revoked.includes(fingerprint))
  if (bad !== -1) throw refused('revoked', `chain[${bad}] was revoked`)
  if (!roots.includes((chain.at(-1) as Certificate).fingerprint)) {
    throw refused('root_not_pinned', 'the last certificate is not a root of this class')
  }
}

/** Each certificate but the last was issued by the next one. The root is trusted by its pin. */
function refuseUnlinked(chain: readonly Certificate[]): void {
  chain.slice(1).forEach((issuer, i) => {
    const certificate = chain[i] as Certificate
    if (!issuer.isCa) throw refused('not_a_ca', `chain[${i + 1}] may not issue certificates`)
    if (!certificate.names(issuer)) {
      throw refused('issuer_mismatch', `chain[${i}] names another issuer than chain[${i + 1}]`)
    }
    if (!certificate.isSignedBy(issuer)) {
      throw refused('bad_signature', `chain[${i}] is not signed by chain[${i + 1}]`)
    }
  })
}

function refused(reason: AttestationReason, message: string): FairleadError {
  return new FairleadError('AttestationError', message, { reason })
}

function bytesOf(hex: string): Uint8Array {
  const bytes = fromHex(hex)
  if (bytes === null) throw invalidParams('challenge', '32 bytes as 0x hex')
  return bytes
}
