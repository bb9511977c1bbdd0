import { type Clock, FairleadError, type JobId, type JobRow } from '@fairlead/core'
import { BULK_STEP_MAX, type BulkRun, type StoreReads } from '@fairlead/core/internal'
import type { EnqueueRequest } from '../commands/command.ts'
import type { EngineLoop, EnqueueReply } from '../loop/engine-loop.ts'
import { rowWaitsFor, statusWithReason } from '../view/wait-reason.ts'
import { filterOf } from './bulk-filter.ts'
import { RetriedJobs, wavesOf } from './retried-jobs.ts'
import { isEligible, retryRequest } from './retry-request.ts'

/** How long a run waits when the engine or a full queue refuses for now. */
const WAIT_MS = 1_000

/**
 * Carries bulk runs on, step by step (BULK-2). A step names its jobs and counts only if the run stands where the step
 * begins, so a run that goes on after a crash touches no job twice. Jobs that a retry enqueues have keys of the run.
 */
export class BulkRunner {
  readonly #loop: EngineLoop
  readonly #read: StoreReads
  readonly #clock: Clock
  readonly #busy = new Set<string>()
  #isClosed = false
  readonly #stops = new Set<() => void>()

  constructor(parts: {
    readonly loop: EngineLoop
    /** Reads that see everything that was answered before. */
    readonly read: StoreReads
    readonly clock: Clock
  }) {
    this.#loop = parts.loop
    this.#read = parts.read
    this.#clock = parts.clock
  }

  /** Goes on with all runs that have not ended. */
  start(): void {
    for (const { id } of this.#loop.state.market.bulk.running()) void this.#carryOn(id)
  }

  /** The runs that have not ended go on when the engine is opened again. */
  close(): void {
    this.#isClosed = true
    for (const stop of this.#stops) stop()
  }

  async #carryOn(id: string): Promise<void> {
    if (this.#busy.has(id)) return
    this.#busy.add(id)
    try {
      for (;;) {
        const run = this.#loop.state.market.bulk.get(id)
        if (run === null || run.endedAt !== null || this.#isClosed) return
        try {
          await this.#step(run)
        } catch {
          // The store is away, the queue is full, or the engine recovers: the same step is tried again.
          if (this.#isClosed || this.#loop.isClosed) return
          await this.#wait()
        }
      }
    } finally {
      this.#busy.delete(id)
    }
  }

  async #step(run: BulkRun): Promise<void> {
    const { id, action, afterSeq: from } = run
    const { waitReason, ...filter } = filterOf(run.filter)
    const status = statusWithReason(waitReason, filter.status)
    const page = await this.#read.jobs({
      ...filter,
      ...status,
      afterSeq: from,
      limit: BULK_STEP_MAX,
    })
    const seen = page.filter(({ seq }) => seq <= run.uptoSeq)
    const { market } = this.#loop.state
    const fitting = seen.filter(
      (row) => waitReason === undefined || rowWaitsFor(market, row) === waitReason,
    )
    const room = run.limit - run.done
    const chosen = fitting.filter((row) => isEligible(action, row)).slice(0, room)
    const isFull = chosen.length === room
    // A run that is full does not look any further.
    const rows = isFull ? fitting.filter(({ seq }) => seq <= (chosen.at(-1)?.seq ?? 0)) : fitting
    const ids = action === 'cancel' ? chosen.map((row) => row.id) : await this.#retry(run, chosen)
    const isLast = isFull || page.length < BULK_STEP_MAX || seen.length < page.length
    const to = (isFull ? rows : seen).at(-1)?.seq ?? from
    const looked = rows.length
    await this.#loop.submit({ type: 'stepBulk', id, from, to, looked, ids, isLast })
  }

  /** Enqueues the jobs again, and returns those that are there now. */
  async #retry(run: BulkRun, rows: readonly JobRow[]): Promise<JobId[]> {
    const anew = new RetriedJobs(run.id, this.#read)
    const done: JobId[] = []
    for (const wave of wavesOf(rows)) done.push(...(await this.#enqueueWave(wave, anew)))
    return done
  }

  /** The dependencies of these jobs were taken up before, if they are. */
  async #enqueueWave(rows: readonly JobRow[], anew: RetriedJobs): Promise<JobId[]> {
    const [payloads, dependencies] = await Promise.all([
      this.#read.payloads(rows.map(({ seq }) => seq)),
      anew.dependenciesOf(rows),
    ])
    const asked: { readonly row: JobRow; readonly request: EnqueueRequest }[] = []
    for (const [i, row] of rows.entries()) {
      const key = anew.keyOf(row.id)
      const request = retryRequest(row, payloads[i] ?? null, key, dependencies[i])
      if (request !== null) asked.push({ row, request: enqueueAgain(row, request) })
    }
    const answers = await this.#loop.submitMany<EnqueueReply>(asked.map(({ request }) => request))
    const refused = answers.find(
      (answer) => answer.status === 'rejected' && isForNow(answer.reason),
    )
    // The same keys are asked for again, so those that are enqueued stay one job each.
    if (refused?.status === 'rejected') throw refused.reason
    // A live job with the same dedupe key does the work, so nothing was enqueued.
    const isEnqueued = (answer: PromiseSettledResult<EnqueueReply> | undefined): boolean =>
      answer?.status === 'fulfilled' && typeof answer.value === 'string'
    return asked.flatMap(({ row }, i) => (isEnqueued(answers[i]) ? [row.id] : []))
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.#stops.delete(stop)
        resolve()
      }
      const cancel = this.#clock.wakeAt(this.#clock.now() + WAIT_MS, end)
      const stop = (): void => {
        cancel()
        end()
      }
      this.#stops.add(stop)
    })
  }
}

function enqueueAgain(
  { caller, tier, id }: JobRow,
  request: Readonly<Record<string, unknown>>,
): EnqueueRequest {
  const origin = { retryOf: id }
  return { type: 'enqueue', request, txHash: null, caller, tier, origin, before: 'unknown' }
}

function isForNow(reason: unknown): boolean {
  return reason instanceof FairleadError && reason.retryable
}
