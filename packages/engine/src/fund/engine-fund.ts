import {
  FairleadError,
  fromHex,
  type JobId,
  type KindName,
  type ListedBatch,
  type PayoutProof,
  type ProviderId,
  type SettledBatch,
  taskId,
  toHex,
} from '@fairlead/core'
import {
  type AcceptedAttestation,
  type Band,
  type BlockAnswer,
  type Challenge,
  type Claim,
  type GivenProof,
  invalidParams,
  isPayable,
  listedBatchOf,
  type ProofAnswer,
  type ProofReceipt,
  type ResultClaim,
  readProof,
  type SettlementHead,
  type StoreReads,
  settledBatchOf,
  storedPayoutProof,
  type Unstaking,
  wholeNumber,
} from '@fairlead/core/internal'
import type { Acting } from '../commands/command.ts'
import type { EngineLoop } from '../loop/engine-loop.ts'
import type { EpochCloser } from './epoch-closer.ts'

/** A block of the chain, with the envelopes of its proofs. */
export interface ChainBlock {
  readonly height: number
  readonly timeMs: number
  readonly minerId: string
  readonly proofs: readonly { readonly envelope: Uint8Array; readonly txHash: string }[]
}

/** The claim of a job: PENDING as it came in, FINAL as its result shows it. */
export type ClaimStatus =
  | { readonly status: 'PENDING'; readonly claim: Claim }
  | { readonly status: 'FINAL'; readonly claim: ResultClaim }

export interface Balance {
  readonly account: string
  readonly available: bigint
  /** Of a provider, else 0 and nothing. */
  readonly stake: bigint
  readonly unstaking: readonly Unstaking[]
  /** Gross that is not paid yet. */
  readonly due: bigint
}

/** How well a provider serves. */
export interface Service {
  readonly kinds: readonly {
    readonly kind: KindName
    readonly band: Band
    /** The outcomes in its window, and the figures over them. */
    readonly outcomes: number
    readonly p95Ms: number | null
    readonly failPpm: number
    readonly availabilityPpm: number
  }[]
  /** The epochs in which it was slashed, as far as they still count. */
  readonly offenceEpochs: readonly number[]
}

/** A settled epoch, without its lines. */
export interface SettledEpoch extends ListedBatch {
  readonly epochId: number
  readonly at: number
}

/** How often a call waits for a close under way. */
const CLOSES_AWAITED = 3

/** Proofs, attestations, stake and settlements of an engine whose providers nobody trusts (RULES of the fund). */
export class EngineFund {
  readonly #loop: EngineLoop
  readonly #read: StoreReads
  readonly #random: () => Uint8Array
  readonly #closer: EpochCloser
  #blocksRefused = 0

  constructor(parts: {
    readonly loop: EngineLoop
    readonly read: StoreReads
    readonly random: () => Uint8Array
    readonly closer: EpochCloser
  }) {
    this.#loop = parts.loop
    this.#read = parts.read
    this.#random = parts.random
    this.#closer = parts.closer
  }

