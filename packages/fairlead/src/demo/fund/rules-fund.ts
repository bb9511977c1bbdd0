import { createHash } from 'node:crypto'
import {
  type AuditEntry,
  EMPTY_AUDIT,
  type JobId,
  type LeaseId,
  type Policy,
  parsePolicy,
  type Seed,
  type SettledBatch,
  taggedHash,
  taggedHashHex,
} from '@fairlead/core'
import {
  appendAudit,
  type ClaimEvent,
  Claims,
  type ClaimTerms,
  checkProof,
  closeEpoch,
  conductIn,
  Epochs,
  epochOf,
  judge,
  kindsOf,
  Ledger,
  type Outcome,
  type ProofVerdict,
  penaltyEnd,
  SeededDice,
  type Slash,
  unitMs,
  unstakingSum,
  withOffence,
} from '@fairlead/core/internal'
import { amountText } from './amount-text.ts'
import { CertificateAuthority } from './authority.ts'
import { FUND_PROVIDERS, fundPolicy } from './cast.ts'
import type { FundFigures, SlashFigures } from './fund-figures.ts'
import { RulesProvider, type SimulatedLease } from './rules-provider.ts'
import { verifyFund, verifyPayouts } from './verify-fund.ts'

const START = Date.UTC(2026, 0, 5, 9)
const EPOCHS = 4
const EPOCH_SECS = 60
const EPOCH_MS = 1_000 * EPOCH_SECS
const PROOF_TIMEOUT_SECS = 5
/** Jobs of each provider in an epoch. */
const JOBS = 32
const YEAR_MS = 365 * 86_400_000

/**
 * Runs a fund on a simulated clock: leases are completed, proofs are signed and checked, claims are priced, epochs are
 * closed. It is a function of the seed alone, to the last bit of each batch id.
 */
export function runRulesFund(seed: number): FundFigures {
  const fund = new RulesFund(seed)
  for (let i = 0; i < EPOCHS; i++) fund.runEpoch()
  return fund.figures()
}

interface Plan {
  readonly at: number
  readonly act: () => void
}

class RulesFund {
  readonly #seed: number
  readonly #policy: Policy
  readonly #terms: ClaimTerms
  readonly #dice: SeededDice
  readonly #providers: readonly RulesProvider[]
  readonly #claims = new Claims()
  readonly #epochs = new Epochs()
  readonly #ledger = new Ledger()
  readonly #audit: AuditEntry[] = []
  readonly #batches: SettledBatch[] = []
  readonly #slashes: SlashFigures[] = []
  readonly #leases = new Map<JobId, { provider: RulesProvider; lease: SimulatedLease }>()
  readonly #claimed = new Set<string>()
  #startsAt = START

  constructor(seed: number) {
    this.#seed = seed
    const validity = { notBefore: START - YEAR_MS, notAfter: START + YEAR_MS }
    const key = taggedHash('fairlead|demo authority', seed)
    const authority = new CertificateAuthority('Demo Hardware', validity, key)
    const root = `0x${createHash('sha256').update(authority.root).digest('hex')}`
    const times = { epochSecs: EPOCH_SECS, proofTimeoutSecs: PROOF_TIMEOUT_SECS }
    this.#policy = parsePolicy(fundPolicy({ ...times, root }), 'fund')
    this.#terms = {
      hasChain: false,
      finalityK: 0,
      proofTimeoutMs: 1_000 * PROOF_TIMEOUT_SECS,
      minerId: this.#policy.chain.minerId,
    }
    this.#dice = new SeededDice(taggedHashHex('fairlead|demo fund dice', seed) as Seed)
    this.#providers = FUND_PROVIDERS.map(
      (member) =>
        new RulesProvider(member, { seed, nowMs: START, policy: this.#policy, authority }),
    )
    for (const provider of this.#providers) this.#join(provider)
  }

  /** All that happens in an epoch, in order of time, and its close. */
  runEpoch(): void {
    const plans: Plan[] = []
    for (const provider of this.#providers) {
      for (let i = 0; i < JOBS; i++) this.#planJob(provider, plans)
    }
    // What was planned first for one time stays first.
    for (const { at, act } of plans.sort((a, b) => a.at - b.at)) {
      this.#expire(at)
      act()
    }
    this.#startsAt += EPOCH_MS
    this.#expire(this.#startsAt)
    this.#close(epochOf(this.#startsAt, this.#policy) - 1)
  }

  figures(): FundFigures {
    const now = this.#startsAt
    const wrong = verifyFund(this.#batches, this.#audit)
    const proof = verifyPayouts(this.#batches, 'provider:atlas')
    if (typeof proof === 'string') wrong.push(proof)
    const { balances } = this.#ledger.state()
    const sum = balances.reduce((all, [, balance]) => all + balance, 0n)
    if (sum !== 0n) wrong.push(`the balances add up to ${sum}`)
    return {
      settlements: this.#batches.map(({ batchId, batch: { epochId, totals } }) => ({
        epoch_id: epochId,
        batch_id: batchId,
        claims: totals.claims,
        gross: amountText(totals.gross),
        paid: amountText(totals.paid),
        provider: amountText(totals.provider),
        miner: amountText(totals.miner),
        fund: amountText(totals.fund),
        slashed: amountText(totals.slashed),
        unstaked: amountText(Object.values(totals.unstaked).reduce((all, one) => all + one, 0n)),
      })),
      providers: this.#providers.map((provider) => ({
        provider_id: provider.id,
        manner: provider.member.manner,
        status: provider.statusAt(now),
        band: provider.window.size === 0 ? '-' : provider.window.band(this.#policy.sla),
        completed: provider.completed,
        not_proved: provider.notProved,
        slashed: amountText(provider.slashed),
        stake: amountText(this.#ledger.staked(provider.id).stake),
        available: amountText(this.#ledger.balance(provider.id)),
      })),
      slashes: this.#slashes,
      payout_proof: typeof proof === 'string' ? null : proof,
      books: Object.fromEntries(balances.map(([name, balance]) => [name, amountText(balance)])),
      wrong,
    }
  }

