import type { Caller } from '../encoding/ids.ts'
import { compareText } from '../encoding/text.ts'
import { FairleadError } from '../errors.ts'

export const BULK_ACTIONS = ['cancel', 'retry'] as const
export type BulkAction = (typeof BULK_ACTIONS)[number]

/** The most jobs that one command of a run names. */
export const BULK_STEP_MAX = 250
/** The most jobs that one run touches. */
export const BULK_LIMIT_MAX = 1_000_000
export const BULK_ID = /^[A-Za-z0-9_.-]{1,64}$/
const RUNNING_MAX = 100
const ENDED_KEPT = 1_000

/** One action on all jobs that fit a filter (BULK-1). */
export interface BulkRun {
  readonly id: string
  readonly action: BulkAction
  /** The party whose rights it has. */
  readonly by: Caller | 'operator'
  readonly actor: string
  /** The filter, as JSON. */
  readonly filter: string
  /** The most jobs to touch. */
  readonly limit: number
  /** Only jobs that were accepted up to this number. */
  readonly uptoSeq: number
  /** All jobs up to this number of acceptance have been looked at. */
  readonly afterSeq: number
  /** Jobs that were cancelled, or enqueued again. */
  readonly done: number
  /** Jobs that it looked at and left as they were. */
  readonly skipped: number
  readonly startedAt: number
  readonly endedAt: number | null
}

/** The runs under way, and the newest of those that have ended, so that a repeated call finds its run. */
export class BulkRuns {
  readonly #byId: Map<string, BulkRun>

  constructor(runs: readonly BulkRun[] = []) {
    this.#byId = new Map(runs.map((run) => [run.id, run]))
  }

  get(id: string): BulkRun | null {
    return this.#byId.get(id) ?? null
  }

  /** In order of their start. */
  list(): BulkRun[] {
    return [...this.#byId.values()].sort(
      (a, b) => a.startedAt - b.startedAt || compareText(a.id, b.id),
    )
  }

  running(): BulkRun[] {
    return this.list().filter(({ endedAt }) => endedAt === null)
  }

  /** Adds a run, and returns those that are forgotten for it. */
  add(run: BulkRun): readonly BulkRun[] {
    const all = this.list()
    const ended = all.filter(({ endedAt }) => endedAt !== null)
    if (all.length - ended.length >= RUNNING_MAX) {
      throw new FairleadError(
        'LimitExceeded',
        `${RUNNING_MAX} bulk operations are under way; wait for the end of one of them`,
        { limit: 'bulk_operations', max: RUNNING_MAX, observed: RUNNING_MAX + 1 },
      )
    }
    const forgotten = ended.slice(0, Math.max(0, ended.length - ENDED_KEPT + 1))
    for (const { id } of forgotten) this.#byId.delete(id)
    this.#byId.set(run.id, run)
    return forgotten
  }

  set(run: BulkRun): void {
    this.#byId.set(run.id, run)
  }
}
