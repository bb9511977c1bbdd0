import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import {
  HOLDER,
  hash32,
  LEASE,
  OTHER_SECRET,
  PUBLIC_KEY,
  SECRET,
  TASK,
} from '../../../test/any-fund.ts'
import { encodeCbor } from '../../encoding/cbor.ts'
import { sha3Hex } from '../../encoding/hash.ts'
import type { JobId, LeaseId, ProviderId } from '../../encoding/ids.ts'
import { FairleadError } from '../../errors.ts'
import {
  type AwaitedLease,
  checkProof,
  NO_ATTESTATION,
  type ProofAttestation,
  type ProofContext,
  type ProofVerdict,
  type ProvedJob,
} from './check-proof.ts'
import { type BuiltProof, buildProof, ENVELOPE_BYTES_MAX, readProof } from './envelope.ts'
import type { ProofBody } from './proof-body.ts'

const AT = 1_764_000_000_000

const BODY: ProofBody = {
  chainId: 1n,
  taskId: TASK,
  providerId: HOLDER,
  leaseId: LEASE,
  outputDigest: hash32('output'),
  unitsPpm: 3_250_000n,
  qos: { p95LatencyMs: 420n, availabilityPpm: 999_300n },
  attestationHash: NO_ATTESTATION,
  traps: null,
}
const AWAITS: AwaitedLease = {
  leaseId: LEASE,
  providerId: HOLDER,
  outputDigest: hash32('output'),
  publicKey: PUBLIC_KEY,
  attestation: null,
}
const JOB: ProvedJob = {
  kind: 'ai',
  derivedTaskId: TASK,
  estimatedUnits: 3,
  attestationRequired: false,
  awaits: AWAITS,
}
const CONTEXT: ProofContext = {
  by: HOLDER,
  at: AT,
  chainId: 1n,
  unitsMaxPpm: 1_100_000,
  trapsMinPpm: 980_000,
  isClaimed: () => false,
  jobOf: (taskId) => (taskId === TASK ? JOB : null),
}
const ATTESTATION: ProofAttestation = {
  hash: hash32('attestation'),
  notBefore: AT - 10,
  notAfter: AT + 10,
  kinds: ['ai'],
}

function built(body: Partial<ProofBody> = {}, secretKey: Uint8Array = SECRET): BuiltProof {
  const whole = { ...BODY, ...body }
  return buildProof({ typeId: whole.traps === null ? 2 : 3, secretKey, body: whole })
}

function check(
  body: Partial<ProofBody>,
  context: Partial<ProofContext> = {},
  job: Partial<ProvedJob> = {},
): ProofVerdict {
  const jobOf = (taskId: JobId) => (taskId === TASK ? { ...JOB, ...job } : null)
  return checkProof(built(body).envelope, { ...CONTEXT, jobOf, ...context })
}

/** The code of a refusal, with its reason or field. */
function refusal({ error }: ProofVerdict): string | null {
  if (error === null) return null
  const { reason, field } = error.details
  return [error.code, reason ?? field].filter((part) => part !== undefined).join(' ')
}

describe('PROOF-1: the envelope', () => {
  const { envelope, body: bytes, nullifier } = built()
  const parts = { type_id: 2, body: bytes, nullifier: Buffer.from(nullifier.slice(2), 'hex') }

  it.each<[string, Uint8Array, string]>([
    ['nothing', Buffer.of(), 'envelope'],
    ['too long', Buffer.alloc(ENVELOPE_BYTES_MAX + 1), 'envelope'],
    ['not CBOR', Buffer.of(0xff), 'envelope'],
    ['a trailing byte', Buffer.concat([envelope, Buffer.of(0)]), 'envelope'],
    ['a list', encodeCbor([]), 'envelope'],
    ['bytes', encodeCbor(Buffer.of(1)), 'envelope'],
    ['no type', encodeCbor({ body: bytes, nullifier: parts.nullifier }), 'type_id'],
    ['an unknown type', encodeCbor({ ...parts, type_id: 1 }), 'type_id'],
    ['a type as text', encodeCbor({ ...parts, type_id: '2' }), 'type_id'],
    ['another key', encodeCbor({ ...parts, extra: 1 }), 'extra'],
    ['a short nullifier', encodeCbor({ ...parts, nullifier: Buffer.alloc(31) }), 'nullifier'],
    ['a body that is a map', encodeCbor({ ...parts, body: {} }), 'body'],
    ['a body that is not canonical', encodeCbor({ ...parts, body: Buffer.of(0xbf) }), 'body'],
    ['traps where there are none', encodeCbor({ ...parts, type_id: 3 }), 'traps'],
  ])('PROOF-1: %s is InvalidParams', (_, wrong, field) => {
    const verdict = checkProof(wrong, CONTEXT)
    expect(verdict).toMatchObject({ accepted: null, failedTraps: null, taskId: null })
    expect(refusal(verdict)).toBe(`InvalidParams ${field}`)
  })

  it('PROOF-1: its hash is SHA3 of its bytes, and reading gives the same statement', () => {
    const proof = readProof(envelope)
    expect(proof).toMatchObject({ body: BODY, nullifier, envelopeHash: sha3Hex(envelope) })
  })
})

