import type { Clock } from '@fairlead/core'
import { invariant, type Log, type LogRecord } from '@fairlead/core/internal'
import { encodeBatch, type LogBatch } from './batch.ts'

/** How long to wait before a record that was refused is given again. */
const RETRY_MS = 250

interface Pending {
  readonly record: LogRecord
  readonly stored: (since: number) => void
  readonly since: number
}

/**
 * Numbers the batches and appends them to the log, in order. A record whose append failed is given again until it is
 * stored: nobody knows its outcome, and the state has its commands (LOOP-1). Meanwhile the writer is stuck, and
 * nothing new may be applied.
 */
export class LogWriter {
  readonly #log: Log
  readonly #clock: Clock
  readonly #refused: (cause: unknown) => void
  #batch: number
  readonly #pending: Pending[] = []
  #isStuck = false
  #retrying: Promise<void> | null = null
  #retryAt = 0
  #wakers: (() => void)[] = []

  constructor(options: {
    readonly log: Log
    readonly clock: Clock
    /** Called when an append fails, and again when it is given again without success. */
    readonly refused: (cause: unknown) => void
  }) {
    this.#log = options.log
    this.#clock = options.clock
    this.#refused = options.refused
    this.#batch = options.log.end.batch
  }

  /** The number of the newest batch that was handed over. */
  get newest(): number {
    return this.#batch
  }

  /** How many batches are not stored yet. */
  get pending(): number {
    return this.#pending.length
  }

  /** When the oldest of them was handed over; null if all are stored. */
  get pendingSince(): number | null {
    return this.#pending[0]?.since ?? null
  }

  get isStuck(): boolean {
    return this.#isStuck
  }

  /** When a stuck writer tries again by itself. */
  get retryAt(): number {
    return this.#retryAt
  }

  /** Hands a batch over. `stored` is called once it is durable, in order, with the time of this call. */
  append(batch: LogBatch, stored: (since: number) => void): number {
    const record = { batch: ++this.#batch, digest: batch.digest, body: encodeBatch(batch) }
    this.#pending.push({ record, stored, since: this.#clock.now() })
    if (!this.#isStuck) void this.#send(record)
    return record.batch
  }

  /** Resolves when no append is under way: everything is stored, or the writer is stuck. */
  async rest(): Promise<void> {
    while (this.#retrying !== null || (this.#pending.length > 0 && !this.#isStuck)) {
      await (this.#retrying ?? new Promise<void>((wake) => this.#wakers.push(wake)))
    }
  }

  /** Gives a stuck writer's records again, one after the other, until one is refused. */
  retry(): Promise<void> {
    this.#retrying ??= this.#retry().finally(() => {
      this.#retrying = null
    })
    return this.#retrying
  }

  async #send(record: LogRecord): Promise<void> {
    try {
      await this.#log.append(record)
    } catch (cause) {
      // Those behind it are refused with it.
      if (this.#isStuck) return
      this.#isStuck = true
      this.#retryAt = this.#clock.now() + RETRY_MS
      this.#refused(cause)
      this.#wake()
      return
    }
    // An answer that comes after a refusal is found out by asking again.
    if (!this.#isStuck) this.#confirm(record)
  }

  async #retry(): Promise<void> {
    while (this.#isStuck) {
      const [next] = this.#pending
      if (next === undefined) {
        this.#isStuck = false
        return
      }
      try {
        await this.#log.append(next.record)
      } catch (cause) {
        this.#retryAt = this.#clock.now() + RETRY_MS
        this.#refused(cause)
        return
      }
      this.#confirm(next.record)
    }
  }

  #confirm(record: LogRecord): void {
    const first = this.#pending.shift()
    invariant(first?.record === record, 'records are stored in their order')
    first.stored(first.since)
    this.#wake()
  }

  #wake(): void {
    const wakers = this.#wakers
    this.#wakers = []
    for (const wake of wakers) wake()
  }
}
