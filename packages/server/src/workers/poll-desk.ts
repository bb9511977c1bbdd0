import {
  FairleadError,
  type LeaseSession,
  type LeaseSource,
  type ProviderId,
  type WorkerHello,
  type WorkerId,
} from '@fairlead/core'
import type { ResultOf } from '@fairlead/protocol'
import type { Logger } from '../log.ts'
import { LeaseInbox } from './lease-messages.ts'

/** A worker that has not polled or called for so long is gone. */
const GONE_MS = 30_000

type Polled = ResultOf<'aicf.pollLeases'>

/**
 * Workers that ask for leases by long polls (POLL-1). Each has a session with the engine that outlives
 * its polls: between two of them it has no slots, so that nothing is offered that it would hear of too
 * late, but what it holds stays its own.
 */
export class PollDesk {
  readonly #source: LeaseSource
  readonly #logger: Logger
  readonly #pollsMax: number
  readonly #workers = new Map<string, PollingWorker>()
  #open = 0
  #isClosed = false

  constructor(parts: {
    readonly source: LeaseSource
    readonly logger: Logger
    readonly pollsMax: number
  }) {
    this.#source = parts.source
    this.#logger = parts.logger
    this.#pollsMax = parts.pollsMax
  }

  /** Polls that wait for an answer. */
  get open(): number {
    return this.#open
  }

  async poll(
    hello: WorkerHello,
    { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal | null },
  ): Promise<Polled> {
    if (this.#isClosed)
      throw new FairleadError('StoreUnavailable', 'the server shuts down; try later')
    if (this.#open >= this.#pollsMax) {
      throw new FairleadError('RateLimited', 'too many polls are open; try again later', {
        retry_after_ms: 1_000,
      })
    }
    const key = `${hello.providerId} ${hello.workerId}`
    const worker = this.#workers.get(key) ?? this.#add(key)
    this.#open++
    try {
      return await worker.poll(hello, waitMs, signal)
    } finally {
      this.#open--
      if (!worker.isConnected) this.#forget(key, worker)
    }
  }

  /** A sign of life of a worker between two polls. */
  touch(providerId: ProviderId, workerId: WorkerId): void {
    this.#workers.get(`${providerId} ${workerId}`)?.touch()
  }

  /** Answers the polls that are open; the workers have left. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#workers.values()].map((worker) => worker.close()))
    this.#workers.clear()
  }

  #add(key: string): PollingWorker {
    const worker: PollingWorker = new PollingWorker({
      source: this.#source,
      gone: () => {
        this.#forget(key, worker)
        worker.close().catch((err: unknown) => {
          this.#logger.warn({ err }, 'a worker that is gone could not be taken off')
        })
      },
    })
    this.#workers.set(key, worker)
    return worker
  }

  #forget(key: string, worker: PollingWorker): void {
    if (this.#workers.get(key) === worker) this.#workers.delete(key)
  }
}

class PollingWorker {
  readonly #source: LeaseSource
  readonly #gone: () => void
  #session: LeaseSession | null = null
  #inbox: LeaseInbox
  #slots = 0
  /** Ends the poll that is open. */
  #answer: (() => void) | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(parts: { source: LeaseSource; gone: () => void }) {
    this.#source = parts.source
    this.#gone = parts.gone
    this.#inbox = this.#newInbox()
  }

  get isConnected(): boolean {
    return this.#session !== null || this.#answer !== null
  }

  async poll(hello: WorkerHello, waitMs: number, signal: AbortSignal | null): Promise<Polled> {
    // A second poll of a worker takes the place of the first, which is answered with what there is.
    this.#answer?.()
    this.#stopTimer()
    await this.#connect(hello)
    if (!this.#inbox.isUrgent) await this.#wait(waitMs, signal)
    // No slots between polls; what was offered until that is durable still goes with this answer.
    if (this.#answer === null) await this.#resize(0).catch(() => undefined)
    if (this.#session !== null && this.#answer === null) this.touch()
    // Nobody is there to take it: it waits for the next poll.
    if (signal?.aborted === true) return { leases: [], held: null, lost: [], notice: null }
    const { offered, held, lost } = this.#inbox.take()
    return { leases: [...offered], held, lost: [...lost], notice: this.#inbox.takeNotice() }
  }

  /** It is there; from now on it may be silent for so long. */
  touch(): void {
    if (this.#session === null || this.#answer !== null) return
    this.#stopTimer()
    this.#timer = setTimeout(this.#gone, GONE_MS).unref()
  }

  async close(): Promise<void> {
    this.#stopTimer()
    const session = this.#session
    this.#session = null
    this.#answer?.()
    await session?.close()
  }

  /** Opens a session, or goes on with the one that there is. */
  async #connect(hello: WorkerHello): Promise<void> {
    const isNew = this.#session === null || hello.holds !== null || hello.offer !== undefined
    if (!isNew) return this.#resize(hello.slots)
    const inbox = this.#newInbox()
    this.#inbox = inbox
    this.#session = await this.#source.open(hello, inbox)
    this.#slots = hello.slots
  }

  async #resize(slots: number): Promise<void> {
    if (this.#session === null || slots === this.#slots) return
    await this.#session.setSlots(slots)
    this.#slots = slots
  }

  #newInbox(): LeaseInbox {
    const inbox: LeaseInbox = new LeaseInbox(
      () => {
        if (inbox === this.#inbox && inbox.isUrgent) this.#answer?.()
      },
      () => {
        // Another session took its place, or the engine was closed.
        if (inbox !== this.#inbox) return
        this.#session = null
        this.#answer?.()
      },
    )
    return inbox
  }

  /** Until there is something to say, its time is over, or nobody listens any more. */
  #wait(waitMs: number, signal: AbortSignal | null): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', end)
        if (this.#answer === end) this.#answer = null
        // What comes in one batch comes in one go.
        setImmediate(resolve)
      }
      const timer = setTimeout(end, waitMs)
      signal?.addEventListener('abort', end)
      this.#answer = end
      if (signal?.aborted === true) end()
    })
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }
}
