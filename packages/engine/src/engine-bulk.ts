import { type Caller, FairleadError, type JobRow, type JobStatus, toHex } from '@fairlead/core'
import {
  BULK_ID,
  BULK_LIMIT_MAX,
  BULK_STEP_MAX,
  type BulkAction,
  type BulkRun,
  invalidParams,
  type StoreReads,
  wholeNumber,
} from '@fairlead/core/internal'
import { type BulkFilter, filterText } from './bulk/bulk-filter.ts'
import type { BulkRunner } from './bulk/bulk-runner.ts'
import { isEligible, retryRequest } from './bulk/retry-request.ts'
import { checkFilter } from './commands/check-arguments.ts'
import type { EngineLoop } from './loop/engine-loop.ts'
import { rowWaitsFor, statusWithReason } from './view/wait-reason.ts'

export interface BulkRequest {
  readonly action: BulkAction
  /** At least one field. */
  readonly filter: BulkFilter
  /** A caller touches its own jobs only. */
  readonly by: Caller | 'operator'
  /** The most jobs to touch. */
  readonly limit?: number
  /** The same again is the same run; random if left out. */
  readonly id?: string
}

/** Jobs by status: those that fit a filter, and those of them that a run would touch. */
export interface BulkCount {
  readonly status: JobStatus
  readonly matches: number
  readonly eligible: number
}

/** Cancels or retries many jobs at once. */
export class EngineBulk {
  readonly #loop: EngineLoop
  readonly #read: StoreReads
  readonly #runner: BulkRunner
  readonly #random: () => Uint8Array

  constructor(parts: {
    readonly loop: EngineLoop
    readonly read: StoreReads
    readonly runner: BulkRunner
    readonly random: () => Uint8Array
  }) {
    this.#loop = parts.loop
    this.#read = parts.read
    this.#runner = parts.runner
    this.#random = parts.random
  }

  /** Starts a run. Resolves once it is durable; it goes on by itself, through restarts. */
  async start(asked: BulkRequest, actor: string): Promise<BulkRun> {
    const filter = ownFilter(asked)
    const { action, by, limit = BULK_LIMIT_MAX, id = toHex(this.#random()).slice(2, 34) } = asked
    wholeNumber('limit', limit, { min: 1, max: BULK_LIMIT_MAX })
    if (typeof id !== 'string' || !BULK_ID.test(id)) {
      throw invalidParams('operation_id', '1 to 64 of A–Z, a–z, 0–9, dot, dash and underscore')
    }
    const command = {
      type: 'startBulk',
      id,
      action,
      by,
      filter: filterText(filter),
      limit,
    } as const
    const run = (await this.#loop.submit({ ...command, actor })) as BulkRun
    this.#runner.start()
    return run
  }

  get(id: string): BulkRun | null {
    return this.#loop.state.market.bulk.get(id)
  }

  /** Counts what a run would meet now, and touches nothing. */
  async count(asked: Pick<BulkRequest, 'action' | 'filter' | 'by'>): Promise<BulkCount[]> {
    const { waitReason, ...filter } = ownFilter(asked)
    const status = statusWithReason(waitReason, filter.status)
    const counts = new Map<JobStatus, { matches: number; eligible: number }>()
    let afterSeq = 0
    for (;;) {
      const page = await this.#read.jobs({ ...filter, ...status, afterSeq, limit: BULK_STEP_MAX })
      const erased = await this.#withoutPayload(asked.action, page)
      for (const row of page) {
        if (waitReason !== undefined && rowWaitsFor(this.#loop.state.market, row) !== waitReason)
          continue
        const count = counts.get(row.status) ?? { matches: 0, eligible: 0 }
        count.matches++
        if (isEligible(asked.action, row) && !erased.has(row.seq)) count.eligible++
        counts.set(row.status, count)
      }
      const last = page.at(-1)
      if (last === undefined || page.length < BULK_STEP_MAX) break
      afterSeq = last.seq
    }
    return [...counts]
      .map(([status, count]) => ({ status, ...count }))
      .sort((a, b) => (a.status < b.status ? -1 : 1))
  }

  /** Registrations whose payload was erased. */
  async #withoutPayload(action: BulkAction, rows: readonly JobRow[]): Promise<ReadonlySet<number>> {
    const asked = action === 'cancel' ? [] : rows.filter(({ kind }) => kind === 'registration')
    if (asked.length === 0) return new Set()
    const payloads = await this.#read.payloads(asked.map(({ seq }) => seq))
    const gone = asked.filter((row, i) => retryRequest(row, payloads[i] ?? null, '') === null)
    return new Set(gone.map(({ seq }) => seq))
  }
}

/** A filter without a field would fit every job, which is mostly a mistake. */
function ownFilter({
  action,
  filter,
  by,
}: Pick<BulkRequest, 'action' | 'filter' | 'by'>): BulkFilter {
  checkFilter(filter)
  if (action === 'retry' && filter.waitReason !== undefined) {
    throw invalidParams('wait_reason', 'none; a retry touches jobs that have ended')
  }
  statusWithReason(filter.waitReason, filter.status)
  if (Object.values(filter).every((value) => value === undefined)) {
    throw invalidParams(
      'filter',
      `at least one field, such as status; ${action} touches all that fit`,
    )
  }
  if (by === 'operator') return filter
  if (filter.caller === undefined || filter.caller === by) return { ...filter, caller: by }
  throw new FairleadError('Forbidden', 'caller: a requester acts on its own jobs only', {
    caller: filter.caller,
  })
}