  #join(provider: RulesProvider): void {
    const stake = BigInt(provider.member.stake)
    this.#ledger.stake(provider.id, stake)
    this.#note(START, 'providerStaked', provider.id, { stake: Number(stake) })
    provider.admit(stake, START, this.#policy)
    const { takesOut } = provider.member
    if (takesOut === undefined) return
    const maturesAt = START + 1_000 * this.#policy.registry.unstakeDelaySecs
    this.#ledger.unstake(provider.id, BigInt(takesOut), maturesAt)
    this.#note(START, 'providerUnstaked', provider.id, { amount: takesOut, maturesAt })
  }

  /** A job of the provider at some time of the epoch, and its proof. */
  #planJob(provider: RulesProvider, plans: Plan[]): void {
    const { unitMs: pace, provesLateEvery } = provider.member
    const units = 1 + this.#dice.draw(4)
    const elapsedMs = units * (pace[0] + this.#dice.draw(pace[1] - pace[0]))
    // Early enough that a late proof is overdue before the epoch ends.
    const completedAt = this.#startsAt + this.#dice.draw(EPOCH_MS - 10_000)
    if (!provider.getsWorkAt(completedAt)) return
    const turn = ++provider.jobs
    const name = [this.#seed, provider.id, turn] as const
    const lease: SimulatedLease = {
      taskId: taggedHashHex('fairlead|demo job', ...name) as JobId,
      leaseId: taggedHashHex('fairlead|demo lease', ...name) as LeaseId,
      digest: taggedHashHex('fairlead|demo output', ...name),
      depthHint: this.#dice.draw(40),
      ...{ units, elapsedMs, completedAt, turn },
    }
    const isLate = provesLateEvery !== undefined && turn % provesLateEvery === 0
    const waitMs = isLate ? this.#terms.proofTimeoutMs + 500 : 20 + this.#dice.draw(200)
    plans.push({ at: completedAt, act: () => this.#complete(provider, lease) })
    plans.push({
      at: completedAt + waitMs,
      act: () => this.#prove(provider, lease, completedAt + waitMs),
    })
  }

  #complete(provider: RulesProvider, lease: SimulatedLease): void {
    const { taskId, leaseId, completedAt: since, elapsedMs, units } = lease
    const perUnit = unitMs({ elapsedMs, gapMs: 0, estimatedUnits: units })
    const { kind } = provider.member
    this.#leases.set(taskId, { provider, lease })
    this.#claims.complete({ taskId, leaseId, kind, since, unitMs: perUnit })
  }

  #prove(provider: RulesProvider, lease: SimulatedLease, nowMs: number): void {
    const envelope = provider.proofOf(lease, this.#policy.chain.id)
    const { events } = this.#claims.submit(this.#terms, nowMs, (at) => this.#check(envelope, at))
    for (const event of events) this.#happened(event, nowMs)
  }

  #check(envelope: Uint8Array, at: number): ProofVerdict {
    const { chain, proof, registry } = this.#policy
    return checkProof(envelope, {
      ...{ by: null, at, chainId: chain.id },
      ...{ unitsMaxPpm: proof.unitsMaxPpm, trapsMinPpm: proof.trapsMinPpm },
      isClaimed: (nullifier) => this.#claimed.has(nullifier),
      jobOf: (taskId) => {
        const known = this.#leases.get(taskId)
        if (known === undefined) return null
        const { provider, lease } = known
        const { attestation } = provider
        const awaits = this.#claims.awaitOf(taskId) && {
          ...{ leaseId: lease.leaseId, providerId: provider.id, outputDigest: lease.digest },
          publicKey: provider.publicKey,
          attestation: { ...attestation, kinds: kindsOf(attestation, this.#policy) ?? [] },
        }
        const { kind } = provider.member
        return {
          ...{ kind, derivedTaskId: taskId, estimatedUnits: lease.units, awaits },
          attestationRequired: registry.attestationRequired[kind],
        }
      },
    })
  }

  #expire(untilMs: number): void {
    for (const event of this.#claims.expire(this.#terms, untilMs)) this.#happened(event, untilMs)
  }

  #happened(event: ClaimEvent, nowMs: number): void {
    if (event.taskId === null) return
    const { provider, lease } = this.#leases.get(event.taskId) as {
      provider: RulesProvider
      lease: SimulatedLease
    }
    const traps = provider.traps(lease.turn)
    const epoch = epochOf(nowMs, this.#policy)
    if (event.type === 'final') {
      const band = provider.window.band(this.#policy.sla)
      const { depthHint } = lease
      this.#claimed.add(event.claim.nullifier)
      this.#epochs.add(
        event.claim,
        { band, model: 'm', depthHint },
        { nowMs, policy: this.#policy },
      )
      provider.completed++
      this.#record(provider, { result: 'completed', epoch, unitMs: event.claim.unitMs, traps })
      this.#note(nowMs, 'jobCompleted', lease.taskId, { providerId: provider.id })
    } else if (event.type === 'proofInvalid') {
      const signed = event.reason === 'traps' ? traps : null
      provider.notProved++
      this.#record(provider, { result: 'proof_invalid', epoch, unitMs: null, traps: signed })
      this.#note(nowMs, 'jobRequeued', lease.taskId, { reason: 'PROOF_INVALID' })
    }
  }

  #record(provider: RulesProvider, outcome: Outcome): void {
    provider.window.record(outcome, this.#policy.sla)
  }

  #close(epochId: number): void {
    const nowMs = this.#startsAt
    const slashes = this.#providers.flatMap((provider) => this.#judge(provider, epochId, nowMs))
    const { seq, hash } = this.#audit.at(-1) ?? EMPTY_AUDIT
    const policy = this.#policy
    const terms = { epochId, nowMs, policy, slashes, auditSeq: seq, auditHead: hash }
    const input = this.#epochs.freeze(terms, this.#ledger)
    if (input === null) return
    const close = closeEpoch(input)
    this.#epochs.apply(close, this.#ledger)
    const { batch, batchId, claims, payouts } = close
    if (batch === null || batchId === null) return
    const { economics, sla } = policy
    this.#batches.push({ batchId, batch, claims, payouts, policy: { economics, sla } })
    this.#note(nowMs, 'epochSettled', `epoch ${epochId}`, { batchId })
  }

  #judge(provider: RulesProvider, epoch: number, nowMs: number): Slash[] {
    const { sla } = this.#policy
    const { stake, unstaking } = this.#ledger.staked(provider.id)
    const windows = new Map([[provider.member.kind, provider.window]])
    const judgement = judge(
      {
        epoch,
        atStake: stake + unstakingSum(unstaking),
        offenceEpochs: provider.offenceEpochs,
        kinds: conductIn(epoch, windows, sla),
      },
      sla,
    )
    if (judgement.decision !== 'SLASH') return []
    const { slash, reason, severity, cooldownEpochs, jailEpochs } = judgement
    provider.offenceEpochs = withOffence(provider.offenceEpochs, epoch)
    provider.slashed += slash
    provider.sentToJail(nowMs, jailEpochs, EPOCH_SECS)
    const span = { nowMs, epochs: cooldownEpochs, epochSecs: EPOCH_SECS }
    provider.cooldownUntil = penaltyEnd(provider.cooldownUntil, span)
    this.#slashes.push({
      ...{ provider_id: provider.id, epoch_id: epoch, amount: amountText(slash) },
      reason: `${severity}: ${reason}`,
    })
    this.#note(nowMs, 'providerSlashed', provider.id, { reason, penalty: Number(slash) })
    return [{ providerId: provider.id, amount: slash }]
  }

  #note(at: number, action: string, subject: string, details: AuditEntry['details']): void {
    const head = this.#audit.at(-1) ?? EMPTY_AUDIT
    this.#audit.push(appendAudit(head, { at, actor: 'engine', action, subject, details }))
  }
}
