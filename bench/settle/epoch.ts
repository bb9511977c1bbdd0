import {
  buildProof,
  claimKey,
  fromHex,
  type JobId,
  type LeaseId,
  NO_ATTESTATION,
  type Policy,
  type ProviderId,
  parsePolicy,
  publicKeyOf,
  sha3Hex,
  toHex,
} from '@fairlead/core'
import {
  type BilledClaim,
  type CloseInput,
  Epochs,
  Fund,
  Ledger,
  type ProofContext,
} from '@fairlead/core/internal'
import { numbers, providerNumber } from '../fixtures.ts'

export const CLAIMS = 100_000
const PROVIDERS = 1_000
export const EPOCH = 490_000
export const EPOCH_MS = 3_600_000
const WORK = { band: 'silver', model: 'llama3-8b', depthHint: 0 } as const
/** The budget cuts every payment, and what it leaves is deferred: both take their time. */
export const WRITTEN = { economics: { gamma_fund: 160_000_000, cap: 'defer' } }
const POLICY: Policy = parsePolicy(WRITTEN, 'fund')

/** The claims of a whole epoch and its books, before the close. */
export class BenchEpoch {
  readonly epochs = new Epochs()
  readonly ledger = new Ledger()

  constructor() {
    const units = numbers(5)
    for (let i = 0; i < CLAIMS; i++) {
      const claim = claimNumber(i, BigInt(1_000_000 + units(4_000_000)))
      this.epochs.add(claim, WORK, { nowMs: EPOCH * EPOCH_MS, policy: POLICY })
    }
    for (let i = 0; i < PROVIDERS; i += 100) this.ledger.stake(providerNumber(i), 20_000n)
  }

  freeze(): CloseInput {
    const slashes = Array.from({ length: PROVIDERS / 100 }, (_, i) => ({
      providerId: providerNumber(100 * i),
      amount: 10_000n,
    }))
    const terms = { epochId: EPOCH, nowMs: (EPOCH + 1) * EPOCH_MS, policy: POLICY, slashes }
    const input = this.epochs.freeze({ ...terms, auditSeq: 1, auditHead: hashOf('a') }, this.ledger)
    if (input === null) throw new Error('the epoch is closed')
    return input
  }
}

/** A fund with the claims of a whole epoch. */
export function billedFund(): Fund {
  const fund = new Fund()
  const units = numbers(5)
  for (let i = 0; i < CLAIMS; i++) {
    const claim = claimNumber(i, BigInt(1_000_000 + units(4_000_000)))
    fund.bill(claim, WORK, { nowMs: EPOCH * EPOCH_MS, policy: POLICY })
  }
  return fund
}

/** A signed proof, and everything that the engine knows when it comes. */
export interface BenchProof {
  readonly envelope: Uint8Array
  readonly context: ProofContext
  /** The parts of its signature, for a bare verification. */
  readonly publicKey: Uint8Array
  readonly message: Uint8Array
  readonly signature: Uint8Array
}

export function proofs(count: number): BenchProof[] {
  const keys = Array.from({ length: 50 }, (_, i) => Buffer.from(hashOf(`key ${i}`).slice(2), 'hex'))
  return Array.from({ length: count }, (_, i) => proofNumber(i, keys[i % keys.length] as Buffer))
}

function proofNumber(i: number, secretKey: Uint8Array): BenchProof {
  const [taskId, leaseId] = [hashOf(`task ${i}`) as JobId, hashOf(`lease ${i}`) as LeaseId]
  const providerId = providerNumber(i % PROVIDERS)
  const outputDigest = hashOf(`output ${i}`)
  const built = buildProof({
    typeId: 2,
    secretKey,
    body: {
      chainId: 1n,
      taskId,
      providerId,
      leaseId,
      outputDigest,
      unitsPpm: 3_250_000n,
      qos: { p95LatencyMs: 900n, availabilityPpm: 999_000n },
      attestationHash: NO_ATTESTATION,
      traps: null,
    },
  })
  const awaits = {
    leaseId,
    providerId,
    outputDigest,
    publicKey: toHex(publicKeyOf(secretKey)),
    attestation: null,
  }
  const job = {
    kind: 'ai' as const,
    derivedTaskId: taskId,
    estimatedUnits: 3,
    attestationRequired: false,
    awaits,
  }
  const context: ProofContext = {
    by: providerId,
    at: EPOCH * EPOCH_MS,
    chainId: 1n,
    unitsMaxPpm: POLICY.proof.unitsMaxPpm,
    trapsMinPpm: POLICY.proof.trapsMinPpm,
    isClaimed: () => false,
    jobOf: () => job,
  }
  const { envelope, publicKey, message, signature } = built
  return { envelope, context, publicKey, message, signature }
}

function claimNumber(i: number, unitsPpm: bigint): BilledClaim {
  const taskId = hashOf(`task ${i}`) as JobId
  const nullifier = hashOf(`nullifier ${i}`)
  const height = 1_764_000_000
  return {
    claimKey: claimKey({ taskId, height, nullifier: fromHex(nullifier) as Uint8Array }),
    taskId,
    kind: 'ai',
    providerId: providerNumber(i % PROVIDERS) as ProviderId,
    minerId: 'operator',
    envelopeHash: hashOf(`envelope ${i}`),
    nullifier,
    blockHeight: height,
    unitsPpm,
  }
}

function hashOf(name: string): string {
  return sha3Hex(Buffer.from(name))
}
