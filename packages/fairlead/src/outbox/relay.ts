import type { EnqueueRequest } from '@fairlead/client'
import { FairleadError } from '@fairlead/core/errors'
import type { Moved, RowSource, WaitingRow } from './row-source.ts'
import { untilWoken } from './until-woken.ts'

/** Where jobs go: a client, a queue, or anything else that takes requests and answers when they are durable. */
export interface RequestSink {
  enqueue(request: EnqueueRequest): Promise<unknown>
}

export interface RelayOptions {
  /** Rows that are sent at once; 200 if left out. */
  readonly batch?: number
  /** How long the relay waits before it looks again for new rows; 200 ms if left out. */
  readonly pollMs?: number
  /** Hears of each row that was refused for good. */
  readonly onRefused?: (row: RefusedRow, error: FairleadError) => void
  /** Hears of everything that holds the relay up; it goes on by itself. */
  readonly onError?: (error: unknown) => void
}

export interface RefusedRow {
  readonly id: string
  readonly key: string
  /** As it is in the table. */
  readonly request: string
}

/** The rows that a relay has settled since its start. */
export interface RelayCounts {
  readonly answered: number
  readonly refused: number
}

export interface Relay {
  readonly counts: RelayCounts
  /**
   * Resolves when a look that began after the call found no more rows, in PostgreSQL not with another relay either.
   * Rejects with what holds the relay up.
   */
  idle(): Promise<void>
  /** Finishes the rows that are on their way, for at most `graceMs` (10 s); the rest stays in the table. */
  stop(graceMs?: number): Promise<void>
}

const BATCH = 200
const POLL_MS = 200
const GRACE_MS = 10_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000

/** Codes that say that this request will never be taken. Everything else is tried again. */
const REFUSALS: ReadonlySet<string> = new Set([
  'InvalidParams',
  'LimitExceeded',
  'IdempotencyConflict',
  'NotFound',
])

interface Looker {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Moves rows to a server, batch after batch. A row is removed only after its answer, so one whose answer was lost is
 * sent again; its key makes that harmless.
 */
export class RowRelay implements Relay {
  readonly #rows: RowSource
  readonly #sink: RequestSink
  readonly #options: Required<RelayOptions>
  #isStopping = false
  /** Ends the pause between two looks. */
  #nudge = new AbortController()
  /** No more waiting for answers. */
  readonly #cutting = new AbortController()
  readonly #ended: Promise<void>
  #counts: RelayCounts = { answered: 0, refused: 0 }
  #lookers: Looker[] = []
  #heldUpBy: unknown = null

  constructor(rows: RowSource, sink: RequestSink, options: RelayOptions = {}) {
    this.#rows = rows
    this.#sink = sink
    const silent = (): void => {}
    const { batch = BATCH, pollMs = POLL_MS, onRefused = silent, onError = warn } = options
    this.#options = { batch, pollMs, onRefused, onError }
    this.#ended = this.#run()
  }

  get counts(): RelayCounts {
    return this.#counts
  }

  idle(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#lookers.push({ resolve, reject })
      this.#nudge.abort()
    })
  }

  async stop(graceMs = GRACE_MS): Promise<void> {
    this.#isStopping = true
    this.#nudge.abort()
    const timer = setTimeout(() => this.#cutting.abort(), graceMs)
    await this.#ended
    clearTimeout(timer)
  }

  async #run(): Promise<void> {
    let failures = 0
    while (!this.#isStopping) {
      this.#nudge = new AbortController()
      const lookers = this.#lookers
      this.#lookers = []
      try {
        const taken = await this.#turn()
        failures = 0
        const isIdle = taken === 0 && lookers.length > 0 && (await this.#rows.isEmpty())
        if (isIdle) for (const { resolve } of lookers) resolve()
        else this.#lookers.unshift(...lookers)
        if (!taken) await this.#rows.wait(this.#options.pollMs, this.#nudge.signal)
      } catch (error) {
        for (const { reject } of lookers) reject(error)
        this.#options.onError(error)
        const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures)
        failures = Math.min(failures + 1, 10)
        await this.#pause(pauseMs)
      }
    }
    for (const { reject } of this.#lookers) reject(new FairleadError('SchedulerClosed', STOPPED))
  }

  /** A call of `idle` does not shorten it: the trouble is not over because somebody asks. */
  async #pause(ms: number): Promise<void> {
    const until = performance.now() + ms
    for (let left = ms; left > 0 && !this.#isStopping; left = until - performance.now()) {
      this.#nudge = new AbortController()
      await untilWoken(left, this.#nudge.signal)
    }
  }

  /** Throws what held rows up, after the others were settled. */
  async #turn(): Promise<number | null> {
    this.#heldUpBy = null
    let tell = (): void => {}
    const taken = await this.#rows.turn(this.#options.batch, async (rows) => {
      const moved = await this.#move(rows)
      tell = () => this.#tell(rows, moved)
      return moved
    })
    // Only now the table has it.
    tell()
    if (this.#heldUpBy !== null) throw this.#heldUpBy
    return taken
  }

  async #move(rows: readonly WaitingRow[]): Promise<Moved> {
    const answered: string[] = []
    const refused: { id: string; error: FairleadError }[] = []
    const send = async (row: WaitingRow): Promise<void> => {
      try {
        await this.#sink.enqueue(requestOf(row))
        answered.push(row.id)
      } catch (error) {
        if (isRefusal(error)) refused.push({ id: row.id, error })
        else this.#heldUpBy ??= error
      }
    }
    await untilAllOrAbort(rows.map(send), this.#cutting.signal)
    // Answers that come later are not looked at any more.
    return { answered: [...answered], refused: [...refused] }
  }

  #tell(rows: readonly WaitingRow[], { answered, refused }: Moved): void {
    this.#counts = {
      answered: this.#counts.answered + answered.length,
      refused: this.#counts.refused + refused.length,
    }
    for (const { id, error } of refused) {
      const row = rows.find((each) => each.id === id) as WaitingRow
      this.#options.onRefused(row, error)
    }
  }
}

const STOPPED = 'the relay was stopped; start another'

function requestOf({ request, key }: WaitingRow): EnqueueRequest {
  let written: unknown
  try {
    written = JSON.parse(request)
  } catch (error) {
    throw new FairleadError('InvalidParams', `request: expected JSON; ${(error as Error).message}`)
  }
  if (typeof written !== 'object' || written === null || Array.isArray(written)) {
    throw new FairleadError('InvalidParams', 'request: expected the params of aicf.enqueue')
  }
  return { ...(written as EnqueueRequest), idempotency_key: key }
}

/** By its code and not its class: the sink may have a copy of the package of its own. */
function isRefusal(error: unknown): error is FairleadError {
  const code = (error as { readonly code?: unknown } | null)?.code
  return typeof code === 'string' && REFUSALS.has(code)
}

function untilAllOrAbort(all: readonly Promise<void>[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      signal.removeEventListener('abort', end)
      resolve()
    }
    signal.addEventListener('abort', end)
    void Promise.all(all).then(end)
  })
}

function warn(error: unknown): void {
  console.warn(`fairlead outbox: ${error instanceof Error ? error.message : String(error)}`)
}
