import { type Clock, FairleadError, NO_BATCH } from '@fairlead/core'
import {
  type CloseInput,
  type Closing,
  type ComputedClose,
  epochOf,
  type Fund,
} from '@fairlead/core/internal'
import type { Submission } from '../commands/command.ts'
import type { EngineState } from '../state/engine-state.ts'

/** Computes the batch of an epoch, here or in another thread. */
export type ComputeClose = (input: CloseInput & Closing) => ComputedClose | Promise<ComputedClose>

/** The newest durable entry of the audit log. */
interface Anchor {
  readonly auditSeq: number
  readonly auditHead: string
}

/** How long to wait after a store that refused, before the close goes on. */
const RETRY_MS = 250

/**
 * Closes epochs after their end, the oldest first (SETTLE-22). A close is two commands: one freezes its input, then the
 * batch is computed beside the loop, and the second brings it into the books. A close that a restart cut off goes on.
 */
export class EpochCloser {
  readonly #clock: Clock
  readonly #state: () => EngineState
  readonly #submit: (command: Submission) => Promise<unknown>
  readonly #newestEntry: () => Promise<{ readonly seq: number; readonly hash: string } | null>
  readonly #compute: ComputeClose
  #running: Promise<void> | null = null
  #cancelWake: (() => void) | null = null
  #wakeAt = Number.POSITIVE_INFINITY
  #isStopped = false

  constructor(options: {
    readonly clock: Clock
    readonly state: () => EngineState
    readonly submit: (command: Submission) => Promise<unknown>
    readonly newestEntry: () => Promise<{ readonly seq: number; readonly hash: string } | null>
    readonly compute: ComputeClose
  }) {
    this.#clock = options.clock
    this.#state = options.state
    this.#submit = options.submit
    this.#newestEntry = options.newestEntry
    this.#compute = options.compute
  }

  /** Something may have happened in the fund. It costs next to nothing where there is none. */
  look(): void {
    if (this.#isStopped || this.#running !== null || !this.#fund.hasOpen) return
    if (this.#fund.closing !== null || this.#next() !== null) void this.#start(() => this.#next())
    else this.#wake(this.#epochEnd())
  }

  /** Closes this epoch and all before it. Throws if it is not over, or if the engine stops before it is closed. */
  async closeUpTo(epochId: number, actor: string | undefined): Promise<void> {
    // Several callers may wait for the same close; the first of them starts the next one.
    while (this.#running !== null) await this.#running
    await this.#start(() => {
      const { lastClosed } = this.#fund.epochs
      const next = this.#next()
      if (next !== null && next <= epochId) return next
      return lastClosed === null || lastClosed < epochId ? epochId : null
    }, actor)
    const { lastClosed } = this.#fund.epochs
    if (lastClosed === null || lastClosed < epochId) {
      throw new FairleadError('StoreUnavailable', 'the engine is closed; open it again')
    }
    // Another caller may have closed it, and that may not be stored. This changes nothing, and is answered after it.
    await this.#submit({ type: 'closeEpoch', epochId, auditSeq: 0, auditHead: NO_BATCH, actor })
  }

  /** Resolves when no close is under way. */
  async rest(): Promise<void> {
    await this.#running?.catch(() => undefined)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelWake?.()
    await this.rest()
  }

  get #fund(): Fund {
    return this.#state().market.fund
  }

  #next(): number | null {
    const { policy, nowMs } = this.#state().market
    return this.#fund.nextClose(epochOf(Math.max(this.#clock.now(), nowMs), policy))
  }

  #epochEnd(): number {
    const { policy } = this.#state().market
    const current = epochOf(this.#clock.now(), policy)
    return 1_000 * policy.queue.quotas.epochSecs * (current + 1)
  }

  /** Closes epoch after epoch until `next` has none. An actor gets the error; the engine itself tries again. */
  async #start(next: () => number | null, actor?: string): Promise<void> {
    const isOwn = actor === undefined
    const run = this.#run(next, actor)
    this.#running = run.catch(() => undefined)
    try {
      await run
    } catch (error) {
      if (!isOwn) throw error
      if (!(error instanceof FairleadError)) throw error
      this.#wake(this.#clock.now() + RETRY_MS)
    } finally {
      this.#running = null
      if (this.#wakeAt === Number.POSITIVE_INFINITY) this.look()
    }
  }

  async #run(next: () => number | null, actor: string | undefined): Promise<void> {
    while (!this.#isStopped) {
      if (this.#fund.closing === null) {
        const epochId = next()
        if (epochId === null) return
        const anchor = await this.#anchor()
        const isBegun = await this.#submit({ type: 'closeEpoch', epochId, ...anchor, actor })
        if (isBegun !== true) continue
      }
      await this.#finish()
    }
  }

  async #finish(): Promise<void> {
    const input = this.#fund.closingInput()
    if (input === null) return
    const { epochId } = input
    const computed = await this.#compute(input)
    const { batchId } = computed.effect
    await this.#submit({ type: 'settleEpoch', epochId, batchId, computed })
  }

  async #anchor(): Promise<Anchor> {
    const entry = await this.#newestEntry()
    return { auditSeq: entry?.seq ?? 0, auditHead: entry?.hash ?? NO_BATCH }
  }

  #wake(at: number): void {
    if (this.#isStopped || at >= this.#wakeAt) return
    this.#cancelWake?.()
    this.#wakeAt = at
    this.#cancelWake = this.#clock.wakeAt(at, () => {
      this.#wakeAt = Number.POSITIVE_INFINITY
      this.look()
    })
  }
}
