import { IndexedHeap, type IndexedItem } from '../../collections/indexed-heap.ts'
import { compareAscii, fromHex } from '../../encoding/bytes.ts'
import { claimKey, type JobId } from '../../encoding/ids.ts'
import { wholeNumber } from '../../encoding/whole-number.ts'
import { FairleadError, invalidParams, invariant } from '../../errors.ts'
import type { ProofVerdict } from '../proof/check-proof.ts'
import type {
  Await,
  Block,
  ChainHead,
  Claim,
  ClaimEvent,
  ClaimsState,
  ClaimTerms,
} from './claim.ts'

/**
 * The life of claims. A completed lease awaits its proof; an accepted proof is a claim, PENDING until a chain can no
 * longer undo it, then FINAL. A job has at most one of the two, an await or a PENDING claim. FINAL claims leave this
 * state, so `isPending` knows no FINAL nullifier: the caller looks those up where it keeps them.
 *
 * Calls that are refused throw and change nothing. All others answer with the events that they caused, in order;
 * after each of them `awaitOf` and `claimOf` give the rows to store for the job that it names.
 */
export class Claims {
  readonly #awaits = new Map<JobId, Awaiting>()
  /** The await that times out next is on top. All have one timeout, so `since` orders them. */
  readonly #due = new IndexedHeap<Awaiting>((a, b) => compareAwaits(a, b) < 0)
  /** In order of block and place, because a block only comes after those it replaces were dropped. */
  readonly #pending = new Map<JobId, Claim>()
  readonly #nullifiers = new Set<string>()
  #head: number | null
  #finalHeight: number | null

  constructor(state: ClaimsState = EMPTY) {
    for (const one of state.awaits) this.#await(one)
    for (const claim of state.pending) this.#hold(claim)
    this.#head = state.head
    this.#finalHeight = state.finalHeight
  }

