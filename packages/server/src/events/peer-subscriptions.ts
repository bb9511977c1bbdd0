import { invalidParams, limitExceeded } from '@fairlead/core/internal'
import type { LiveProgress } from '@fairlead/engine'
import type { ResultOf } from '@fairlead/protocol'
import type { Identity } from '../auth/identity.ts'
import type { EventEntry } from '../rpc/message-format.ts'
import type { EventHub } from './event-hub.ts'
import type { Ownership } from './ownership.ts'
import { Subscription } from './subscription.ts'

export interface Wanted {
  /** Null: all. */
  readonly topics: readonly string[] | null
  /** Null: from now on. */
  readonly afterSeq: number | null
  readonly identity: Identity
}

interface Parts {
  readonly ownership: Ownership
  readonly max: number
  /** Resolves when the reader has room for more. */
  readonly send: (id: string, entries: readonly EventEntry[]) => Promise<void>
  readonly tellProgress: (id: string, progress: LiveProgress) => void
  readonly failed: (error: unknown) => void
}

/** The subscriptions of one connection. */
export class PeerSubscriptions {
  readonly #parts: Parts
  readonly #open = new Map<string, Subscription>()
  #count = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  add(hub: EventHub, { topics, afterSeq, identity }: Wanted): ResultOf<'events.subscribe'> {
    const { ownership, max, send, failed } = this.#parts
    if (this.#open.size >= max) throw limitExceeded('subscriptions', max, this.#open.size + 1)
    if (afterSeq !== null && afterSeq > hub.lastSeq) {
      throw invalidParams(
        'after_seq',
        `the number of an event that there was, at most ${hub.lastSeq}`,
      )
    }
    if (afterSeq !== null) hub.refusePruned(afterSeq)
    const id = `s${++this.#count}`
    const seq = afterSeq ?? hub.lastSeq
    const subscription = new Subscription({
      hub,
      topics: topics === null ? null : new Set(topics),
      filter: ownership.filterFor(identity),
      afterSeq: seq,
      send: (entries) => send(id, entries),
      failed,
    })
    this.#open.set(id, subscription)
    if (topics?.includes('jobProgress') === true) this.#followProgress(hub, id, identity)
    // Behind its own answer, so that the reader knows its id.
    setImmediate(() => subscription.start())
    return { subscription_id: id, seq }
  }

  remove(id: string): boolean {
    this.#open.get(id)?.close()
    return this.#open.delete(id)
  }

  close(): void {
    for (const subscription of this.#open.values()) subscription.close()
    this.#open.clear()
  }

  /** A slow reader hears less of it: progress waits for nobody. */
  #followProgress(hub: EventHub, id: string, identity: Identity): void {
    const isOwn = this.#parts.ownership.progressFor(identity)
    const stop = hub.onProgress((progress) => {
      if (!this.#open.has(id)) return stop()
      if (isOwn(progress)) this.#parts.tellProgress(id, progress)
    })
  }
}
