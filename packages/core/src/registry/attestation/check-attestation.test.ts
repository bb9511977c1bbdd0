import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { toHex } from '../../encoding/bytes.ts'
import { publicKeyOf, signEd25519 } from '../../encoding/ed25519.ts'
import { sha256Of } from '../../encoding/hash.ts'
import { attestationHash, type ProviderId } from '../../encoding/ids.ts'
import { type CertificateRequest, issueCertificate } from '../../encoding/issue-certificate.ts'
import { FairleadError } from '../../errors.ts'
import { parsePolicy } from '../../policy/policy.ts'
import { attestationProblem, isAttestedFor, kindsOf } from './attestation.ts'
import {
  type AttestationReason,
  type AttestationRequest,
  attestationMessage,
  checkAttestation,
} from './check-attestation.ts'

const LEAF = Buffer.alloc(32, 1)
const INTER = Buffer.alloc(32, 2)
const ROOT = Buffer.alloc(32, 3)
const FROM = Date.UTC(2025, 10, 1)
const UNTIL = Date.UTC(2026, 10, 1)
const NOW = 1_764_000_000_000
const PROVIDER = 'provider:a' as ProviderId

const base = { isCa: true, notBefore: FROM, notAfter: UNTIL }
const ROOT_REQUEST: CertificateRequest = {
  ...base,
  subject: 'R',
  issuer: 'R',
  publicKey: publicKeyOf(ROOT),
  signedBy: ROOT,
}
const INTER_REQUEST = {
  ...base,
  subject: 'I',
  issuer: 'R',
  publicKey: publicKeyOf(INTER),
  signedBy: ROOT,
}
const LEAF_REQUEST = {
  ...base,
  subject: 'L',
  issuer: 'I',
  publicKey: publicKeyOf(LEAF),
  signedBy: INTER,
  isCa: false,
}

/** A chain of three with changes to single certificates. */
function chainOf(
  leaf: Partial<CertificateRequest> = {},
  inter: Partial<CertificateRequest> = {},
  root: Partial<CertificateRequest> = {},
): Uint8Array[] {
  return [
    issueCertificate({ ...LEAF_REQUEST, ...leaf }),
    issueCertificate({ ...INTER_REQUEST, ...inter }),
    issueCertificate({ ...ROOT_REQUEST, ...root }),
  ]
}

function request(
  chain: readonly Uint8Array[],
  changes: Partial<AttestationRequest> = {},
): AttestationRequest {
  const challenge = { value: `0x${'c1'.repeat(32)}`, expiresAt: NOW + 1 }
  const hash = attestationHash('tee', chain)
  const signed = {
    chainId: 1n,
    providerId: PROVIDER,
    challenge: challenge.value,
    attestationHash: hash,
  }
  return {
    nowMs: NOW,
    chainId: 1n,
    providerId: PROVIDER,
    publicKey: toHex(publicKeyOf(LEAF)),
    className: 'tee',
    chain,
    signature: signEd25519(LEAF, attestationMessage(signed)),
    challenge,
    classes: { tee: { kinds: ['ai'], roots: [sha256Of(chain.at(-1) as Uint8Array)] } },
    revoked: [],
    ...changes,
  }
}

/** The reason, or the code and field, of a refusal; null if it is accepted. */
function refusal(attempt: AttestationRequest): string | null {
  try {
    checkAttestation(attempt)
    return null
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error
    const { reason, field } = error.details
    return error.code === 'AttestationError' ? `${reason}` : `${error.code} ${field}`
  }
}

const GOOD = chainOf()

