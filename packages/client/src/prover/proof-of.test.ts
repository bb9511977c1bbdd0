import {
  type JobId,
  type LeaseId,
  NO_ATTESTATION,
  type ProofBody,
  publicKeyOf,
  readProof,
  sha3Hex,
  verifyEd25519,
} from '@fairlead/core'
import { describe, expect, it } from 'vitest'
import { isProvable, type ProvedWork, proofOf } from './proof-of.ts'

const SIGNER = {
  providerId: 'provider:a',
  secretKey: Buffer.alloc(32, 7),
  chainId: 7n,
  attestationHash: null,
}
const AI: ProvedWork = {
  jobId: sha3Hex(Buffer.of(1)) as JobId,
  leaseId: sha3Hex(Buffer.of(2)) as LeaseId,
  kind: 'ai',
  payload: { model: 'm', prompt: Buffer.of(), max_tokens: 256, temperature: 0, qos_hint_ms: 0 },
  result: { output: Buffer.from('out') },
  facts: {},
  tookMs: 419.6,
}
const QUANTUM: ProvedWork = {
  ...AI,
  kind: 'quantum',
  payload: { circuit: Buffer.of(1), shots: 15_000, depth_hint: 2 },
  facts: { traps: { shots: 10, passed: 9n } },
}

function bodyOf(work: Partial<ProvedWork>, from: ProvedWork = AI): ProofBody {
  return readProof(proofOf({ ...from, ...work }, SIGNER)).body
}

describe('the proof of a completed lease', () => {
  it('PROVE-2: says what the worker knows, signed by the key of the provider', () => {
    const envelope = proofOf(AI, SIGNER)
    const { type, body, signature } = readProof(envelope)
    expect(type.name).toBe('AI_V1')
    expect(body).toEqual({
      chainId: 7n,
      taskId: AI.jobId,
      leaseId: AI.leaseId,
      providerId: 'provider:a',
      outputDigest: sha3Hex(Buffer.from('out')),
      unitsPpm: 3_000_000n,
      qos: { p95LatencyMs: 420n, availabilityPpm: 1_000_000n },
      attestationHash: NO_ATTESTATION,
      traps: null,
    })
    const other = readProof(proofOf({ ...AI, tookMs: 1 }, SIGNER)).signature
    expect(Buffer.from(signature).equals(Buffer.from(other))).toBe(false)
    expect(verifyEd25519(publicKeyOf(SIGNER.secretKey), Buffer.alloc(32), signature)).toBe(false)
  })

  it('PROVE-2: units are those that the handler names, else of the completion, else the estimate', () => {
    expect(bodyOf({ facts: { unitsPpm: 3_250_000 } }).unitsPpm).toBe(3_250_000n)
    expect(bodyOf({ result: { actualUnits: 2 } }).unitsPpm).toBe(2_000_000n)
    expect(bodyOf({}, QUANTUM).unitsPpm).toBe(3_000_000n)
  })

  it('PROVE-2: the digest is that of the completion, of the output, or of no output', () => {
    const digest = sha3Hex(Buffer.from('elsewhere'))
    expect(bodyOf({ result: { digest } }).outputDigest).toBe(digest)
    expect(bodyOf({ result: {} }).outputDigest).toBe(sha3Hex(Buffer.of()))
  })

  it('PROVE-2: quantum work names its traps, and other work has none', () => {
    expect(bodyOf({}, QUANTUM).traps).toEqual({ shots: 10n, passed: 9n })
    expect(bodyOf({ facts: { traps: { shots: 1, passed: 1 } } }).traps).toBeNull()
    const wrong = { code: 'InvalidParams', details: { field: 'traps' } }
    expect(() => bodyOf({ facts: {} }, QUANTUM)).toThrow(expect.objectContaining(wrong))
  })

  it.each([
    [{ unitsPpm: 0.5 }, 'unitsPpm'],
    [{ unitsPpm: -1 }, 'units_ppm'],
    [{ qos: { p95LatencyMs: Number.NaN, availabilityPpm: 1 } }, 'qos.p95LatencyMs'],
    [{ qos: { p95LatencyMs: 1, availabilityPpm: 1_000_001 } }, 'qos.availability_ppm'],
  ])('PROVE-2: facts that no proof can say are refused by name (%j)', (facts, field) => {
    const wrong = { code: 'InvalidParams', details: { field } }
    expect(() => bodyOf({ facts })).toThrow(expect.objectContaining(wrong))
  })

  it('PROVE-1: there are proofs of ai and quantum work only', () => {
    expect((['ai', 'quantum', 'task', 'registration'] as const).filter(isProvable)).toEqual([
      'ai',
      'quantum',
    ])
  })
})