describe('PROOF-2: the body', () => {
  const raw = (changes: object): Uint8Array => {
    const { signature, nullifier } = built()
    const hash = (text: string) => Buffer.from(text.slice(2), 'hex')
    const body = {
      chain_id: 1n,
      task_id: hash(TASK),
      provider_id: HOLDER as string,
      lease_id: hash(LEASE),
      output_digest: hash(BODY.outputDigest),
      units_ppm: 1,
      qos: { p95_latency_ms: 1, availability_ppm: 1 },
      attestation_hash: hash(NO_ATTESTATION),
      signature,
      ...changes,
    }
    return encodeCbor({ type_id: 2, body: encodeCbor(body), nullifier: hash(nullifier) })
  }

  it.each([
    [{ task_id: Buffer.alloc(31) }, 'task_id'],
    [{ lease_id: 'lease' }, 'lease_id'],
    [{ output_digest: Buffer.alloc(33) }, 'output_digest'],
    [{ attestation_hash: null }, 'attestation_hash'],
    [{ signature: Buffer.alloc(63) }, 'signature'],
    [{ provider_id: Buffer.alloc(3) }, 'provider_id'],
    [{ chain_id: -1 }, 'chain_id'],
    [{ chain_id: '1' }, 'chain_id'],
    [{ units_ppm: 0.5 }, 'units_ppm'],
    [{ units_ppm: true }, 'units_ppm'],
    [{ qos: {} }, 'p95_latency_ms'],
    [{ qos: [] }, 'qos'],
    [{ qos: { p95_latency_ms: 1, availability_ppm: 1_000_001 } }, 'qos.availability_ppm'],
    [{ qos: { p95_latency_ms: 1, availability_ppm: 1, jitter: 1 } }, 'jitter'],
    [{ traps: { shots: 1, passed: 1 } }, 'traps'],
    [{ constructor: 1 }, 'constructor'],
  ])('PROOF-2: %j is InvalidParams', (changes, field) => {
    expect(refusal(checkProof(raw(changes), CONTEXT))).toBe(`InvalidParams ${field}`)
  })

  it('PROOF-2: amounts have 64 bits, and a body may use all of them', () => {
    const most = 2n ** 64n - 1n
    const body = { ...BODY, chainId: most, unitsPpm: most, traps: { shots: most, passed: most } }
    expect(readProof(built(body).envelope).body).toEqual(body)
  })
})

describe('PROOF-8: building', () => {
  it.each([
    [{ availabilityPpm: 1_000_001n }, 'qos.availability_ppm'],
    [{ p95LatencyMs: 2n ** 64n }, 'qos.p95_latency_ms'],
  ])('PROOF-8: %o is refused before it is signed', (qos, field) => {
    const wrong = { qos: { ...BODY.qos, ...qos } }
    expect(() => built(wrong)).toThrow(expect.objectContaining({ details: { field } }))
  })

  it.each<[Partial<ProofBody>, string]>([
    [{ traps: { shots: 0n, passed: 0n } }, 'traps.shots'],
    [{ traps: { shots: 1n, passed: 2n } }, 'traps.passed'],
    [{ unitsPpm: -1n }, 'units_ppm'],
    [{ taskId: '0x12' as JobId }, 'task_id'],
    [{ providerId: '\ud800' }, 'provider_id'],
  ])('PROOF-8: a body that nobody would accept is refused (%#)', (wrong, field) => {
    expect(() => built(wrong)).toThrow(
      expect.objectContaining({ code: 'InvalidParams', details: { field } }),
    )
  })

  it('PROOF-8: a type that is unknown, or does not fit the traps, is refused', () => {
    const statement = { secretKey: SECRET, body: BODY }
    for (const [typeId, field] of [
      [4, 'type_id'],
      [3, 'traps'],
    ] as const) {
      const wrong = expect.objectContaining({ details: { field } })
      expect(() => buildProof({ ...statement, typeId })).toThrow(wrong)
    }
    expect(() => built({}, Buffer.alloc(31))).toThrow(/secret_key/)
  })
})

