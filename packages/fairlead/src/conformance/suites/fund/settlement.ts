import {
  type Batch,
  claimKey,
  fromHex,
  merkleProof,
  type Policy,
  parsePolicy,
  readPayoutLine,
  showClaimLine,
  verifyPayoutLine,
} from '@fairlead/core'
import {
  closeEpoch,
  type EpochClose,
  Epochs,
  Ledger,
  type PayoutRecord,
  showU64,
} from '@fairlead/core/internal'
import { amount, givenAmount, type Json, refusal, suite } from '../../suite.ts'

/** §18: prices, closes, batches and the books. */
export const settlement = suite((input) => {
  if (input.kind === 'verify') {
    const { line, proof, payouts_root } = input
    return { valid: verifyPayoutLine(readPayoutLine(line), proof, payouts_root) }
  }
  if (input.kind !== 'script') throw new TypeError(`kind: unknown kind ${input.kind}`)
  const script = new FundScript(input)
  const steps = input.steps.map((step: Json) => script.step(step))
  return { steps, balances: script.balances() }
})

class FundScript {
  readonly #epochs = new Epochs()
  readonly #ledger = new Ledger()
  readonly #unstakeMs: number
  readonly #epochSecs: number
  readonly #batches = new Map<number, string | null>()
  readonly #payouts = new Map<string, PayoutRecord>()
  #written: Json
  #policy: Policy
  #now = 0

  constructor({ policy, epoch_secs = 3_600, unstake_delay_secs = 86_400 }: Json) {
    this.#epochSecs = epoch_secs
    this.#unstakeMs = 1_000 * unstake_delay_secs
    this.#written = policy
    this.#policy = this.#parsed()
  }

  step(step: Json): Json {
    this.#now = Math.max(this.#now, step.at)
    const run = this.#ops[step.op]
    if (run === undefined) throw new TypeError(`unknown op ${step.op}`)
    let answer: Json
    const error = refusal(() => {
      answer = run(step)
    })
    return error === null ? answer : { error }
  }

  balances(): Json {
    const { balances } = this.#ledger.state()
    return Object.fromEntries(balances.map(([account, balance]) => [account, shown(balance)]))
  }

  readonly #ops: Readonly<Record<string, (step: Json) => Json>> = {
    policy: ({ set }) => {
      const { economics } = this.#written
      this.#written = { ...this.#written, economics: { ...economics, ...set } }
      this.#policy = this.#parsed()
      return {}
    },
    stake: ({ provider_id, amount: given }) => {
      this.#ledger.stake(provider_id, givenAmount(given))
      return { stake: shown(this.#ledger.staked(provider_id).stake) }
    },
    unstake: ({ provider_id, amount: given }) => {
      const maturesAt = this.#now + this.#unstakeMs
      this.#ledger.unstake(provider_id, givenAmount(given), maturesAt)
      return { stake: shown(this.#ledger.staked(provider_id).stake), matures_at: maturesAt }
    },
    payout: ({ account, amount: given, reference }) => {
      const payout = { account, amount: givenAmount(given) }
      this.#ledger.recordPayout({ ...payout, reference }, this.#payouts.get(reference) ?? null)
      this.#payouts.set(reference, payout)
      return { balance: shown(this.#ledger.balance(account)) }
    },
    claim: ({ claim }) => {
      const { task_id: taskId, block_height: blockHeight, nullifier } = claim
      const key = { taskId, height: blockHeight, nullifier: fromHex(nullifier) as Uint8Array }
      const billed = {
        claimKey: claimKey(key),
        taskId,
        kind: claim.kind,
        providerId: claim.provider_id,
        minerId: claim.miner_id,
        envelopeHash: claim.envelope_hash,
        nullifier,
        blockHeight,
        unitsPpm: amount(claim.units_ppm),
      }
      const work = { band: claim.band, model: claim.model, depthHint: claim.depth_hint }
      const line = this.#epochs.add(billed, work, { nowMs: this.#now, policy: this.#policy })
      return { line: showClaimLine(line) }
    },
    close: ({ epoch_id: epochId, slashes, audit_seq: auditSeq, audit_head: auditHead }) => {
      const input = this.#epochs.freeze(
        {
          epochId,
          nowMs: this.#now,
          policy: this.#policy,
          slashes: slashes.map((slash: Json) => ({
            providerId: slash.provider_id,
            amount: amount(slash.amount),
          })),
          auditSeq,
          auditHead,
        },
        this.#ledger,
      )
      if (input === null) return { batch_id: this.#batches.get(epochId) ?? null }
      const close = closeEpoch(input)
      this.#epochs.apply(close, this.#ledger)
      this.#batches.set(epochId, close.batchId)
      return closeShown(close)
    },
  }

  #parsed(): Policy {
    const { economics, sla } = this.#written
    const quotas = { epoch_secs: this.#epochSecs }
    return parsePolicy({ economics, sla, queue: { quotas } }, 'fund')
  }
}

function closeShown(close: EpochClose): Json {
  const { batchId, batch, claims, payouts, payoutTree, due, transfers } = close
  if (batch === null) return { batch_id: null }
  return {
    batch_id: batchId,
    batch: batchShown(batch),
    claims: claims.map((line) => line.claimKey),
    payouts: payouts.map(
      ({ claim, paidBefore, amount: paid, provider, miner, fund, slashed }, i) => ({
        claim_key: claim.claimKey,
        paid_before: paidBefore,
        amount: paid,
        provider,
        miner,
        fund,
        slashed,
        proof: merkleProof(payoutTree, i),
      }),
    ),
    due: due.map(({ line, due: left }) => ({ claim_key: line.claimKey, due: left })),
    transfers: transfers.map(({ from, to, amount: moved }) => ({ from, to, amount: shown(moved) })),
  }
}

function batchShown({ totals, ...batch }: Batch): Json {
  const { debits, unstaked, ...sums } = totals
  return {
    epoch_id: batch.epochId,
    prev_batch_id: batch.prevBatchId,
    claims_root: batch.claimsRoot,
    payouts_root: batch.payoutsRoot,
    totals: { ...amounts(sums), debits: amounts(debits), unstaked: amounts(unstaked) },
    policy_hash: batch.policyHash,
    audit_seq: batch.auditSeq,
    audit_head: batch.auditHead,
  }
}

function amounts(map: object): Json {
  return Object.fromEntries(
    Object.entries(map).map(([name, value]) => [
      name,
      typeof value === 'bigint' ? shown(value) : value,
    ]),
  )
}

/** An amount as JSON; only the accounts of what was made and what is outside are below 0. */
function shown(value: bigint): number | string {
  if (value >= 0n) return showU64(value)
  return -value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value.toString()
}