  /** Takes a proof. `by` is the provider that calls; null for an operator. */
  async submitProof(
    envelope: Uint8Array,
    by: ProviderId | null,
    acting: Acting | null = null,
  ): Promise<ProofReceipt> {
    const proof = await this.#given(envelope)
    const actor = acting?.actor
    const answer = (await this.#loop.submit({
      type: 'submitProof',
      proof,
      by,
      actor,
    })) as ProofAnswer
    if (!('error' in answer)) return answer
    throw answer.error.code === 'NotFound'
      ? await this.#onEnded(envelope, answer.error)
      : answer.error
  }

  /** Takes a block of the chain, with all proofs in it. */
  async applyBlock(
    { height, timeMs, minerId, proofs }: ChainBlock,
    acting: Acting | null = null,
  ): Promise<BlockAnswer> {
    const items = await Promise.all(
      proofs.map(async ({ envelope, txHash }) => ({ item: await this.#given(envelope), txHash })),
    )
    const block = { height, timeMs, minerId, proofs: items }
    const actor = acting?.actor
    try {
      return (await this.#loop.submit({ type: 'applyBlock', block, actor })) as BlockAnswer
    } catch (error) {
      if (error instanceof FairleadError && error.code === 'InvalidState') this.#blocksRefused++
      throw error
    }
  }

  /** Blocks that would have undone what is final, since the start: the chain and this fund disagree (CLAIM-5). */
  get blocksRefused(): number {
    return this.#blocksRefused
  }

  getChallenge(providerId: ProviderId): Promise<Challenge> {
    const value = toHex(this.#random())
    return this.#loop.submit({ type: 'openChallenge', providerId, value }) as Promise<Challenge>
  }

  attest(
    attestation: {
      readonly providerId: ProviderId
      readonly className: string
      readonly chain: readonly Uint8Array[]
      readonly signature: Uint8Array
    },
    acting: Acting | null = null,
  ): Promise<AcceptedAttestation> {
    const actor = acting?.actor
    return this.#loop.submit({
      ...attestation,
      type: 'attest',
      actor,
    }) as Promise<AcceptedAttestation>
  }

  /** Takes out stake. It waits for a close under way, which has its own word on stake. */
  async unstake(
    providerId: ProviderId,
    amount: bigint,
    acting: Acting | null = null,
  ): Promise<{ readonly stake: bigint; readonly maturesAt: number }> {
    const actor = acting?.actor
    for (let awaited = 0; ; awaited++) {
      await this.#closer.rest()
      try {
        return (await this.#loop.submit({ type: 'unstake', providerId, amount, actor })) as {
          stake: bigint
          maturesAt: number
        }
      } catch (error) {
        const isClosing = this.#loop.state.market.fund.closing !== null
        if (!isClosing || awaited === CLOSES_AWAITED) throw error
      }
    }
  }

  /** Says what was really paid out. Answers with the balance of the account. */
  recordPayout(
    payout: { readonly account: string; readonly amount: bigint; readonly reference: string },
    acting: Acting | null = null,
  ): Promise<bigint> {
    const actor = acting?.actor
    return this.#loop.submit({ ...payout, type: 'recordPayout', actor }) as Promise<bigint>
  }

  balanceOf(account: string): Balance {
    if (typeof account !== 'string' || !isPayable(account)) {
      throw invalidParams('account', 'the id of a provider, miner: and an id, or fund')
    }
    const { ledger, epochs } = this.#loop.state.market.fund
    const { stake, unstaking } = ledger.staked(account)
    return {
      account,
      available: ledger.balance(account),
      stake,
      unstaking,
      due: epochs.unpaid(account),
    }
  }

  /** All accounts that are not 0, by name. They add up to 0. */
  balances(): readonly (readonly [account: string, balance: bigint])[] {
    return this.#loop.state.market.fund.ledger.state().balances
  }

  serviceOf(providerId: ProviderId): Service {
    const { fund, policy } = this.#loop.state.market
    const kinds = [...fund.service.windows(providerId)].map(([kind, window]) => ({
      kind,
      band: window.band(policy.sla),
      ...window.figures(policy.sla),
    }))
    return { kinds, offenceEpochs: fund.service.offences(providerId) }
  }

  /** The claim of a job; null if it has none. */
  async claimOf(jobId: JobId): Promise<ClaimStatus | null> {
    const claim = this.#loop.state.market.fund.claims.claimOf(jobId)
    if (claim !== null) return { status: 'PENDING', claim }
    const result = await this.#read.result(jobId)
    return result?.claim == null ? null : { status: 'FINAL', claim: result.claim }
  }

  /** Closes an epoch that is over, with all before it. Answers with its batch; null if it has none. */
  async closeEpoch(epochId: number, acting: Acting | null = null): Promise<SettledEpoch | null> {
    wholeNumber('epoch_id', epochId, { min: 0 })
    await this.#closer.closeUpTo(epochId, acting?.actor ?? 'operator')
    return this.settledEpoch(epochId)
  }

  /** Settled epochs, the newest first. */
  async settledEpochs({
    beforeEpoch = Number.MAX_SAFE_INTEGER,
    limit = 100,
  } = {}): Promise<readonly SettledEpoch[]> {
    wholeNumber('before_epoch', beforeEpoch, { min: 0 })
    wholeNumber('limit', limit, { min: 1, max: 1_000 })
    return (await this.#read.settlements(beforeEpoch, limit)).map(settledEpochOf)
  }

  async settledEpoch(epochId: number): Promise<SettledEpoch | null> {
    const head = await this.#head(epochId)
    return head === null ? null : settledEpochOf(head)
  }

  /** A settled epoch with all its lines; null if there is none. */
  async settlement(epochId: number): Promise<SettledBatch | null> {
    const head = await this.#head(epochId)
    return head === null ? null : settledBatchOf(head, await this.#read.settlementParts(epochId))
  }

  /** The payouts of a provider in an epoch, with their proofs; null if the epoch has no batch. */
  async payouts(providerId: ProviderId, epochId: number): Promise<PayoutProof | null> {
    const head = await this.#head(epochId)
    if (head === null) return null
    return storedPayoutProof(head, await this.#read.settlementParts(epochId), providerId)
  }

  async #head(epochId: number): Promise<SettlementHead | null> {
    wholeNumber('epoch_id', epochId, { min: 0 })
    const [head] = await this.#read.settlements(epochId + 1, 1)
    return head?.epochId === epochId ? head : null
  }

  /** Looks up the stored request, so that the rules can derive its id again (PROOF-5). */
  async #given(envelope: Uint8Array): Promise<GivenProof> {
    const about = jobIn(envelope)
    const row = about === null ? null : await this.#read.job(about)
    const [payload] = row === null ? [] : await this.#read.payloads([row.seq])
    if (row === null || payload == null) return { envelope, derivedTaskId: null }
    const { chainId, enqueueHeight, txHash, caller } = row
    const derivedTaskId = taskId({
      chainId,
      enqueueHeight,
      txHash: fromHex(txHash) as Uint8Array,
      caller: fromHex(caller) as Uint8Array,
      payloadCbor: payload,
    })
    return { envelope, derivedTaskId }
  }

  /** The refusal of a proof whose job is only in the tables. */
  async #onEnded(envelope: Uint8Array, refusal: FairleadError): Promise<FairleadError> {
    const { nullifier, body } = readProof(envelope)
    const result = await this.#read.result(body.taskId)
    if (result?.claim?.nullifier === nullifier) {
      const text = 'this work has been claimed'
      return new FairleadError('NullifierReused', text, { nullifier })
    }
    const row = await this.#read.job(body.taskId)
    if (row === null) return refusal
    const text = `job ${row.id} is ${row.status} and awaits no proof`
    return new FairleadError('InvalidState', text, { taskId: row.id, status: row.status })
  }
}

/** The job that an envelope is about; null if it is no envelope. The rules refuse it then. */
function jobIn(envelope: Uint8Array): JobId | null {
  try {
    return readProof(envelope).body.taskId
  } catch (error) {
    if (error instanceof FairleadError && error.code === 'InvalidParams') return null
    throw error
  }
}

function settledEpochOf(head: SettlementHead): SettledEpoch {
  return { epochId: head.epochId, at: head.at, ...listedBatchOf(head) }
}
