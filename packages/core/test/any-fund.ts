import fc from 'fast-check'
import { fromHex, toHex } from '../src/encoding/bytes.ts'
import { publicKeyOf } from '../src/encoding/ed25519.ts'
import { sha3Hex } from '../src/encoding/hash.ts'
import { claimKey, type JobId, type LeaseId, type ProviderId, taskId } from '../src/encoding/ids.ts'
import { type Policy, parsePolicy } from '../src/policy/policy.ts'
import type { Band } from '../src/policy/sla-policy.ts'
import { closeEpoch, type EpochClose } from '../src/settle/epoch/close-epoch.ts'
import { type BilledClaim, Epochs } from '../src/settle/epoch/epochs.ts'
import type { ClaimLine } from '../src/settle/epoch/line.ts'
import { Ledger } from '../src/settle/ledger/ledger.ts'
import type { Slash } from '../src/settle/ledger/stake-change.ts'
import type { AcceptedProof } from '../src/settle/proof/check-proof.ts'

/** 32 bytes that a name stands for. */
export const hash32 = (name: string): string => sha3Hex(Buffer.from(name))

export const SECRET = Buffer.alloc(32, 7)
export const PUBLIC_KEY = toHex(publicKeyOf(SECRET))
export const OTHER_SECRET = Buffer.alloc(32, 8)
export const HOLDER = 'provider:a' as ProviderId
export const TASK = taskId({
  chainId: 1,
  enqueueHeight: 1,
  txHash: Buffer.alloc(32, 1),
  caller: Buffer.alloc(32, 2),
  payloadCbor: Buffer.of(0xa0),
})
export const LEASE = hash32('lease') as LeaseId

/** An accepted proof of the nth job of some provider. */
export function acceptedProof(n: number, fields: Partial<AcceptedProof> = {}): AcceptedProof {
  return {
    taskId: hash32(`task ${n}`) as JobId,
    leaseId: hash32(`lease ${n}`) as LeaseId,
    providerId: HOLDER,
    kind: 'ai',
    envelopeHash: hash32(`envelope ${n}`),
    nullifier: hash32(`nullifier ${n}`),
    unitsPpm: 1_000_000n,
    qos: { p95LatencyMs: 0n, availabilityPpm: 0n },
    traps: null,
    ...fields,
  }
}

const BLOCK = 100

/** A FINAL claim of the nth job. */
export function billedClaim(n: number, fields: Partial<BilledClaim> = {}): BilledClaim {
  const { taskId: id, providerId, kind, envelopeHash, nullifier, unitsPpm } = acceptedProof(n)
  const key = { taskId: id, height: BLOCK, nullifier: fromHex(nullifier) as Uint8Array }
  return {
    claimKey: claimKey(key),
    taskId: id,
    kind,
    providerId,
    minerId: 'operator',
    envelopeHash,
    nullifier,
    blockHeight: BLOCK,
    unitsPpm,
    ...fields,
  }
}

export const EPOCH_MS = 3_600_000
/** The epoch in which the histories of these tests begin. */
export const EPOCH = 490_000

/** The books and the claims of a fund, with as few words as possible for what happens to them. */
export class Fund {
  readonly epochs: Epochs
  readonly ledger: Ledger
  policy: Policy
  #claims = 0

  constructor(economics: object = {}, epochs = new Epochs(), ledger = new Ledger()) {
    this.policy = fundPolicy(economics)
    this.epochs = epochs
    this.ledger = ledger
  }