  get chain(): ChainHead {
    return { head: this.#head, finalHeight: this.#finalHeight }
  }

  get hasPending(): boolean {
    return this.#pending.size > 0
  }

  /** True if any job awaits its proof. */
  get hasAwaits(): boolean {
    return this.#awaits.size > 0
  }

  awaitOf(taskId: JobId): Await | null {
    const one = this.#awaits.get(taskId)
    return one === undefined ? null : plainAwait(one)
  }

  /** The PENDING claim of a job. */
  claimOf(taskId: JobId): Claim | null {
    return this.#pending.get(taskId) ?? null
  }

  /** True if a PENDING claim has the nullifier. */
  isPending(nullifier: string): boolean {
    return this.#nullifiers.has(nullifier)
  }

  /** A lease was completed whose kind has proofs: from now on its job awaits one (CLAIM-6). */
  complete(lease: Await): void {
    const { taskId } = lease
    if (this.#pending.has(taskId)) throw hasClaim(taskId)
    if (this.#awaits.has(taskId)) {
      throw new FairleadError('InvalidState', `job ${taskId} awaits a proof already`, { taskId })
    }
    this.#await(lease)
  }

  /** The job ends otherwise. With a claim it cannot (CLAIM-1). */
  cancel(taskId: JobId): void {
    if (this.#pending.has(taskId)) throw hasClaim(taskId)
    this.#forget(taskId)
  }

  /**
   * `aicf.submitProof` (CLAIM-2). The verdict is that of `checkProof` at `nowMs`. A refusal is the `error` of the
   * answer and not thrown, because failed traps charge the provider all the same.
   */
  submit(
    terms: ClaimTerms,
    nowMs: number,
    check: (at: number) => ProofVerdict,
  ): { readonly error: FairleadError | null; readonly events: readonly ClaimEvent[] } {
    if (terms.hasChain) {
      throw new FairleadError(
        'InvalidState',
        'proofs come in blocks of the chain; send this one in a transaction',
      )
    }
    const events: ClaimEvent[] = []
    const verdict = check(nowMs)
    if (verdict.accepted === null) {
      this.#charge(verdict, nowMs, events)
      return { error: verdict.error, events }
    }
    const { accepted } = verdict
    const claim = this.#accept(
      accepted,
      {
        blockHeight: Math.floor(nowMs / 1_000),
        place: 0,
        txHash: accepted.envelopeHash,
        minerId: terms.minerId,
      },
      events,
    )
    this.#finalise(claim, claim.blockHeight, events)
    return { error: null, events }
  }

  /**
   * A block of the chain (CLAIM-3): first the claims of the blocks that it replaces are dropped, then its proofs are
   * checked in their order, then old claims are FINAL, then proofs are overdue. `check` may look at this object: it
   * is called when everything before its proof has taken effect.
   */
  applyBlock<Item>(
    terms: ClaimTerms,
    nowMs: number,
    block: Block<Item>,
    check: (item: Item, at: number) => ProofVerdict,
  ): readonly ClaimEvent[] {
    if (!terms.hasChain) {
      throw new FairleadError(
        'InvalidState',
        'there is no chain; send proofs with aicf.submitProof',
      )
    }
    this.#refuseMisplaced(block)
    const events: ClaimEvent[] = []
    const at = Math.min(block.timeMs, nowMs)
    this.#drop(block.height, nowMs, events)
    block.proofs.forEach(({ item, txHash }, place) => {
      const verdict = check(item, at)
      if (verdict.accepted === null) {
        this.#charge(verdict, at, events)
        events.push({ type: 'refused', taskId: verdict.taskId, place, error: verdict.error })
        return
      }
      const { height: blockHeight, minerId } = block
      this.#accept(verdict.accepted, { blockHeight, place, txHash, minerId }, events)
    })
    this.#head = block.height
    const final = block.height - terms.finalityK
    this.#finalHeight = Math.max(this.#finalHeight ?? final, final)
    this.#finaliseUpTo(this.#finalHeight, terms.finalityK, events)
    const overdue = this.#takeOverdue(at, terms).sort((a, b) => compareAscii(a.taskId, b.taskId))
    for (const { taskId, leaseId } of overdue) {
      events.push({ type: 'proofInvalid', taskId, leaseId, reason: 'timeout', traps: null, at })
    }
    return events
  }

  /** When the next proof is overdue. With a chain only blocks tell (CLAIM-6), so there is no such time. */
  nextDueAt(terms: ClaimTerms): number | null {
    const next = this.#due.top()
    return next === undefined || terms.hasChain ? null : next.since + terms.proofTimeoutMs
  }

  /** Without a chain: the proofs that are overdue by `untilMs`, each at its own time. */
  expire(terms: ClaimTerms, untilMs: number): readonly ClaimEvent[] {
    if (terms.hasChain) return []
    return this.#takeOverdue(untilMs, terms).map(({ taskId, leaseId, since }) => {
      const at = since + terms.proofTimeoutMs
      return { type: 'proofInvalid', taskId, leaseId, reason: 'timeout', traps: null, at }
    })
  }

  /** The dispatcher was away for so long: its downtime is charged to nobody. */
  shift(gapMs: number): void {
    for (const one of this.#awaits.values()) one.since += gapMs
  }

  state(): ClaimsState {
    const awaits = [...this.#awaits.values()].sort(compareAwaits).map(plainAwait)
    return { awaits, pending: [...this.#pending.values()], ...this.chain }
  }

  #await({ taskId, leaseId, kind, since, unitMs }: Await): void {
    const one = { taskId, leaseId, kind, since, unitMs, heapIndex: -1 }
    this.#awaits.set(taskId, one)
    this.#due.add(one)
  }

  #forget(taskId: JobId): Awaiting | null {
    const one = this.#awaits.get(taskId)
    if (one === undefined) return null
    this.#awaits.delete(taskId)
    this.#due.remove(one)
    return one
  }

  #hold(claim: Claim): void {
    this.#pending.set(claim.taskId, claim)
    this.#nullifiers.add(claim.nullifier)
  }

  #release({ taskId, nullifier }: Claim): void {
    this.#pending.delete(taskId)
    this.#nullifiers.delete(nullifier)
  }

