import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FairleadError } from '../errors.ts'
import { compareAscii } from './bytes.ts'
import {
  attestationHash,
  callerOf,
  claimKey,
  idBytes,
  idempotencyKey,
  isProviderName,
  type JobId,
  type LeaseId,
  leaseId,
  localBeacon,
  matchSeed,
  nullifierOf,
  type ProviderId,
  pairHash,
  providerIdOf,
  retryHash,
  type Seed,
  taskId,
} from './ids.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

// A second reading of the definitions, byte by byte.
function leb128(n: bigint): Buffer {
  const low = Number(n % 128n)
  return n < 128n ? Buffer.of(low) : Buffer.concat([Buffer.of(low + 128), leb128(n / 128n)])
}
const lp = (bytes: Uint8Array): Buffer => Buffer.concat([leb128(BigInt(bytes.length)), bytes])
const sha3Hex = (bytes: Uint8Array): string => createHash('sha3-256').update(bytes).digest('hex')
const text = (written: string): Buffer => Buffer.from(written, 'utf8')
const int = (n: number | bigint): Buffer => leb128(BigInt(n))
const bare = (id: string): Buffer => Buffer.from(id.slice(2), 'hex')
const h = (tag: string, ...fields: Uint8Array[]): string =>
  sha3Hex(Buffer.concat([lp(text(tag)), ...fields.map(lp)]))

const u64s = fc.oneof(fc.nat(), fc.bigInt(0n, 2n ** 64n - 1n), fc.constant(2n ** 64n - 1n))
const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 })
const ids = bytes32.map((bytes) => `0x${hex(bytes)}`)
const jobIds = ids as fc.Arbitrary<JobId>
const seeds = ids as fc.Arbitrary<Seed>
const providerIds = fc
  .stringMatching(/^[a-z0-9._-]{1,64}$/)
  .map((name) => `provider:${name}` as ProviderId)

describe('task_id', () => {
  const good = {
    chainId: 1,
    enqueueHeight: 1,
    txHash: new Uint8Array(32),
    caller: new Uint8Array(32),
    payloadCbor: Uint8Array.of(0xa0),
  }
  const requests = fc.record({
    chainId: u64s,
    enqueueHeight: u64s,
    txHash: bytes32,
    caller: bytes32,
    payloadCbor: fc.uint8Array({ maxLength: 300 }),
  })

  it('ID-1: task_id is SHA3 over the domain, chain, height, tx_hash, caller and payload', () => {
    fc.assert(
      fc.property(requests, (request) => {
        const expected = sha3Hex(
          Buffer.concat([
            lp(text('AICF_TASK_ID')),
            int(request.chainId),
            int(request.enqueueHeight),
            request.txHash,
            request.caller,
            request.payloadCbor,
          ]),
        )
        expect(taskId(request)).toBe(`0x${expected}`)
      }),
    )
  })

  it('ID-1: a tx_hash or caller that is not of 32 bytes is never hashed', () => {
    for (const length of [0, 31, 33, 64]) {
      expect(() => taskId({ ...good, txHash: new Uint8Array(length) })).toThrow(FairleadError)
      expect(() => taskId({ ...good, caller: new Uint8Array(length) })).toThrow(FairleadError)
    }
    // Together they have the right length, and would give the id of another request.
    expect(() =>
      taskId({ ...good, txHash: new Uint8Array(31), caller: new Uint8Array(33) }),
    ).toThrow(FairleadError)
  })

  it('ID-1: a chain id or height outside of u64 is never hashed', () => {
    for (const wrong of [-1, 0.5, 2 ** 53, 2n ** 64n, -1n]) {
      expect(() => taskId({ ...good, chainId: wrong })).toThrow(FairleadError)
      expect(() => taskId({ ...good, enqueueHeight: wrong })).toThrow(FairleadError)
    }
  })
})