  /** A claim that becomes FINAL in an epoch: `units` at 1,000 base units each in silver. */
  claim(
    units: number,
    { epoch = EPOCH, provider = HOLDER, band = 'silver' as Band, n = this.#claims++ } = {},
  ): ClaimLine {
    const unitsPpm = BigInt(Math.round(units * 1_000_000))
    const claim = billedClaim(n, { providerId: provider as ProviderId, unitsPpm })
    const work = { band, model: 'm', depthHint: 0 }
    return this.epochs.add(claim, work, { nowMs: epoch * EPOCH_MS + 5, policy: this.policy })
  }

  close(
    epochId = EPOCH,
    { slashes = [] as readonly Slash[], nowMs = (epochId + 1) * EPOCH_MS } = {},
  ): EpochClose {
    const terms = { epochId, nowMs, policy: this.policy, slashes }
    const input = this.epochs.freeze({ ...terms, auditSeq: 1, auditHead: hash32('a') }, this.ledger)
    if (input === null) throw new Error(`epoch ${epochId} is closed`)
    const close = closeEpoch(structuredClone(input))
    this.epochs.apply(close, this.ledger)
    return close
  }
}

export function fundPolicy(economics: object = {}, sla: object = {}): Policy {
  return parsePolicy({ economics, sla }, 'fund')
}

/** The sum of all balances, which is always 0. */
export function sumOfBalances(ledger: Ledger): bigint {
  return ledger.state().balances.reduce((sum, [, balance]) => sum + balance, 0n)
}

/** Economics with small numbers, so that caps and floors matter. */
export const anyEconomics = fc.record({
  gamma_fund: fc.option(fc.nat(3_000), { nil: null }),
  cap: fc.constantFrom('scale', 'defer'),
  carry_ppm: fc.constantFrom(0, 250_000, 1_000_000),
  max_per_claim: fc.constantFrom(1_000_000_000_000, 1_500),
})

export type FundStep =
  | { readonly op: 'claim'; readonly units: number; readonly provider: number; readonly band: Band }
  | {
      readonly op: 'stake' | 'unstake' | 'payout'
      readonly provider: number
      readonly amount: number
    }
  | { readonly op: 'close'; readonly skip: number; readonly slashes: readonly number[] }

const provider = fc.nat(2)

export const anyFundStep: fc.Arbitrary<FundStep> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant('claim' as const),
      units: fc.nat(3_000).map((thousandths) => thousandths / 1_000),
      provider,
      band: fc.constantFrom<Band>('gold', 'silver', 'bronze', 'fail'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constantFrom('stake' as const, 'unstake' as const, 'payout' as const),
      provider,
      amount: fc.integer({ min: 1, max: 3_000 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('close' as const),
      skip: fc.nat(1),
      slashes: fc.array(fc.nat(4_000), { maxLength: 3 }),
    }),
  },
)

/** Runs steps on a fund. Calls that the rules refuse are left out, as a caller would. */
export function runFund(fund: Fund, steps: readonly FundStep[], start = EPOCH): EpochClose[] {
  const closes: EpochClose[] = []
  let epoch = start
  for (const step of steps) {
    if (step.op === 'close') {
      epoch += 1 + step.skip
      const slashes = step.slashes.map((amount, i) => ({
        providerId: `provider:p${i}`,
        amount: BigInt(amount),
      }))
      closes.push(fund.close(epoch - 1, { slashes }))
      continue
    }
    const id = `provider:p${step.provider}`
    if (step.op === 'claim')
      fund.claim(step.units, { epoch, provider: id as ProviderId, band: step.band })
    else actOnLedger(fund.ledger, step.op, { id, amount: BigInt(step.amount), epoch })
  }
  return closes
}

function actOnLedger(
  ledger: Ledger,
  op: 'stake' | 'unstake' | 'payout',
  { id, amount, epoch }: { readonly id: string; readonly amount: bigint; readonly epoch: number },
): void {
  if (op === 'stake') ledger.stake(id, amount)
  else if (op === 'unstake') {
    if (ledger.staked(id).stake >= amount) ledger.unstake(id, amount, (epoch + 2) * EPOCH_MS)
  } else if (ledger.balance(id) >= amount) {
    ledger.recordPayout({ account: id, amount, reference: 'r' }, null)
  }
}