describe('PROOF-5: the order of the checks', () => {
  it('PROOF-5: a good proof is accepted, from its holder, an operator and a block', () => {
    for (const by of [HOLDER, null]) {
      expect(check({}, { by }).accepted).toMatchObject({ taskId: TASK, kind: 'ai', traps: null })
    }
  })

  // Each row has all faults from its own on, so that the first one has to win.
  const faults: readonly [string, Partial<ProofBody>, Partial<ProofContext>, Partial<ProvedJob>][] =
    [
      ['NullifierReused', {}, { isClaimed: () => true }, {}],
      ['NotFound', { taskId: hash32('other') as JobId }, {}, {}],
      ['Forbidden', {}, { by: 'provider:b' as ProviderId }, {}],
      ['ClaimMismatch type_id', {}, {}, { kind: 'quantum' }],
      ['ClaimMismatch chain_id', { chainId: 2n }, {}, {}],
      ['ClaimMismatch task_id', {}, {}, { derivedTaskId: hash32('derived') as JobId }],
      ['ClaimMismatch lease_id', { leaseId: hash32('other') as LeaseId }, {}, {}],
      ['ClaimMismatch provider_id', { providerId: 'provider:b' }, {}, {}],
      ['ClaimMismatch output_digest', { outputDigest: hash32('other') }, {}, {}],
      ['ClaimMismatch units_ppm', { unitsPpm: 3_300_001n }, {}, {}],
      ['AttestationError signature', {}, {}, { awaits: { ...AWAITS, publicKey: null } }],
      ['AttestationError attestation', { attestationHash: hash32('other') }, {}, {}],
    ]

  it.each(faults.map(([name], i) => ({ name, i })))('PROOF-5: $name', ({ name, i }) => {
    const [, body, context, job] = faults[i] as (typeof faults)[number]
    expect(refusal(check(body, context, job))).toBe(name)
    const later = faults.slice(i)
    const all = { body: {}, context: {}, job: {} }
    for (const [, more, outside, about] of later) {
      // A fault never repairs an earlier one: the first of a kind stays.
      all.body = { ...more, ...all.body }
      all.context = { ...outside, ...all.context }
      all.job = { ...about, ...all.job }
    }
    const isKnown = name !== 'NullifierReused' && name !== 'NotFound'
    if (isKnown) (all.body as { taskId?: JobId }).taskId = TASK
    expect(refusal(check(all.body, all.context, all.job))).toBe(name)
  })

  it('PROOF-5: a nullifier of other work is ClaimMismatch, before anything is looked up', () => {
    const { body } = built()
    const envelope = encodeCbor({ type_id: 2, body, nullifier: Buffer.alloc(32) })
    const context = { ...CONTEXT, isClaimed: () => true }
    expect(refusal(checkProof(envelope, context))).toBe('ClaimMismatch nullifier')
  })

  it('PROOF-5: a job that awaits no proof is InvalidState', () => {
    expect(refusal(check({}, { by: 'provider:b' as ProviderId }, { awaits: null }))).toBe(
      'InvalidState',
    )
  })

  it('PROOF-5: units up to 1.1 of the estimate pass', () => {
    expect(refusal(check({ unitsPpm: 3_300_000n }))).toBeNull()
  })

  it('PROOF-3: another key, and another byte in the body, are no signature', () => {
    const context = { ...CONTEXT }
    expect(refusal(checkProof(built({}, OTHER_SECRET).envelope, context))).toBe(
      'AttestationError signature',
    )
    // The signature covers `qos` too, although it decides nothing.
    const qos = { p95LatencyMs: 1n, availabilityPpm: 1n }
    const { signature } = built()
    const { body } = built({ qos })
    const at = Buffer.from(body).indexOf(Buffer.from(built({ qos }).signature))
    const forged = Buffer.concat([body.subarray(0, at), signature, body.subarray(at + 64)])
    const nullifier = Buffer.from(built().nullifier.slice(2), 'hex')
    const envelope = encodeCbor({ type_id: 2, body: forged, nullifier })
    expect(refusal(checkProof(envelope, context))).toBe('AttestationError signature')
  })

  it('PROOF-5: an engine may answer for the signature from its log', () => {
    const forged = built({}, OTHER_SECRET).envelope
    expect(checkProof(forged, { ...CONTEXT, verify: () => true }).error).toBeNull()
    expect(refusal(check({}, { verify: () => false }))).toBe('AttestationError signature')
  })
})