describe('the hashes of a round', () => {
  it('ID-2: the match seed is H over chain, epoch, height and beacon', () => {
    fc.assert(
      fc.property(u64s, u64s, u64s, bytes32, (chainId, epochId, height, beacon) => {
        expect(matchSeed({ chainId, epochId, height, beacon })).toBe(
          `0x${h('AICF|match', int(chainId), int(epochId), int(height), beacon)}`,
        )
      }),
    )
  })

  it('ID-2: without a chain the beacon is H over the installation seed and the height', () => {
    fc.assert(
      fc.property(bytes32, u64s, (seed, height) => {
        expect(hex(localBeacon(seed, height))).toBe(h('AICF|beacon', seed, int(height)))
      }),
    )
  })

  it('ID-3: lease_id is H over the bytes of the job id, the provider id, the attempt and the seed', () => {
    fc.assert(
      fc.property(jobIds, providerIds, fc.nat(), seeds, (jobId, providerId, attempt, seed) => {
        expect(leaseId({ jobId, providerId, attempt, seed })).toBe(
          `0x${h('AICF|lease', bare(jobId), text(providerId), int(attempt), bare(seed))}`,
        )
      }),
    )
  })

  it('ID-4: the pair hash is H over the job id, the provider id and the seed', () => {
    fc.assert(
      fc.property(jobIds, providerIds, seeds, (jobId, providerId, seed) => {
        expect(pairHash(jobId, providerId, seed)).toBe(
          `0x${h('AICF|pair', bare(jobId), text(providerId), bare(seed))}`,
        )
      }),
    )
  })

  it('ID-10: the key of a registration is the SHA-256 of its bare id behind a prefix', () => {
    const jobId = `0x${'ab'.repeat(32)}` as JobId
    const expected = createHash('sha256')
      .update(`fairlead|${'ab'.repeat(32)}`)
      .digest('hex')
    expect(idempotencyKey(jobId)).toBe(expected)
  })

  it('ID-5: the retry hash is H over the job id and the number of the retry', () => {
    fc.assert(
      fc.property(jobIds, fc.nat(), (jobId, n) => {
        expect(hex(retryHash(jobId, n))).toBe(h('AICF|retry', bare(jobId), int(n)))
      }),
    )
  })

  it('ID-7: claim_key is H over the task id, the height and the nullifier', () => {
    fc.assert(
      fc.property(jobIds, u64s, bytes32, (id, height, nullifier) => {
        expect(claimKey({ taskId: id, height, nullifier })).toBe(
          `0x${h('AICF|claim', bare(id), int(height), nullifier)}`,
        )
      }),
    )
  })

  it('ID-11: a nullifier is H over type, chain, task and lease, whatever the bytes of the proof', () => {
    fc.assert(
      fc.property(fc.nat(9), u64s, jobIds, jobIds, (typeId, chainId, taskId, lease) => {
        expect(nullifierOf({ typeId, chainId, taskId, leaseId: lease as string as LeaseId })).toBe(
          `0x${h('AICF|nullifier', int(typeId), int(chainId), bare(taskId), bare(lease))}`,
        )
      }),
    )
  })

  it('ID-12: an attestation hash is H over the class and each certificate', () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.uint8Array(), { maxLength: 5 }), (name, chain) => {
        const expected = `0x${h('AICF|attestation', text(name), ...chain)}`
        expect(attestationHash(name, chain)).toBe(expected)
      }),
    )
  })

  it('ID-8: the caller of a text subject is H over the subject', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (subject) => {
        expect(callerOf(subject)).toBe(`0x${h('AICF|caller', text(subject))}`)
      }),
    )
    expect(callerOf('local')).toBe(
      `0x${sha3Hex(Buffer.from('\x0bAICF|caller\x05local', 'latin1'))}`,
    )
  })

  it('ID-3: ids with one input changed differ, and so do the four hashes of equal inputs', () => {
    const jobId = `0x${'11'.repeat(32)}` as JobId
    const other = `0x${'11'.repeat(31)}12` as JobId
    const seed = `0x${'22'.repeat(32)}` as Seed
    const a = 'provider:a' as ProviderId
    const b = 'provider:b' as ProviderId
    const all = [
      leaseId({ jobId, providerId: a, attempt: 0, seed }),
      leaseId({ jobId, providerId: a, attempt: 1, seed }),
      leaseId({ jobId, providerId: b, attempt: 0, seed }),
      leaseId({ jobId: other, providerId: a, attempt: 0, seed }),
      leaseId({ jobId, providerId: a, attempt: 0, seed: other as string as Seed }),
      pairHash(jobId, a, seed),
      pairHash(jobId, b, seed),
      pairHash(other, a, seed),
      claimKey({ taskId: jobId, height: 0, nullifier: bare(seed) }),
      `0x${hex(retryHash(jobId, 0))}`,
      `0x${hex(retryHash(jobId, 1))}`,
    ]
    expect(new Set(all).size).toBe(all.length)
  })
})

describe('provider ids', () => {
  it('ID-6: a provider id is provider: and the first 40 hex digits of H over the public key', () => {
    fc.assert(
      fc.property(bytes32, (key) => {
        const id = providerIdOf(key)
        expect(id).toBe(`provider:${h('AICF|prov', key).slice(0, 40)}`)
        expect(isProviderName(id)).toBe(true)
      }),
    )
  })

  it.each([
    'provider:a',
    'provider:0',
    'provider:._-',
    'provider:gpu-eu.west_1',
    `provider:${'a'.repeat(64)}`,
  ])('ID-6: an operator may register %s', (name) => {
    expect(isProviderName(name)).toBe(true)
  })

  it.each([
    '',
    'provider:',
    'a',
    'Provider:a',
    'provider:A',
    'provider:ä',
    'provider:a b',
    'provider:a\n',
    '\nprovider:a',
    'provider:a:b',
    'provider:a/b',
    'provider:*',
    'provider:\u0661',
    'xprovider:a',
    `provider:${'a'.repeat(65)}`,
  ])('ID-6: an operator may not register %j', (name) => {
    expect(isProviderName(name)).toBe(false)
  })
})

describe('the bytes of an id', () => {
  it('ID-9: ids as text are ordered as their bytes are', () => {
    fc.assert(
      fc.property(ids, ids, (a, b) => {
        expect(Math.sign(compareAscii(a, b))).toBe(Buffer.compare(idBytes(a), idBytes(b)))
      }),
    )
  })

  it.each(['', '11', '0x1', '0xAB', '0x zz', '0x11 '])('ID-9: %j is not an id', (wrong) => {
    expect(() => idBytes(wrong)).toThrow(FairleadError)
  })
})
