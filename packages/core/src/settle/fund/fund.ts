import { compareText } from '../../encoding/text.ts'
import type { KindName } from '../../enqueue/kinds.ts'
import { FairleadError, invariant } from '../../errors.ts'
import { showFundPolicy } from '../../policy/fund-json.ts'
import type { Sla } from '../../policy/sla-policy.ts'
import type { Challenge } from '../../registry/attestation/check-attestation.ts'
import type { Outcome } from '../../registry/sla/outcome.ts'
import type { ClaimEvent } from '../chain/claim.ts'
import { Claims } from '../chain/claims.ts'
import type { DueLine } from '../epoch/budget.ts'
import type { CloseInput } from '../epoch/close-epoch.ts'
import { type BilledClaim, type CloseEffect, type CloseTerms, Epochs } from '../epoch/epochs.ts'
import type { ClaimLine } from '../epoch/line.ts'
import type { PricedWork } from '../epoch/price.ts'
import type { Transfer } from '../ledger/account.ts'
import { Ledger, type PayoutRecord } from '../ledger/ledger.ts'
import type { Closing, EpochsDone, FundChanges, FundPart, FundParts, FundRow } from './fund-rows.ts'
import { ServiceBook } from './service-book.ts'

/**
 * Everything that paying providers needs: claims, the books, epochs and the record of service. It holds nothing in a
 * market whose kinds have no proofs. Each change is noted piece by piece, so that it can be stored (FUND-1).
 */
export class Fund {
  readonly claims: Claims
  readonly ledger: Ledger
  readonly epochs: Epochs
  readonly service = new ServiceBook()
  readonly #challenges: Map<string, Challenge>
  readonly #payouts: Map<string, PayoutRecord>
  #closing: Closing | null
  #active: EpochsDone['active']
  #hasClaims: boolean
  readonly #changed = new Map<Exclude<FundPart, 'line'>, Set<string>>()
  #newLines: ClaimLine[] = []
  #settledEpochs = new Set<number>()
  readonly #touched: () => void

  /** The pieces that `takeChanges` gave, each as of its last change, and the lines that the newest batch left due. */
  constructor(
    {
      rows,
      due,
    }: { readonly rows: readonly FundRow[]; readonly due: readonly DueLine[] } = NOTHING,
    touched: () => void = () => undefined,
  ) {
    this.#touched = touched
    const parts = partsIn(rows)
    const epochs = parts('epochs')[0]?.[1] ?? NO_EPOCHS
    const chain = parts('chain')[0]?.[1] ?? { head: null, finalHeight: null }
    const pending = parts('claim').map(([, claim]) => claim)
    pending.sort((a, b) => a.blockHeight - b.blockHeight || a.place - b.place)
    this.claims = new Claims({ awaits: parts('await').map(([, one]) => one), pending, ...chain })
    this.ledger = new Ledger({ balances: parts('balance'), unstaking: parts('unstaking') })
    this.epochs = new Epochs({
      lines: parts('line').map(([, line]) => line),
      due,
      lastClosed: epochs.lastClosed,
      previous: epochs.previous,
    })
    this.service.restore(parts('outcome'), parts('offences'))
    this.#challenges = new Map(parts('challenge'))
    this.#payouts = new Map(parts('payout'))
    this.#closing = parts('closing')[0]?.[1] ?? null
    this.#active = epochs.active
    this.#hasClaims = epochs.hasClaims
  }

  /** True from the first FINAL claim on. */
  get hasClaims(): boolean {
    return this.#hasClaims
  }

  /** The close that was begun; null if none is. */
  get closing(): Closing | null {
    return this.#closing
  }

