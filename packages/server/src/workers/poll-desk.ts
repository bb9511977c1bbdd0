import {
  FairleadError,
  type LeaseSession,
  type LeaseSource,
  type ProviderId,
  type WorkerHello,
  type WorkerId,
} from '@fairlead/core'
import type { ResultOf } from '@fairlead/protocol'
import type { Identity } from '../auth/identity.ts'
import type { Logger } from '../log.ts'
import { LeaseInbox } from './lease-messages.ts'
import { scopedSource } from './scoped-source.ts'

/** A worker that has not polled or called for so long is gone. */
const GONE_MS = 30_000

interface Polling {
  readonly identity: Identity
  readonly waitMs: number
  readonly signal: AbortSignal | null
}

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

  async poll(hello: WorkerHello, polling: Polling): Promise<Polled> {
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
      return await worker.poll(hello, polling)
    } finally {
      this.#open--
      if (!worker.isConnected) this.#forget(key, worker)
    }
  }

  /** A sign of life of a worker between two polls. */
  touch(providerId: ProviderId, workerId: WorkerId): void {
    this.#workers.get(`${providerId} ${workerId}`)?.touch()
  }

  /** Refuses the polls of those who may not stay; their workers have left (AUTH-3). */
  async endOver(endOf: (identity: Identity) => Promise<unknown>): Promise<void> {
    for (const [key, worker] of this.#workers) {
      if (worker.identity === null || (await endOf(worker.identity)) === null) continue
      this.#forget(key, worker)
      await worker.close(
        new FairleadError('Unauthorized', 'the token was revoked, has expired or was changed', {
          reason: 'wrong_token',
        }),
      )
    }
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
  /** Whose session it is. */
  #identity: Identity | null = null
  #refusal: FairleadError | null = null

  constructor(parts: { source: LeaseSource; gone: () => void }) {
    this.#source = parts.source
    this.#gone = parts.gone
    this.#inbox = this.#newInbox()
  }

  get isConnected(): boolean {
    return this.#session !== null || this.#answer !== null
  }

  get identity(): Identity | null {
    return this.#identity
  }

  async poll(hello: WorkerHello, { identity, waitMs, signal }: Polling): Promise<Polled> {
    // A second poll of a worker takes the place of the first, which is answered with what there is.
    this.#answer?.()
    this.#stopTimer()
    await this.#connect(hello, identity)
    if (!this.#inbox.isUrgent) await this.#wait(waitMs, signal)
    if (this.#refusal !== null) throw this.#refusal
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

  /** With a refusal, its open poll hears that. */
  async close(refusal: FairleadError | null = null): Promise<void> {
    this.#refusal = refusal
    this.#stopTimer()
    const session = this.#session
    this.#session = null
    this.#answer?.()
    await session?.close()
  }

  /** Opens a session, or goes on with the one that there is. */
  async #connect(hello: WorkerHello, identity: Identity): Promise<void> {
    const isNew = this.#session === null || hello.holds !== null || hello.offer !== undefined
    // Another token of the provider may have another scope.
    const isOthers = this.#identity !== null && !isSame(this.#identity, identity)
    if (!isNew && !isOthers) return this.#resize(hello.slots)
    const inbox = this.#newInbox()
    this.#inbox = inbox
    this.#identity = identity
    this.#session = await scopedSource(this.#source, identity).open(hello, inbox)
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

function isSame(a: Identity, b: Identity): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}
