import {
  type Engine,
  eventOf,
  type LiveProgress,
  refusePruned,
  type Unsubscribe,
} from '@fairlead/engine'
import type { EventEntry } from '../rpc/message-format.ts'

/** Events that are kept at hand; who is further behind gets them from the store. */
const KEPT = 16_384
/** Events that a subscriber gets at once. */
const PAGE_MAX = 256
/** Pages that are read from the store at a time, however many subscribers are behind. */
const READS_MAX = 2

/**
 * All events in order, for any number of subscribers. Each has a number up to which it has seen them and
 * asks for what comes after it; whether that is at hand or in the store makes no difference. So there is
 * no switch from old to new events that could lose or repeat one, and nothing is kept for a slow reader.
 */
export class EventHub {
  readonly #engine: Engine
  readonly #kept: EventEntry[] = []
  #firstSeq: number
  #lastSeq: number
  #stop: Unsubscribe = () => {}
  #waiting: (() => void)[] = []
  #isTelling = false
  #reads = 0
  readonly #readQueue: (() => void)[] = []

  private constructor(engine: Engine) {
    this.#engine = engine
    this.#lastSeq = engine.lastEventSeq
    this.#firstSeq = this.#lastSeq + 1
  }

  static async open(engine: Engine): Promise<EventHub> {
    const hub = new EventHub(engine)
    hub.#stop = await engine.onEvent((event) => hub.#add({ event, text: null }))
    return hub
  }

  /** The number of the newest event. */
  get lastSeq(): number {
    return this.#lastSeq
  }

  /** Tells of progress as it happens; nothing of it is kept. */
  onProgress(listener: (progress: LiveProgress) => void): Unsubscribe {
    return this.#engine.progress.onProgress(listener)
  }

  close(): void {
    this.#stop()
    this.#tell()
  }

  /** What comes after a number, oldest first; empty if nothing does. */
  after(seq: number): readonly EventEntry[] | Promise<readonly EventEntry[]> {
    if (seq >= this.#lastSeq) return []
    if (seq + 1 < this.#firstSeq) return this.#read(seq)
    const from = seq + 1 - this.#firstSeq
    return this.#kept.slice(from, from + PAGE_MAX)
  }

  /** Throws if some of what comes after a number was deleted. */
  refusePruned(seq: number): void {
    refusePruned(seq, this.#engine.view.journalCut)
  }

  /** Resolves when there is something new, or the hub was closed. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #add(entry: EventEntry): void {
    const { seq } = entry.event
    // What was skipped is in the store.
    if (seq !== this.#lastSeq + 1) {
      this.#kept.length = 0
      this.#firstSeq = seq
    }
    this.#kept.push(entry)
    this.#lastSeq = seq
    if (this.#kept.length >= 2 * KEPT) {
      this.#kept.splice(0, KEPT)
      this.#firstSeq += KEPT
    }
    if (this.#isTelling || this.#waiting.length === 0) return
    this.#isTelling = true
    // All events of a batch come in one go: subscribers hear of them together.
    setImmediate(() => this.#tell())
  }

  #tell(): void {
    this.#isTelling = false
    const waiting = this.#waiting
    this.#waiting = []
    for (const wake of waiting) wake()
  }

  async #read(seq: number): Promise<readonly EventEntry[]> {
    if (this.#reads >= READS_MAX) {
      await new Promise<void>((resolve) => this.#readQueue.push(resolve))
    }
    this.#reads++
    try {
      const entries = await this.#engine.view.read.journal(seq, PAGE_MAX)
      this.refusePruned(seq)
      return entries.map((entry) => ({ event: eventOf(entry), text: null }))
    } finally {
      this.#reads--
      this.#readQueue.shift()?.()
    }
  }
}
