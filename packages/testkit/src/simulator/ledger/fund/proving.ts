import { claimKey, type ErrorCode, type JobId, type Policy, type ProviderId } from '@fairlead/core'
import { broken } from '../../violation.ts'
import type { Book, JobEntry, LeaseEntry } from '../book.ts'
import { type Envelope, readEnvelope, type Traps } from './envelope.ts'

/** A completed lease that waits for its proof, or for its claim to be FINAL. */
export interface Proving {
  readonly lease: LeaseEntry
  /** From then on the proof timeout runs. */
  since: number
  readonly unitMs: number
  /** The completion: nobody may read it before the claim is FINAL. */
  readonly said: {
    readonly units: number
    readonly output: Uint8Array | null
    readonly contentType: string | null
  }
  claim: ClaimEntry | null
}

export interface ClaimEntry {
  readonly job: JobEntry
  readonly claimKey: string
  readonly nullifier: string
  readonly envelopeHash: string
  readonly blockHeight: number
  readonly place: number
  readonly minerId: string
  readonly unitsPpm: bigint
  readonly traps: Traps | null
}

/** What a command has to bring about, in this order; the journal has to tell of it. */
export type Step =
  | { readonly type: 'accepted'; readonly claim: ClaimEntry }
  | { readonly type: 'dropped'; readonly claim: ClaimEntry }
  | { readonly type: 'invalid'; readonly job: JobEntry; readonly traps: Traps | null }
  | { readonly type: 'final'; readonly claim: ClaimEntry; readonly finalizedHeight: number }

/** What must be said of a proof; null if it is to be accepted. */
export type Verdict =
  | { readonly code: null; readonly job: JobEntry; readonly envelope: Envelope }
  | { readonly code: ErrorCode; readonly job: JobEntry | null; readonly failed: Traps | null }

export interface BlockFacts {
  readonly height: number
  readonly timeMs: number
  readonly minerId: string
  readonly proofs: readonly { readonly item: { readonly envelope: Uint8Array } }[]
}

const TYPE_IDS: Readonly<Record<string, number>> = { ai: 2, quantum: 3 }
const NO_HASH = `0x${'0'.repeat(64)}`

/** PROOF-5, CLAIM-1 to CLAIM-6 once more: who awaits a proof, and what becomes of those that come. */
export class Provings {
  readonly #book: Book
  readonly #all = new Set<JobEntry>()
  /** Nullifiers of FINAL claims. */
  readonly #used = new Set<string>()
  /** Jobs that ever had a claim. */
  readonly everClaimed = new Set<JobId>()
  /** How often something changed about a job. */
  readonly changes = new Map<JobId, number>()
  head: number | null = null
  finalHeight: number | null = null

  constructor(book: Book) {
    this.#book = book
  }

  get all(): ReadonlySet<JobEntry> {
    return this.#all
  }

  /** PENDING claims by block and place. */
  get pending(): ClaimEntry[] {
    const claims = [...this.#all].flatMap(({ proving }) =>
      proving?.claim == null ? [] : [proving.claim],
    )
    return claims.sort((a, b) => a.blockHeight - b.blockHeight || a.place - b.place)
  }

  begin(job: JobEntry, proving: Proving): void {
    job.proving = proving
    this.#all.add(job)
    this.#note(job)
  }

  /** It was charged, cancelled or is FINAL. */
  end(job: JobEntry): void {
    job.proving = null
    this.#all.delete(job)
    this.#note(job)
  }

