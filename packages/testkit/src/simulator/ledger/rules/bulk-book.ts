import type { JobId } from '@fairlead/core'
import type { Command } from '@fairlead/engine'
import { broken } from '../../violation.ts'
import type { Book } from '../book.ts'
import type { Details } from '../journal/journal-reader.ts'

const STEP_MAX = 250

interface Run {
  readonly caller: unknown
  readonly action: unknown
  readonly limit: number
  readonly filter: Readonly<Record<string, unknown>>
  /** Jobs accepted before it began. */
  readonly uptoSeq: number
  readonly touched: Set<JobId>
  hasEnded: boolean
}

/** What bulk runs may touch, by the journal and the recorded steps (BULK-1 to BULK-4). */
export class BulkBook {
  readonly #runs = new Map<string, Run>()

  start(id: string, details: Details, accepted: number): void {
    const { caller, action, limit, filter } = details
    if (this.#runs.has(id)) broken('bulk', `the run ${id} begins twice`)
    this.#runs.set(id, {
      caller,
      action,
      limit: Number(limit),
      filter: JSON.parse(filter as string) as Run['filter'],
      uptoSeq: accepted,
      touched: new Set(),
      hasEnded: false,
    })
  }

  /** A recorded step, before its rows. The run may begin in the same batch. */
  step({ id, ids }: Extract<Command, { type: 'stepBulk' }>, book: Book): void {
    if (ids.length > STEP_MAX) broken('bulk', `a step of ${id} names ${ids.length} jobs`)
    const run = this.#runs.get(id)
    if (run === undefined) return
    for (const jobId of ids) {
      if (run.touched.has(jobId)) broken('bulk', `the run ${id} touches ${jobId} twice`)
      run.touched.add(jobId)
      const facts = book.jobs.get(jobId)?.facts
      if (facts === undefined) continue
      if (facts.seq > run.uptoSeq) broken('bulk', `the run ${id} touches the newer job ${jobId}`)
      if (run.caller !== null && facts.caller !== run.caller) {
        broken('bulk', `the run ${id} touches ${jobId} of somebody else`)
      }
      const { kind } = run.filter
      if (kind !== undefined && facts.kind !== kind) broken('bulk', `${jobId} does not fit ${id}`)
    }
    if (run.touched.size > run.limit) {
      broken('bulk', `the run ${id} touches ${run.touched.size} jobs of ${run.limit}`)
    }
  }

  goOn(id: string, isLast: boolean): void {
    const run = this.#runs.get(id)
    if (run === undefined || run.hasEnded) broken('bulk', `the run ${id} goes on after its end`)
    run.hasEnded = isLast
  }

  /** A job that takes up another belongs to the same caller, and the other has ended. */
  checkRetry(details: Details, book: Book): void {
    const { jobId, retryOf } = details
    const old = retryOf === undefined ? undefined : book.jobs.get(retryOf as JobId)
    if (old === undefined) return
    const facts = book.jobs.get(jobId as JobId)?.facts
    if (facts?.caller !== old.facts.caller) broken('bulk', `${String(jobId)} changed its caller`)
    if (old.endedAt === null) broken('bulk', `${String(jobId)} retries a job that is alive`)
  }

  /** A run that has not ended; null if all have. */
  unfinished(): string | null {
    for (const [id, { hasEnded }] of this.#runs) if (!hasEnded) return id
    return null
  }
}
