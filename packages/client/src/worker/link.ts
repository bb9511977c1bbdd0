import type {
  Clock,
  FairleadError,
  LeaseListener,
  LeaseSession,
  LeaseSource,
  WorkerHello,
} from '@fairlead/core'
import { LONGEST_MS, retryDelayMs } from '../retry-delay.ts'
import { isRetryable } from '../wire/lost.ts'

export interface LinkOptions {
  readonly source: LeaseSource
  readonly clock: Clock
  readonly random: () => number
  /** What to say when the next session is opened. */
  readonly hello: () => WorkerHello
  readonly listener: Omit<LeaseListener, 'closed'>
  /** There is a session. */
  readonly opened: () => void
  /** There is none, and another will be tried. */
  readonly dropped: (error: FairleadError) => void
  /** There will be none any more. */
  readonly failed: (error: unknown) => void
}

/** The connection of a worker to its source: opened, and opened again whenever it is lost. */
export class Link {
  readonly #options: LinkOptions
  #session: LeaseSession | null = null
  #isClosed = false
  #tries = 0
  /** Ends what the link waits for: the end of its session, or the time of the next try. */
  #wake: () => void = ignore
  #done: Promise<void> = Promise.resolve()

  constructor(options: LinkOptions) {
    this.#options = options
  }

  /** Null while there is none. */
  get session(): LeaseSession | null {
    return this.#session
  }

  start(): void {
    this.#done = this.#run()
  }

  /** Takes the worker off the source, and opens nothing any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    const session = this.#session
    this.#session = null
    this.#wake()
    await session?.close()
    await this.#done
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      const openedAt = this.#options.clock.now()
      const error = await this.#connect()
      if (this.#isClosed) return
      if (!isRetryable(error)) {
        this.#options.failed(error)
        return
      }
      this.#options.dropped(error)
      const now = this.#options.clock.now()
      // One that lasted was in order; one that was cut at once may be cut again.
      if (now - openedAt > LONGEST_MS) this.#tries = 0
      await this.#pause(now + retryDelayMs(this.#tries++, this.#options.random))
    }
  }

  /** One session from its opening to its end; gives what ended it. */
  async #connect(): Promise<unknown> {
    const { source, hello, listener, opened } = this.#options
    // What an old session still says is not listened to.
    let isCurrent = true
    let end: (reason: unknown) => void = ignore
    const ended = new Promise<unknown>((resolve) => {
      end = resolve
    })
    try {
      const session = await source.open(hello(), {
        offer: (offer) => isCurrent && listener.offer(offer),
        held: (leases) => isCurrent && listener.held(leases),
        lost: (leaseId, reason) => isCurrent && listener.lost(leaseId, reason),
        notice: (notice) => isCurrent && listener.notice?.(notice),
        closed: end,
      })
      if (this.#isClosed) {
        await session.close()
        return null
      }
      this.#session = session
      this.#wake = () => end(null)
      opened()
      return await ended
    } catch (error) {
      return error
    } finally {
      isCurrent = false
      this.#session = null
    }
  }

  #pause(untilMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.wakeAt(untilMs, resolve)
      this.#wake = () => {
        cancel()
        resolve()
      }
    })
  }
}

function ignore(): void {}