  /** The whole input of the close that was begun. */
  closingInput(): (CloseInput & Closing) | null {
    return this.#closing === null
      ? null
      : { ...this.#closing, ...this.epochs.linesFor(this.#closing) }
  }

  challenge(providerId: string): Challenge | null {
    return this.#challenges.get(providerId) ?? null
  }

  /** A newer challenge replaces the one before; null ends it (ATTEST-2). */
  setChallenge(providerId: string, challenge: Challenge | null): void {
    if (challenge === null) this.#challenges.delete(providerId)
    else this.#challenges.set(providerId, challenge)
    this.#touch('challenge', providerId)
  }

  /** The claims of these events are other ones now, and so may be the chain's head. */
  noteClaims(events: readonly ClaimEvent[]): void {
    for (const { taskId } of events) {
      if (taskId === null) continue
      this.#touch('await', taskId)
      this.#touch('claim', taskId)
    }
  }

  noteAwait(taskId: string): void {
    this.#touch('await', taskId)
  }

  noteChain(): void {
    this.#touch('chain', '')
  }

  /** The dispatcher was away for so long (ENGINE-4). */
  shift(gapMs: number): void {
    this.claims.shift(gapMs)
    for (const { taskId } of this.claims.state().awaits) this.#touch('await', taskId)
  }

  /** Prices a claim that becomes FINAL. */
  bill(
    claim: BilledClaim,
    work: Pick<PricedWork, 'band' | 'model' | 'depthHint'>,
    terms: Pick<CloseTerms, 'nowMs' | 'policy'>,
  ): void {
    const line = this.epochs.add(claim, work, terms)
    this.#newLines.push(line)
    if (!this.#hasClaims) this.#touch('epochs', '')
    this.#hasClaims = true
    this.#noteActivity(line.epochId)
  }

  recordOutcome(providerId: string, kind: KindName, outcome: Outcome, sla: Sla): void {
    this.service.record(providerId, kind, outcome, sla, this.#touchOutcome)
    this.#noteActivity(outcome.epoch)
  }

  trimOutcomes(sla: Pick<Sla, 'window'>): void {
    this.service.trim(sla, this.#touchOutcome)
  }

  addOffence(providerId: string, epoch: number): void {
    this.service.addOffence(providerId, epoch)
    this.#touch('offences', providerId)
  }

  stake(providerId: string, amount: bigint): void {
    this.#noteTransfers([this.ledger.stake(providerId, amount)])
  }

  /** Refused during a close, which has its own word on what is on its way out. */
  unstake(providerId: string, amount: bigint, maturesAt: number): void {
    if (this.#closing !== null) {
      const { epochId } = this.#closing
      throw new FairleadError(
        'InvalidState',
        `epoch ${epochId} is being closed; ask again in a moment`,
        { epochId },
      )
    }
    this.#noteTransfers([this.ledger.unstake(providerId, amount, maturesAt)])
    this.#touch('unstaking', providerId)
  }

  /** Answers with the balance of the account. */
  recordPayout(payout: PayoutRecord & { readonly reference: string }): bigint {
    const { account, amount, reference } = payout
    const transfer = this.ledger.recordPayout(payout, this.#payouts.get(reference) ?? null)
    if (transfer !== null) {
      this.#payouts.set(reference, { account, amount })
      this.#touch('payout', reference)
      this.#noteTransfers([transfer])
    }
    return this.ledger.balance(account)
  }

  /** Begins a close. False if the epoch was closed before. */
  freeze(terms: CloseTerms): boolean {
    const input = this.epochs.freeze(terms, this.ledger)
    if (input === null) return false
    invariant(this.#closing === null, 'one epoch is closed at a time')
    const { lines: _lines, due: _due, previous: _previous, ...rest } = input
    this.#closing = { ...rest, policy: showFundPolicy(terms.policy) }
    this.#touch('closing', '')
    return true
  }

  /** Brings the close that was begun into the books. */
  settle(close: CloseEffect): void {
    const { epochId, transfers, stakes } = close
    invariant(
      this.#closing?.epochId === epochId,
      'the epoch that is settled is the one that closes',
    )
    for (const line of this.epochs.linesFor({ epochId }).lines)
      this.#settledEpochs.add(line.epochId)
    this.epochs.apply(close, this.ledger)
    this.#noteTransfers(transfers)
    for (const { providerId } of stakes) this.#touch('unstaking', providerId)
    this.#closing = null
    this.#touch('closing', '')
    this.#active = this.#active.filter((epoch) => epoch > epochId)
    this.#touch('epochs', '')
  }

  /** The epoch that is to be closed next, if it is over by then; null if there is nothing to close (SETTLE-22). */
  nextClose(currentEpoch: number): number | null {
    const first = this.#firstOpen(currentEpoch)
    return first !== null && first < currentEpoch && this.#closing === null ? first : null
  }

  /** True if an epoch will have to be closed some time. */
  get hasOpen(): boolean {
    return this.#active.length > 0 || this.#isOwing || this.#closing !== null
  }

  /** What changed since the last call, by part and key. */
  takeChanges(): FundChanges {
    if (this.#changed.size + this.#newLines.length + this.#settledEpochs.size === 0)
      return NO_CHANGES
    const rows: FundRow[] = []
    const closed = this.epochs.lastClosed ?? Number.NEGATIVE_INFINITY
    for (const line of this.#newLines) {
      if (line.epochId > closed) rows.push({ part: 'line', key: line.claimKey, value: line })
    }
    const settledEpochs = [...this.#settledEpochs].sort((a, b) => a - b)
    this.#newLines = []
    this.#settledEpochs = new Set()
    for (const [part, keys] of this.#changed) {
      for (const key of [...keys].sort(compareText)) {
        rows.push({ part, key, value: this.#valueOf(part, key) } as FundRow)
      }
    }
    this.#changed.clear()
    return { rows, settledEpochs }
  }

  /** Deferred payments and stake on its way out need every epoch. */
  get #isOwing(): boolean {
    return this.epochs.hasDue || this.ledger.hasUnstaking
  }

  #firstOpen(currentEpoch: number): number | null {
    const { lastClosed } = this.epochs
    const owed = lastClosed === null ? currentEpoch - 1 : lastClosed + 1
    const first = Math.min(
      this.#active[0] ?? Number.POSITIVE_INFINITY,
      this.#isOwing ? owed : Number.POSITIVE_INFINITY,
    )
    if (first === Number.POSITIVE_INFINITY) return null
    return lastClosed === null ? first : Math.max(first, lastClosed + 1)
  }

  #noteActivity(epoch: number): void {
    if (this.#active.includes(epoch)) return this.#touched()
    this.#active = [...this.#active, epoch].sort((a, b) => a - b)
    this.#touch('epochs', '')
  }

  #noteTransfers(transfers: readonly Transfer[]): void {
    for (const { from, to } of transfers) {
      this.#touch('balance', from)
      this.#touch('balance', to)
      if (to.startsWith(UNSTAKING)) this.#touch('unstaking', to.slice(UNSTAKING.length))
    }
  }

  readonly #touchOutcome = (key: string): void => this.#touch('outcome', key)

  #touch(part: Exclude<FundPart, 'line'>, key: string): void {
    let keys = this.#changed.get(part)
    if (keys === undefined) {
      keys = new Set()
      this.#changed.set(part, keys)
    }
    keys.add(key)
    this.#touched()
  }

  readonly #values: {
    readonly [Part in Exclude<FundPart, 'line'>]: (key: string) => FundParts[Part] | null
  } = {
    await: (key) => this.claims.awaitOf(key as never),
    claim: (key) => this.claims.claimOf(key as never),
    chain: () => this.claims.chain,
    balance: (key) => this.ledger.balance(key) || null,
    unstaking: (key) => {
      const { unstaking } = this.ledger.staked(key)
      return unstaking.length === 0 ? null : unstaking
    },
    epochs: () => ({
      lastClosed: this.epochs.lastClosed,
      previous: this.epochs.previous,
      active: this.#active,
      hasClaims: this.#hasClaims,
    }),
    closing: () => this.#closing,
    outcome: (key) => this.service.outcome(key),
    offences: (key) => this.service.offences(key),
    challenge: (key) => this.challenge(key),
    payout: (key) => this.#payouts.get(key) ?? null,
  }

  #valueOf(part: Exclude<FundPart, 'line'>, key: string): FundParts[FundPart] | null {
    return this.#values[part](key)
  }
}

const NOTHING = { rows: [], due: [] }
const NO_CHANGES: FundChanges = { rows: [], settledEpochs: [] }
const NO_EPOCHS: EpochsDone = { lastClosed: null, previous: null, active: [], hasClaims: false }
const UNSTAKING = 'unstaking:'

type Pieces = <Part extends FundPart>(part: Part) => [key: string, value: FundParts[Part]][]

function partsIn(rows: readonly FundRow[]): Pieces {
  return (part) =>
    rows
      .filter((row) => row.part === part && row.value !== null)
      .map(({ key, value }) => [key, value as never])
}
