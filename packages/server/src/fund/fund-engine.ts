import {
  type Batch,
  FairleadError,
  type JobId,
  type PayoutProof,
  type ProviderId,
  type ProviderOffer,
  type SettledBatch,
} from '@fairlead/core'
import type {
  AcceptedAttestation,
  Band,
  Challenge,
  Claim,
  Unstaking,
} from '@fairlead/core/internal'
import type { Acting, Engine } from '@fairlead/engine'

/** A claim, and whether anything can still undo it. */
export interface ClaimReceipt {
  readonly claim: Claim
  readonly status: 'PENDING' | 'FINAL'
  readonly finalizedHeight: number | null
}

/** The facts of a claim that its result keeps. */
export type ResultClaim = Pick<
  Claim,
  'envelopeHash' | 'nullifier' | 'blockHeight' | 'txHash' | 'unitsPpm' | 'qos' | 'traps'
> & {
  readonly proofType: 'AI_V1' | 'QUANTUM_V1'
  readonly finalizedHeight: number
}

/** The service of a provider for one kind with proofs. */
export interface KindService {
  readonly kind: 'ai' | 'quantum'
  readonly band: Band
  readonly samples: number
  readonly p95Ms: number | null
  readonly failPpm: number
  readonly availabilityPpm: number
}

export interface Settled {
  readonly batchId: string
  readonly batch: Batch
}

export interface FundEngine {
  registerProvider(
    id: ProviderId,
    offer: Partial<ProviderOffer>,
    options: { readonly stake?: bigint; readonly publicKey?: string | null },
    acting: Acting | null,
  ): Promise<unknown>
  updateProvider(
    id: ProviderId,
    offer: Partial<ProviderOffer>,
    acting: Acting | null,
    publicKey?: string | null,
  ): Promise<void>
  submitProof(envelope: Uint8Array, by: ProviderId | null): Promise<ClaimReceipt>
  applyBlock(block: {
    readonly height: number
    readonly timeMs: number
    readonly minerId: string
    readonly proofs: readonly { readonly envelope: Uint8Array; readonly txHash: string }[]
  }): Promise<{ head: number; finalHeight: number; accepted: number; refused: number }>
  getChallenge(id: ProviderId): Promise<Challenge>
  attest(
    attempt: {
      readonly providerId: ProviderId
      readonly className: string
      readonly chain: readonly Uint8Array[]
      readonly signature: Uint8Array
    },
    acting: Acting | null,
  ): Promise<AcceptedAttestation>
  unstake(
    id: ProviderId,
    amount: bigint,
    acting: Acting | null,
  ): Promise<{ readonly stake: bigint; readonly maturesAt: number }>
  recordPayout(
    payout: { readonly account: string; readonly amount: bigint; readonly reference: string },
    acting: Acting | null,
  ): Promise<bigint>
  balanceOf(account: string): {
    readonly account: string
    readonly available: bigint
    readonly stake: bigint
    readonly unstaking: readonly Unstaking[]
    readonly due: bigint
  }
  closeEpoch(epochId: number, acting: Acting | null): Promise<Settled | null>
  settlements(page: {
    readonly beforeEpoch?: number
    readonly limit: number
  }): Promise<readonly (Settled & { readonly epochId: number })[]>
  settlement(named: number | string): Promise<SettledBatch | null>
  payouts(id: ProviderId, epochId: number): Promise<PayoutProof | null>
  claimOf(jobId: JobId): Promise<ClaimReceipt | null>
  serviceOf(id: ProviderId): {
    readonly kinds: readonly KindService[]
    readonly offenceEpochs: readonly number[]
  }
}

/** The part of an engine that runs a fund. An engine without that part refuses its calls. */
export function fundOf(engine: Engine): FundEngine {
  const fund = engine as unknown as FundEngine
  return typeof fund.submitProof === 'function' ? fund : withoutFund(engine)
}

function withoutFund(engine: Engine): FundEngine {
  const refuse = (): never => {
    throw new FairleadError('InvalidState', 'this server runs no fund')
  }
  return {
    registerProvider: (id, offer, { stake = 0n }, acting) =>
      engine.registerProvider(id, offer, { stake }, acting),
    updateProvider: (id, offer, acting) => engine.updateProvider(id, offer, acting),
    submitProof: refuse,
    applyBlock: refuse,
    getChallenge: refuse,
    attest: refuse,
    unstake: refuse,
    recordPayout: refuse,
    balanceOf: (account) => ({ account, available: 0n, stake: 0n, unstaking: [], due: 0n }),
    closeEpoch: refuse,
    settlements: refuse,
    settlement: refuse,
    payouts: refuse,
    claimOf: () => Promise.resolve(null),
    serviceOf: () => ({ kinds: [], offenceEpochs: [] }),
  }
}
