import type { WriteBatch } from '@fairlead/core/internal'
import { broken } from '../../violation.ts'
import type { Book } from '../book.ts'

/** Looks over deletions: nothing goes before its time, and people go at theirs. */
export class Retention {
  readonly #book: Book
  #erasedBefore = 0
  /** Jobs that ended before this time may have been deleted. */
  prunedBefore = Number.NEGATIVE_INFINITY

  constructor(book: Book) {
    this.#book = book
  }

  check({ eraseEnded, pruneEndedBefore, pruneResultsBefore }: WriteBatch, nowMs: number): void {
    if (eraseEnded !== null) this.#checkErase(eraseEnded, nowMs)
    if (pruneEndedBefore !== null) this.#checkJobs(pruneEndedBefore, nowMs)
    if (pruneResultsBefore !== null) this.#checkResults(pruneResultsBefore, nowMs)
    const { resultRetentionSecs } = this.#book.policy.queue.completion
    const isLeftOut = pruneEndedBefore !== null && pruneResultsBefore === null
    if (isLeftOut && resultRetentionSecs !== null)
      broken('result-kept', 'old results stay for good')
  }

  /** AUDIT-10: people are erased at their own time, and nobody is left out, whatever went wrong. */
  #checkErase({ from, before }: NonNullable<WriteBatch['eraseEnded']>, nowMs: number): void {
    const { audit, queue } = this.#book.policy
    const keptSecs = Math.max(queue.ttl.gcHorizonSecs, queue.quotas.requesterWindow?.secs ?? 0)
    const due = nowMs - 1_000 * Math.min(audit.piiRetentionSecs, keptSecs)
    if (before > due) broken('personal', `people were erased ${before - due} ms early`)
    if (from !== this.#erasedBefore) {
      broken('personal', `people were erased up to ${this.#erasedBefore}, and next from ${from} on`)
    }
    this.#erasedBefore = before
  }

  /** TTL-3: an ended job is kept for the horizon. */
  #checkJobs(before: number, nowMs: number): void {
    const due = nowMs - 1_000 * this.#book.policy.queue.ttl.gcHorizonSecs
    if (before > due) broken('job-lost', `ended jobs were deleted ${before - due} ms early`)
    this.prunedBefore = Math.max(this.prunedBefore, before)
  }

  /** STORE-10: a result goes with its job, or later. */
  #checkResults(before: number, nowMs: number): void {
    const { ttl, completion } = this.#book.policy.queue
    const { resultRetentionSecs } = completion
    if (resultRetentionSecs === null)
      broken('result-kept', 'results that stay for good are deleted')
    const due = nowMs - 1_000 * Math.max(ttl.gcHorizonSecs, resultRetentionSecs)
    if (before > due) broken('result-kept', `results were deleted ${before - due} ms early`)
  }
}
