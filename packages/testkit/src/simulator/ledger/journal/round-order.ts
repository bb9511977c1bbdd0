import type { RoundRow } from '@fairlead/core/internal'
import { broken } from '../../violation.ts'
import { type Book, type JobEntry, readyTs } from '../book.ts'
import { scoreOf } from '../rules/own-rules.ts'

/**
 * Looks over the order of one round for one kind. Two ready jobs of one class, with the same units and
 * no denial that the other has not, fit the same providers: so the first in order must go first. A
 * starvation pick may go before its turn, if it has waited longest of its class.
 */
export class RoundOrder {
  readonly #book: Book
  readonly #round: RoundRow
  readonly #ready = new Map<string, JobEntry[]>()
  /** Grants of the kind before the round. */
  readonly #grants: number
  #made = 0

  constructor(book: Book, round: RoundRow) {
    this.#book = book
    this.#round = round
    this.#grants = book.grants.get(round.kind) ?? 0
    for (const job of book.ready(round.kind, round.at)) {
      const alike = this.#ready.get(job.classKey)
      if (alike === undefined) this.#ready.set(job.classKey, [job])
      else alike.push(job)
    }
  }

  get isOver(): boolean {
    return this.#made === this.#round.assignments.length
  }

  /** The next assignment of the round, before it is booked. */
  assign(job: JobEntry): void {
    const place = this.#made++
    const alike = this.#ready.get(job.classKey) ?? []
    const index = alike.indexOf(job)
    if (index < 0) broken('order', `job ${job.facts.id} was not ready when its round began`)
    alike.splice(index, 1)
    const rivals = alike.filter((other) => isNoMoreDenied(other, job, this.#round.at))
    const longest = rivals.every((other) => hasWaitedLonger(job, other))
    if (this.#isPick(place, longest)) {
      if (longest) return
      broken(
        'order',
        `grant ${this.#grants + place + 1} is for the longest wait, not ${job.facts.id}`,
      )
    }
    const better = rivals.find((other) => this.#isBefore(other, job))
    if (better === undefined) return
    broken(
      'order',
      `job ${job.facts.id} was assigned before ${better.facts.id}, which stands before it`,
    )
  }

  /** ORDER-5. If the batch was not assigned as a whole, a place may be further back than it seems. */
  #isPick(place: number, mayBe: boolean): boolean {
    const { match, queue } = this.#book.policy
    if (match.fairness === 'tenant') return false
    const { batchSize, assignments } = this.#round
    const skipped = batchSize - assignments.length
    for (let i = 0; i <= skipped; i++) {
      const isPick = (this.#grants + place + i + 1) % queue.starvationK === 0
      if (isPick && (mayBe || skipped === 0)) return true
    }
    return false
  }

  #isBefore(a: JobEntry, b: JobEntry): boolean {
    const { at } = this.#round
    const { policy } = this.#book
    const ranks = priorityOf(a) - priorityOf(b)
    if (policy.match.fairness === 'tenant' && ranks !== 0) return ranks > 0
    const [readyA, readyB] = [readyTs(a), readyTs(b)]
    const scores =
      scoreOf({ ...a.facts, enqueueTs: readyA }, at, policy) -
      scoreOf({ ...b.facts, enqueueTs: readyB }, at, policy)
    if (scores !== 0) return scores > 0
    if (readyA !== readyB) return readyA < readyB
    const { fairness, ties } = policy.match
    if (ties === 'arrival') return a.facts.seq < b.facts.seq
    // By score these are a tie, which the seed decides (MATCH-8).
    return fairness === 'tenant' && a.facts.id < b.facts.id
  }
}

/** Whatever may take `job` may take `other` too. */
function isNoMoreDenied(other: JobEntry, job: JobEntry, atMs: number): boolean {
  for (const [provider, until] of other.denials) {
    if (until > atMs && (job.denials.get(provider) ?? 0) <= atMs) return false
  }
  return true
}

function hasWaitedLonger(a: JobEntry, b: JobEntry): boolean {
  const [readyA, readyB] = [readyTs(a), readyTs(b)]
  return readyA !== readyB ? readyA < readyB : a.facts.id < b.facts.id
}

function priorityOf({ facts }: JobEntry): number {
  return facts.options?.priority ?? 0
}
