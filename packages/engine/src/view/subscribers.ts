import type { AuditRecord } from '@fairlead/core'
import { type EngineEvent, eventOf } from '../state/journal.ts'

/** Removes a listener. */
export type Unsubscribe = () => void

type Entry = AuditRecord & { readonly seq: number }

/** Delivers events to listeners, in order and once, only after their write was confirmed. */
export class Subscribers {
  readonly #events = new Set<(event: EngineEvent) => void>()
  #lastSeq: number

  /** `lastSeq` is the number of the newest entry that was stored before. */
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

  /** Delivers the entries of the next batch. */
  tell(entries: readonly Entry[]): void {
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
