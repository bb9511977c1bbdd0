import type { AnyTopic, NotificationOf, WireEvent } from '@fairlead/protocol'
import { retryDelayMs } from '../retry-delay.ts'
import type { LineSocket } from './line.ts'
import { isConnectionLost, isRetryable } from './lost.ts'

/** What the server sends: events of one subscription. */
export type Notice = NotificationOf<'events.notify'>

/** Events that wait for their reader; then the server is asked to hold its tongue for a while. */
const WAITING_MAX = 10_000

/**
 * The events that somebody asked for, over as many sockets as it takes. It knows the last number that
 * it has seen; on every new socket it asks for what comes after that, and so nothing is lost and
 * nothing comes twice.
 */
export class Subscription implements AsyncIterableIterator<WireEvent> {
  readonly #topics: readonly AnyTopic[] | undefined
  readonly #onEnd: () => void
  #socket: LineSocket | null = null
  /** As the server calls it on the socket of now. */
  #id: string | null = null
  #lastSeq: number | null
  #waiting: WireEvent[] = []
  /** Events may come with the answer that says what the subscription is called. */
  #early: Notice[] = []
  #isAttaching = false
  #isPaused = false
  #isOver = false
  #error: unknown = null
  #wake: () => void = ignore
  readonly #signal: AbortSignal | undefined
  readonly #abort = (): void => this.#end(null)
  readonly #ready: Promise<void>
  #tellReady: () => void = ignore

  constructor(options: {
    readonly topics?: readonly AnyTopic[] | undefined
    readonly afterSeq?: number | undefined
    readonly signal?: AbortSignal | undefined
    /** Nobody listens any more. */
    readonly onEnd: () => void
  }) {
    this.#topics = options.topics
    this.#lastSeq = options.afterSeq ?? null
    this.#onEnd = options.onEnd
    this.#signal = options.signal
    this.#ready = new Promise((resolve) => {
      this.#tellReady = resolve
    })
    this.#signal?.addEventListener('abort', this.#abort, { once: true })
    if (this.#signal?.aborted === true) this.#end(null)
  }

  /** Resolves once the server tells of what happens from now on; is rejected if it refuses. */
  async ready(): Promise<void> {
    await this.#ready
    if (this.#error !== null) throw this.#error
  }

  /** Goes on on a socket, another than before. */
  async attach(socket: LineSocket): Promise<void> {
    this.#socket = socket
    this.#id = null
    this.#isAttaching = true
    this.#early = []
    const isCurrent = () => this.#socket === socket && !this.#isOver && !this.#isPaused
    for (let tries = 0; isCurrent(); tries++) {
      try {
        const answer = (await socket.call('events.subscribe', {
          ...(this.#topics === undefined ? {} : { topics: this.#topics }),
          ...(this.#lastSeq === null ? {} : { after_seq: this.#lastSeq }),
        })) as { readonly subscription_id: string; readonly seq: number }
        if (isCurrent()) this.#begin(answer)
        return
      } catch (error) {
        // With the next socket comes the next try.
        if (isConnectionLost(error)) return
        if (!isRetryable(error)) return this.#end(error)
        await new Promise((resolve) => setTimeout(resolve, retryDelayMs(tries, Math.random)))
      }
    }
  }

  /** Hears of all events on the socket, and keeps its own. */
  hear(notice: Notice): void {
    if (notice.subscription_id === this.#id) this.#take(notice.events)
    else if (this.#id === null && this.#isAttaching) this.#early.push(notice)
  }

  #take(events: readonly WireEvent[]): void {
    for (const event of events) {
      if (this.#isOver || (this.#lastSeq !== null && event.seq <= this.#lastSeq)) continue
      this.#lastSeq = event.seq
      this.#waiting.push(event)
    }
    if (this.#waiting.length > WAITING_MAX) this.#pause()
    this.#wake()
  }

  async next(): Promise<IteratorResult<WireEvent>> {
    while (this.#waiting.length === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const value = this.#waiting.shift()
    if (this.#isPaused && this.#waiting.length < WAITING_MAX / 2) this.#resume()
    if (value !== undefined) return { value, done: false }
    if (this.#error !== null) throw this.#error
    return { value: undefined, done: true }
  }

  async return(): Promise<IteratorResult<WireEvent>> {
    this.#end(null)
    this.#waiting = []
    return { value: undefined, done: true }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** There will be no more events; with an error, because of that. */
  fail(error: unknown): void {
    this.#end(error)
  }

  #begin({
    subscription_id,
    seq,
  }: {
    readonly subscription_id: string
    readonly seq: number
  }): void {
    this.#id = subscription_id
    this.#isAttaching = false
    this.#lastSeq ??= seq
    const early = this.#early
    this.#early = []
    for (const notice of early) this.hear(notice)
    this.#tellReady()
  }

  /** What is still on its way is left out; it comes when there is room again. */
  #pause(): void {
    this.#isPaused = true
    this.#leave()
  }

  #resume(): void {
    this.#isPaused = false
    if (this.#socket !== null) void this.attach(this.#socket)
  }

  #leave(): void {
    const id = this.#id
    this.#id = null
    if (id === null) return
    this.#socket?.call('events.unsubscribe', { subscription_id: id }).catch(ignore)
  }

  #end(error: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#error = error
    this.#signal?.removeEventListener('abort', this.#abort)
    this.#leave()
    this.#tellReady()
    this.#wake()
    this.#onEnd()
  }
}

function ignore(): void {}
