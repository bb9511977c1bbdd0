import { setTimeout } from 'node:timers/promises'
import type { Client } from '@fairlead/client'
import type { Topic, WireEvent } from '@fairlead/protocol'

/** What a queue tells, by the name to listen for. */
export interface QueueEvents {
  added: JobEvent
  /** An attempt has begun. */
  started: JobEvent
  progress: { readonly id: string; readonly percent: number }
  completed: JobEvent
  /** An attempt failed or was given back, and the job waits for the next. */
  retrying: JobEvent & { readonly reason: string; readonly readyAt: Date | null }
  /** For good. */
  failed: JobEvent & { readonly reason: string }
  canceled: JobEvent
  /** Its time to live is over. */
  expired: JobEvent & { readonly reason: string }
  paused: QueueEvent
  resumed: QueueEvent
}

export interface JobEvent {
  /** Of the job: `queue.get(id)` has the rest. */
  readonly id: string
  readonly at: Date
}

export interface QueueEvent {
  /** Of the tasks; null: all. */
  readonly name: string | null
  readonly at: Date
}

export type QueueEventName = keyof QueueEvents

const NAMES = {
  jobEnqueued: 'added',
  jobStarted: 'started',
  jobCompleted: 'completed',
  jobRequeued: 'retrying',
  jobFailed: 'failed',
  jobCanceled: 'canceled',
  jobExpired: 'expired',
  queuePaused: 'paused',
  queueResumed: 'resumed',
} as const satisfies Partial<Record<Topic, QueueEventName>>

export const EVENT_NAMES: readonly QueueEventName[] = [...Object.values(NAMES), 'progress']

const TOPICS = Object.keys(NAMES) as (keyof typeof NAMES)[]

type Listener = (event: never) => void

/** How long calls wait until listeners hear of what they do. */
const READY_MS = 5_000

/** Listeners of one queue, all on one subscription, which is there from the first listener to the last. */
export class EventListeners {
  readonly #client: Client
  readonly #failed: (error: unknown) => void
  readonly #listeners = new Map<QueueEventName, Set<Listener>>()
  #stop: AbortController | null = null
  #ready: Promise<void> = Promise.resolve()

  constructor(client: Client, failed: (error: unknown) => void) {
    this.#client = client
    this.#failed = failed
  }

  /** Resolves when those who listen hear of all that happens from now on. */
  get ready(): Promise<void> {
    return this.#ready
  }

  add(name: QueueEventName, listener: Listener): () => void {
    const set = this.#listeners.get(name) ?? new Set()
    set.add(listener)
    this.#listeners.set(name, set)
    if (this.#stop === null) this.#begin()
    return () => {
      set.delete(listener)
      if (set.size === 0) this.#listeners.delete(name)
      if (this.#listeners.size === 0) this.close()
    }
  }

  close(): void {
    this.#stop?.abort()
    this.#stop = null
  }

  #begin(): void {
    const stop = new AbortController()
    this.#stop = stop
    const { signal } = stop
    const events = this.#client.events({ topics: TOPICS, signal })
    const progress = this.#client.onProgress(
      ({ jobId: id, percent }) => this.#tell('progress', { id, percent }),
      {
        signal,
      },
    )
    // A server that is away must not hold up a call, which has a patience of its own.
    const patience = setTimeout(READY_MS, undefined, { ref: false, signal })
    const listening = Promise.all([events.ready(), progress])
    this.#ready = Promise.race([listening, patience]).then(ignore, ignore)
    void this.#hear(events).catch((error: unknown) => {
      if (signal.aborted) return
      // The next listener tries again.
      this.#stop = null
      this.#failed(error)
    })
  }

  async #hear(events: AsyncIterable<WireEvent>): Promise<void> {
    for await (const event of events) {
      const name = NAMES[event.type as keyof typeof NAMES]
      this.#tell(name, shown(event))
    }
  }

  #tell(name: QueueEventName, event: unknown): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        listener(event as never)
      } catch (error) {
        this.#failed(error)
      }
    }
  }
}

function ignore(): void {}

function shown(event: WireEvent): object {
  const at = new Date(event.at)
  if (event.type === 'queuePaused' || event.type === 'queueResumed') return { name: event.name, at }
  const {
    jobId: id,
    reason,
    notBefore,
  } = event as {
    readonly jobId?: string
    readonly reason?: string
    readonly notBefore?: number | null
  }
  return {
    id,
    at,
    ...(reason === undefined ? {} : { reason }),
    ...(notBefore === undefined
      ? {}
      : { readyAt: notBefore === null ? null : new Date(notBefore) }),
  }
}