describe('PROOF-6: the attestation', () => {
  const withOne = (attestation: ProofAttestation | null, attestationRequired = true) => ({
    awaits: { ...AWAITS, attestation },
    attestationRequired,
  })
  const named = { attestationHash: ATTESTATION.hash }

  it.each<[string, ProofAttestation | null, boolean, Partial<ProofBody>, boolean]>([
    ['in force', ATTESTATION, true, named, true],
    ['in force, not required', ATTESTATION, false, named, true],
    ['in force, not named', ATTESTATION, false, {}, false],
    ['none', null, true, {}, false],
    ['none, not required', null, false, {}, true],
    ['none, but one is named', null, false, named, false],
    ['from its first millisecond', { ...ATTESTATION, notBefore: AT }, true, named, true],
    ['before that', { ...ATTESTATION, notBefore: AT + 1 }, true, named, false],
    ['up to its last', { ...ATTESTATION, notAfter: AT + 1 }, true, named, true],
    ['over at its end', { ...ATTESTATION, notAfter: AT }, true, named, false],
    ['over, not required, zeros', { ...ATTESTATION, notAfter: AT }, false, {}, true],
    ['of another kind', { ...ATTESTATION, kinds: ['quantum'] }, true, named, false],
    ['of another kind, not required', { ...ATTESTATION, kinds: [] }, false, named, true],
  ])('PROOF-6: %s', (_, attestation, required, body, fits) => {
    const verdict = check(body, {}, withOne(attestation, required))
    expect(refusal(verdict)).toBe(fits ? null : 'AttestationError attestation')
  })
})

describe('PROOF-7: traps', () => {
  const quantum = { kind: 'quantum' as const }

  it.each([
    [100n, 98n, true],
    [100n, 97n, false],
    [2n ** 64n - 1n, 2n ** 64n - 1n, true],
    [2n ** 64n - 1n, 0n, false],
  ])('PROOF-7: of %d shots %d passed', (shots, passed, fits) => {
    const traps = { shots, passed }
    const verdict = check({ traps }, {}, quantum)
    expect(refusal(verdict)).toBe(fits ? null : 'AttestationError traps')
    if (!fits) expect(verdict).toMatchObject({ failedTraps: traps, taskId: TASK })
  })

  it('PROOF-7: nobody is charged for traps that the provider did not sign', () => {
    const traps = { shots: 10n, passed: 0n }
    const { envelope } = built({ traps }, OTHER_SECRET)
    const verdict = checkProof(envelope, { ...CONTEXT, jobOf: () => ({ ...JOB, ...quantum }) })
    expect(verdict).toMatchObject({ failedTraps: null })
    expect(refusal(verdict)).toBe('AttestationError signature')
  })
})

test('PROOF-5: an envelope with flipped bits or cut off is refused with a code of the rules', () => {
  const { envelope } = built()
  const codes = ['InvalidParams', 'ClaimMismatch', 'NotFound', 'AttestationError']
  const flip = fc.tuple(fc.nat(envelope.length - 1), fc.integer({ min: 1, max: 255 }))
  fc.assert(
    fc.property(fc.array(flip, { minLength: 1, maxLength: 3 }), fc.nat(3), (flips, cut) => {
      const changed = Buffer.from(envelope)
      for (const [at, bits] of flips) changed[at] = (changed[at] as number) ^ bits
      const bytes = changed.subarray(0, envelope.length - cut)
      fc.pre(!Buffer.from(envelope).equals(bytes))
      const { error } = checkProof(bytes, CONTEXT)
      expect(error).toBeInstanceOf(FairleadError)
      expect(codes).toContain(error?.code)
    }),
    { numRuns: 1_500 },
  )
})

test('PROOF-1: any bytes at all are InvalidParams', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      expect(checkProof(bytes, CONTEXT).error?.code).toBe('InvalidParams')
    }),
    { numRuns: 500 },
  )
})