describe('a good chain', () => {
  it('ATTEST-1: its hash is over the class and all certificates, its times are the narrowest', () => {
    const chain = chainOf({ notBefore: Date.UTC(2025, 10, 20) }, { notAfter: Date.UTC(2026, 0, 1) })
    expect(checkAttestation(request(chain))).toEqual({
      className: 'tee',
      hash: attestationHash('tee', chain),
      notBefore: Date.UTC(2025, 10, 20),
      notAfter: Date.UTC(2026, 0, 1),
      fingerprints: chain.map(sha256Of),
    })
  })

  it('ATTEST-3: a pinned leaf alone is a chain, and nobody need have signed it', () => {
    expect(refusal(request([issueCertificate({ ...LEAF_REQUEST, signedBy: LEAF })]))).toBeNull()
  })

  it.each([
    Date.UTC(2026, 0, 1),
    Date.UTC(2028, 1, 29, 12),
    Date.UTC(2049, 11, 31, 23, 59, 59),
    Date.UTC(2050, 0, 1),
    Date.UTC(2099, 11, 31, 23, 59, 59),
    Date.UTC(9999, 11, 31, 23, 59, 59),
  ])('ATTEST-3: the end %i is read to the millisecond', (notAfter) => {
    const last = { notAfter: Date.UTC(9999, 11, 31, 23, 59, 59) }
    expect(checkAttestation(request(chainOf({ notAfter }, last, last))).notAfter).toBe(notAfter)
  })
})

describe('the checks, in their order', () => {
  const six = [...GOOD, ...GOOD]
  const x25519 = generateKeyPairSync('x25519').publicKey.export({ format: 'der', type: 'spki' })
  // The same frame of a key, with the number of another algorithm in it.
  const oddKey = (der: Uint8Array): Uint8Array => {
    const odd = Buffer.from(der)
    const at = odd.indexOf(Buffer.from(publicKeyOf(LEAF))) - 12
    Buffer.from(x25519.subarray(0, 12)).copy(odd, at)
    return odd
  }
  const [leaf, inter, root] = GOOD as [Uint8Array, Uint8Array, Uint8Array]

  it.each<[string, AttestationRequest]>([
    ['InvalidParams class', request(GOOD, { className: 'toString' })],
    ['InvalidParams chain', request(six)],
    ['InvalidParams chain', request(GOOD, { chain: [] })],
    ['InvalidParams chain[1]', request([leaf, Buffer.alloc(4_097), root])],
    ['InvalidParams chain[0]', request([Buffer.concat([leaf, Buffer.of(0)]), inter, root])],
    ['InvalidParams chain[2]', request([leaf, inter, Buffer.of()])],
    ['InvalidParams signature', request(GOOD, { signature: Buffer.alloc(63) })],
  ])('ATTEST-3: %s (%#)', (expected, attempt) => {
    expect(refusal(attempt)).toBe(expected)
  })

  // Each row has its own fault and those of all rows behind it.
  const over = { nowMs: Date.UTC(2027, 0, 1) }
  const rows: readonly (readonly [AttestationReason, AttestationRequest])[] = [
    ['challenge', request([oddKey(leaf), inter, root], { challenge: null, ...over })],
    ['key_type', request([oddKey(leaf), inter, root], { revoked: [sha256Of(inter)] })],
    [
      'revoked',
      request(GOOD, { revoked: [sha256Of(inter)], classes: { tee: { kinds: [], roots: [] } } }),
    ],
    [
      'root_not_pinned',
      request(chainOf({}, { isCa: false }), {
        classes: { tee: { kinds: [], roots: [sha256Of(leaf)] } },
      }),
    ],
    ['not_a_ca', request(chainOf({ issuer: 'X' }, { isCa: false }))],
    ['issuer_mismatch', request(chainOf({ issuer: 'X', signedBy: ROOT }))],
    ['bad_signature', request(chainOf({ signedBy: ROOT }), { nowMs: 0 })],
    ['not_yet_valid', request(GOOD, { nowMs: 0, publicKey: null })],
    [
      'expired',
      request(GOOD, { nowMs: Date.UTC(2026, 10, 1), challenge: { value: '0x', expiresAt: 9e15 } }),
    ],
    [
      'key_mismatch',
      request(GOOD, { publicKey: toHex(publicKeyOf(ROOT)), signature: Buffer.alloc(64) }),
    ],
    ['challenge_signature', request(GOOD, { signature: Buffer.alloc(64) })],
  ]

  it.each(rows)('ATTEST-3: %s', (reason, attempt) => {
    expect(refusal(attempt)).toBe(reason)
  })

  it('ATTEST-3: of the links the one nearest to the leaf is told', () => {
    expect(refusal(request(chainOf({ signedBy: ROOT }, {}, { isCa: false })))).toBe('bad_signature')
    expect(refusal(request(chainOf({}, {}, { isCa: false })))).toBe('not_a_ca')
  })

  it('ATTEST-3: the chain is valid from its start up to its end', () => {
    const start = Date.UTC(2025, 10, 1)
    const end = Date.UTC(2026, 10, 1)
    const at = (nowMs: number) =>
      refusal(
        request(GOOD, { nowMs, challenge: { value: `0x${'c1'.repeat(32)}`, expiresAt: 9e15 } }),
      )
    expect([start - 1, start, end - 1, end].map(at)).toEqual([
      'not_yet_valid',
      null,
      null,
      'expired',
    ])
  })

  it('ATTEST-2: a challenge is good until its end, and binds chain, provider and class', () => {
    expect(refusal(request(GOOD, { nowMs: NOW + 1 }))).toBe('challenge')
    expect(refusal(request(GOOD, { chainId: 2n }))).toBe('challenge_signature')
    expect(refusal(request(GOOD, { providerId: 'provider:b' as ProviderId }))).toBe(
      'challenge_signature',
    )
    const challenge = { value: `0x${'c2'.repeat(32)}`, expiresAt: NOW + 1 }
    expect(refusal(request(GOOD, { challenge }))).toBe('challenge_signature')
    const { classes } = request(GOOD)
    const other = { ...classes, other: classes['tee'] as (typeof classes)[string] }
    expect(refusal(request(GOOD, { className: 'other', classes: other }))).toBe(
      'challenge_signature',
    )
  })
})