  /** The engine was away for so long, which is charged to nobody. */
  resumed(gapMs: number): void {
    for (const { proving } of this.#all) if (proving?.claim === null) proving.since += gapMs
  }

  /** When the proof of a job is overdue by itself: with a chain only blocks tell. */
  dueAt({ proving }: JobEntry): number {
    const { policy } = this.#book
    if (proving === null || proving.claim !== null || hasChain(policy)) return Infinity
    return proving.since + timeoutMs(policy)
  }

  /** PROOF-5. */
  verdict(bytes: Uint8Array, by: ProviderId | null): Verdict {
    const refused = (
      code: ErrorCode,
      job: JobEntry | null = null,
      failed: Traps | null = null,
    ) => ({
      code,
      job,
      failed,
    })
    const envelope = readEnvelope(bytes)
    if (envelope === null) return refused('InvalidParams')
    if (envelope.nullifier !== envelope.ownNullifier) return refused('ClaimMismatch')
    const isPending = this.pending.some(({ nullifier }) => nullifier === envelope.nullifier)
    if (isPending || this.#used.has(envelope.nullifier)) return refused('NullifierReused')
    const job = this.#book.jobs.get(envelope.taskId)
    if (job === undefined) return refused('NotFound')
    const { proving } = job
    if (proving === null || proving.claim !== null) return refused('InvalidState', job)
    const { lease } = proving
    const { policy } = this.#book
    if (by !== null && by !== lease.provider.id) return refused('Forbidden', job)
    const isOfLease =
      envelope.typeId === TYPE_IDS[job.facts.kind] &&
      envelope.chainId === BigInt(policy.chain.id) &&
      envelope.leaseId === lease.id &&
      envelope.providerId === lease.provider.id &&
      envelope.outputDigest === lease.digest &&
      envelope.unitsPpm <= BigInt(policy.proof.unitsMaxPpm) * BigInt(job.facts.units)
    if (!isOfLease) return refused('ClaimMismatch', job)
    const { publicKey } = lease.provider.row
    const isSigned = publicKey !== null && envelope.isSignedBy(publicKey)
    if (!isSigned || envelope.attestationHash !== NO_HASH) return refused('AttestationError', job)
    const { traps } = envelope
    if (
      traps !== null &&
      traps.passed * 1_000_000n < BigInt(policy.proof.trapsMinPpm) * traps.shots
    )
      return refused('AttestationError', job, traps)
    return { code: null, job, envelope }
  }

  /** CLAIM-2: without a chain it is FINAL at once. */
  submit(bytes: Uint8Array, by: ProviderId | null, nowMs: number): Step[] {
    const { policy } = this.#book
    if (hasChain(policy)) broken('proof', 'a proof was taken outside of the blocks of the chain')
    const verdict = this.verdict(bytes, by)
    const height = Math.floor(nowMs / 1_000)
    const steps = this.#take(verdict, { height, place: 0, minerId: policy.chain.minerId })
    const [first] = steps
    if (first?.type !== 'accepted') return steps
    return [...steps, { type: 'final', claim: first.claim, finalizedHeight: height }]
  }

  /** CLAIM-3 to CLAIM-6: drops, proofs, finality, timeouts. */
  block({ height, timeMs, minerId, proofs }: BlockFacts, nowMs: number): Step[] {
    const { policy } = this.#book
    this.#refuseMisplaced(height)
    const at = Math.min(timeMs, nowMs)
    const dropped = this.pending.filter(({ blockHeight }) => blockHeight >= height).reverse()
    const steps = dropped.map((claim): Step => {
      const { job } = claim
      if (job.proving !== null) Object.assign(job.proving, { claim: null, since: nowMs })
      this.#note(job)
      return { type: 'dropped', claim }
    })
    for (const [place, { item }] of proofs.entries()) {
      steps.push(...this.#take(this.verdict(item.envelope, null), { height, place, minerId }))
    }
    const { finalityK } = policy.chain
    this.head = height
    this.finalHeight = Math.max(this.finalHeight ?? height - finalityK, height - finalityK)
    for (const claim of this.pending) {
      if (claim.blockHeight > this.finalHeight) continue
      steps.push({ type: 'final', claim, finalizedHeight: claim.blockHeight + finalityK })
    }
    const overdue = [...this.#all].filter(
      ({ proving }) => proving?.claim === null && proving.since + timeoutMs(policy) <= at,
    )
    for (const job of overdue.sort((a, b) => (a.facts.id < b.facts.id ? -1 : 1))) {
      this.#charging(job)
      steps.push({ type: 'invalid', job, traps: null })
    }
    return steps
  }

  /** Its result can be read from now on, and its nullifier is used for good. */
  finish({ job, nullifier }: ClaimEntry): void {
    if (this.#used.has(nullifier)) broken('proof', `nullifier ${nullifier} is paid twice`)
    this.#used.add(nullifier)
    this.end(job)
  }

  #take(
    verdict: Verdict,
    where: { readonly height: number; readonly place: number; readonly minerId: string },
  ): Step[] {
    if (verdict.code !== null) {
      const { job, failed: traps } = verdict
      if (job === null || traps === null) return []
      // A second one for the same job finds nothing that waits.
      if (job.proving !== null) this.#charging(job)
      return [{ type: 'invalid', job, traps }]
    }
    const { job, envelope } = verdict
    const { taskId, nullifier, envelopeHash, unitsPpm, traps } = envelope
    const bytes = Buffer.from(nullifier.slice(2), 'hex')
    const { height, place, minerId } = where
    const claim: ClaimEntry = {
      ...{ job, nullifier, envelopeHash, unitsPpm, traps, place, minerId, blockHeight: height },
      claimKey: claimKey({ taskId, height, nullifier: bytes }),
    }
    if (job.proving !== null) job.proving.claim = claim
    this.everClaimed.add(taskId)
    this.#note(job)
    return [{ type: 'accepted', claim }]
  }

  /** Until the journal tells of the charge nothing else may be taken for the job. */
  #charging(job: JobEntry): void {
    this.#all.delete(job)
    const { proving } = job
    job.charged = proving
    job.proving = null
    this.#note(job)
  }

  #refuseMisplaced(height: number): void {
    const { head, finalHeight } = this
    if (head !== null && height > head + 1)
      broken('chain', `block ${height} was taken after ${head}`)
    if (finalHeight !== null && height <= finalHeight)
      broken('chain', `block ${height} was taken, and ${finalHeight} is final`)
  }

  #note({ facts: { id } }: JobEntry): void {
    this.changes.set(id, (this.changes.get(id) ?? 0) + 1)
  }
}

export function hasChain({ chain }: Policy): boolean {
  return chain.source === 'blocks'
}

export function timeoutMs({ queue }: Policy): number {
  return 1_000 * queue.completion.proofTimeoutSecs
}

/** The work of this kind is proved. */
export function isProved(kind: string, { queue }: Policy): boolean {
  const { aiVerification, quantumVerification } = queue.completion
  return kind === 'ai'
    ? aiVerification === 'proof'
    : kind === 'quantum' && quantumVerification === 'proof'
}
