import type { AuditRecord } from '@fairlead/core'
import { type EngineEvent, eventOf } from '../state/journal.ts'

/** Removes a listener. */
export type Unsubscribe = () => void

type Entry = AuditRecord & { readonly seq: number }

/** Delivers events to listeners, in order and once, only after their write was confirmed. */
export class Subscribers {
  readonly #events = new Set<(event: EngineEvent) => void>()
  #lastSeq: number

  /** `lastSeq` is the number of the last entry that is not delivered. */
  constructor(lastSeq: number) {
    this.#lastSeq = lastSeq
  }

  /** The number of the newest entry that was delivered. */
  get lastSeq(): number {
    return this.#lastSeq
  }

  onEvent(listener: (event: EngineEvent) => void): Unsubscribe {
    this.#events.add(listener)
    return () => this.#events.delete(listener)
  }

  /** Delivers stored entries. After a batch whose answer was lost, delivery waits for `catchUp`. */
  tell(entries: readonly Entry[]): void {
    const [first] = entries
    if (first?.seq === this.#lastSeq + 1) this.#tell(entries)
  }

  /** Call this after a load, with the number of the last entry: a batch whose answer was lost was not delivered. */
  async catchUp(seq: number, read: (afterSeq: number) => Promise<readonly Entry[]>): Promise<void> {
    while (this.#lastSeq < seq && this.#events.size > 0) {
      const entries = await read(this.#lastSeq)
      if (entries.length === 0) break
      this.#tell(entries)
    }
    this.#lastSeq = Math.max(this.#lastSeq, seq)
  }

  #tell(entries: readonly Entry[]): void {
    this.#lastSeq = entries.at(-1)?.seq ?? this.#lastSeq
    if (this.#events.size === 0) return
    for (const event of entries.map(eventOf)) {
      for (const listener of this.#events) guarded(() => listener(event))
    }
  }
}

/** Calls a listener. If it throws, the process gets a warning; the event is stored all the same. */
export function guarded(tell: () => void): void {
  try {
    tell()
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error))
  }
}