describe('an accepted attestation', () => {
  const accepted = checkAttestation(request(GOOD))
  const policyOf = (kinds: string[], roots: string[], attestation_revoked: string[] = []) =>
    parsePolicy({
      registry: { attestation_classes: { tee: { kinds, roots } }, attestation_revoked },
    })
  const [leaf, , root] = accepted.fingerprints as [string, string, string]

  it('ATTEST-4: it is in force for the kinds that its class names now', () => {
    const { notBefore, notAfter } = accepted
    const policy = policyOf(['ai'], [root])
    const times = [notBefore - 1, notBefore, notAfter - 1, notAfter]
    expect(times.map((at) => isAttestedFor('ai', accepted, at, policy))).toEqual([
      false,
      true,
      true,
      false,
    ])
    expect(isAttestedFor('quantum', accepted, NOW, policy)).toBe(false)
    expect(isAttestedFor('quantum', accepted, NOW, policyOf(['quantum'], [root]))).toBe(true)
    expect(isAttestedFor('ai', null, NOW, policy)).toBe(false)
    expect(kindsOf(accepted, parsePolicy({}))).toEqual([])
  })

  it('ATTEST-5: changed settings are held against its fingerprints', () => {
    expect(attestationProblem(accepted, policyOf([], [root]))).toBeNull()
    expect(attestationProblem(accepted, policyOf([], [root], [leaf]))).toBe('revoked')
    expect(attestationProblem(accepted, policyOf([], [leaf]))).toBe('root_not_pinned')
    expect(attestationProblem(accepted, parsePolicy({}))).toBe('root_not_pinned')
  })
})

test('ATTEST-3: a changed byte is refused with a code of the rules', () => {
  const flip = fc.tuple(fc.nat(2), fc.nat(10_000), fc.integer({ min: 1, max: 255 }))
  fc.assert(
    fc.property(flip, ([which, at, bits]) => {
      const chain = GOOD.map((der) => Buffer.from(der))
      const der = chain[which] as Buffer
      const place = at % der.length
      der[place] = (der[place] as number) ^ bits
      const attempt = { ...request(GOOD), chain }
      expect(refusal(attempt)).not.toBeNull()
    }),
    { numRuns: 300 },
  )
})
