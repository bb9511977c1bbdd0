import type { EventEntry } from '../rpc/message-format.ts'
import type { EventHub } from './event-hub.ts'
import type { EventFilter } from './ownership.ts'

interface Parts {
  readonly hub: EventHub
  /** Null: all. */
  readonly topics: ReadonlySet<string> | null
  readonly filter: EventFilter | null
  /** Events after this number are told. */
  readonly afterSeq: number
  /** Resolves when the reader has room for more. */
  readonly send: (entries: readonly EventEntry[]) => Promise<void>
  readonly failed: (error: unknown) => void
}

/** One reader of events: takes what comes after the last that it has seen, at its own speed. */
export class Subscription {
  readonly #parts: Parts
  #seq: number
  #isOpen = true

  constructor(parts: Parts) {
    this.#parts = parts
    this.#seq = parts.afterSeq
  }

  start(): void {
    this.#run().catch(this.#parts.failed)
  }

  close(): void {
    this.#isOpen = false
  }

  async #run(): Promise<void> {
    const { hub, send } = this.#parts
    while (this.#isOpen) {
      const page = await hub.after(this.#seq)
      if (!this.#isOpen) return
      if (page.length === 0) {
        await hub.next()
        continue
      }
      const wanted = await this.#wanted(page)
      this.#seq = page.at(-1)?.event.seq ?? this.#seq
      if (wanted.length > 0 && this.#isOpen) await send(wanted)
    }
  }

  async #wanted(page: readonly EventEntry[]): Promise<readonly EventEntry[]> {
    const { topics, filter } = this.#parts
    const chosen = topics === null ? page : page.filter(({ event }) => topics.has(event.type))
    if (filter === null) return chosen
    const wanted: EventEntry[] = []
    for (const entry of chosen) if (await filter(entry.event)) wanted.push(entry)
    return wanted
  }
}