  #accept(
    accepted: NonNullable<ProofVerdict['accepted']>,
    place: Pick<Claim, 'blockHeight' | 'place' | 'txHash' | 'minerId'>,
    events: ClaimEvent[],
  ): Claim {
    const { taskId, leaseId, nullifier } = accepted
    const awaited = this.#forget(taskId)
    invariant(awaited?.leaseId === leaseId, 'an accepted proof is of the lease that awaits it')
    const key = { taskId, height: place.blockHeight, nullifier: fromHex(nullifier) as Uint8Array }
    const { unitMs } = awaited
    const claim: Claim = { ...accepted, ...place, claimKey: claimKey(key), unitMs }
    this.#hold(claim)
    events.push({ type: 'accepted', taskId, claim })
    return claim
  }

  /** Failed traps are the provider's own signed word, so no reorganisation undoes the charge (PROOF-7). */
  #charge(verdict: ProofVerdict & { accepted: null }, at: number, events: ClaimEvent[]): void {
    const { taskId, failedTraps: traps } = verdict
    const awaited = traps !== null && taskId !== null ? this.#forget(taskId) : null
    if (awaited === null || taskId === null) return
    const { leaseId } = awaited
    events.push({ type: 'proofInvalid', taskId, leaseId, reason: 'traps', traps, at })
  }

  #refuseMisplaced({ height, timeMs }: Block<unknown>): void {
    wholeNumber('height', height, { min: 0 })
    wholeNumber('time', timeMs, { min: 0 })
    if (this.#head === null || this.#finalHeight === null) return
    if (height > this.#head + 1) {
      throw invalidParams('height', `at most ${this.#head + 1}, one above the head`, `${height}`)
    }
    if (height > this.#finalHeight) return
    throw new FairleadError(
      'InvalidState',
      `block ${height} would replace a final one; everything up to ${this.#finalHeight} is final`,
      { height, finalHeight: this.#finalHeight },
    )
  }

  /** Drops the claims from this height on, the last first (CLAIM-4). */
  #drop(height: number, nowMs: number, events: ClaimEvent[]): void {
    if (this.#head === null || height > this.#head) return
    for (const claim of [...this.#pending.values()].reverse()) {
      if (claim.blockHeight < height) return
      this.#release(claim)
      const { taskId, leaseId, kind, unitMs } = claim
      this.#await({ taskId, leaseId, kind, since: nowMs, unitMs })
      events.push({ type: 'dropped', taskId, claim })
    }
  }

  #finaliseUpTo(height: number, finalityK: number, events: ClaimEvent[]): void {
    for (const claim of this.#pending.values()) {
      if (claim.blockHeight > height) return
      this.#finalise(claim, claim.blockHeight + finalityK, events)
    }
  }

  #finalise(claim: Claim, finalizedHeight: number, events: ClaimEvent[]): void {
    this.#release(claim)
    events.push({ type: 'final', taskId: claim.taskId, claim, finalizedHeight })
  }

  #takeOverdue(untilMs: number, { proofTimeoutMs }: ClaimTerms): Await[] {
    const overdue: Await[] = []
    for (;;) {
      const next = this.#due.top()
      if (next === undefined || next.since + proofTimeoutMs > untilMs) return overdue
      this.#forget(next.taskId)
      overdue.push(next)
    }
  }
}

const EMPTY: ClaimsState = { awaits: [], pending: [], head: null, finalHeight: null }

/** An await in the heap. */
interface Awaiting extends Await, IndexedItem {
  since: number
}

function compareAwaits(a: Awaiting, b: Awaiting): number {
  return a.since - b.since || compareAscii(a.taskId, b.taskId)
}

function plainAwait({ taskId, leaseId, kind, since, unitMs }: Awaiting): Await {
  return { taskId, leaseId, kind, since, unitMs }
}

function hasClaim(taskId: JobId): FairleadError {
  return new FairleadError('InvalidState', `job ${taskId} has a claim and ends with it`, { taskId })
}
