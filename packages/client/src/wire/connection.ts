import { retryDelayMs } from '../retry-delay.ts'
import type { Line, LineListener } from './line.ts'
import { closedForGood, isRetryable, mayHaveHappened } from './lost.ts'
import { FrameLimit, RpcSocket } from './rpc-socket.ts'

export interface ConnectionOptions extends LineListener {
  readonly url: string
  readonly token?: string | undefined
  /** For how long it is tried again; what the server is working on is waited for. */
  readonly timeoutMs: number
}

/** What tells how a call is treated when its answer is lost. */
export interface CallOptions {
  /** False for what must not happen twice: then a lost answer is an error. */
  readonly isRepeatable?: boolean
  readonly timeoutMs?: number
  readonly signal?: AbortSignal | undefined
}

/** Codes that mean "not now", and for which the SDK asks again by itself. */
const ASK_AGAIN: ReadonlySet<string> = new Set(['StoreUnavailable', 'NotLeader', 'RateLimited'])

/**
 * A connection that comes back. It is opened with the first call and opened again whenever there is a
 * call without one, or somebody who listens; calls wait for it, and are made again where their answer
 * was lost.
 */
export class Connection implements Line {
  readonly #options: ConnectionOptions
  readonly #frames = new FrameLimit()
  #socket: RpcSocket | null = null
  #opening: Promise<RpcSocket> | null = null
  #isClosed = false
  /** While anybody listens to events the connection is kept up even without calls. */
  #listeners = 0
  /** Ends those who wait for the next try. */
  readonly #pauses = new Set<() => void>()

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  call(method: string, params: object, options: CallOptions = {}): Promise<unknown> {
    return this.#persist((socket) => socket.call(method, params), options)
  }

  /** Resolves when there is a connection. */
  async open(): Promise<void> {
    await this.#persist(() => Promise.resolve(), {})
  }

  async #persist<T>(act: (socket: RpcSocket) => Promise<T>, options: CallOptions): Promise<T> {
    const { isRepeatable = true, timeoutMs = this.#options.timeoutMs, signal } = options
    const deadline = performance.now() + timeoutMs
    for (let tries = 0; ; tries++) {
      signal?.throwIfAborted()
      try {
        return await act(this.#socket ?? (await this.#open()))
      } catch (error) {
        const isPassing = isRetryable(error) && ASK_AGAIN.has(error.code)
        if (!isPassing || (mayHaveHappened(error) && !isRepeatable)) throw error
        const waitMs = retryDelayMs(tries, Math.random)
        if (performance.now() + waitMs > deadline) throw error
        await this.#pause(waitMs, signal)
      }
    }
  }

  /** Keeps the connection up until it is let go again. */
  hold(): () => void {
    this.#listeners++
    if (this.#listeners === 1) void this.#keepUp()
    let isHeld = true
    return () => {
      if (isHeld) this.#listeners--
      isHeld = false
    }
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const close of [...this.#pauses]) close()
    const socket = this.#socket ?? (await this.#opening?.catch(() => null)) ?? null
    await socket?.close()
  }

  #open(): Promise<RpcSocket> {
    if (this.#isClosed) return Promise.reject(closedForGood())
    this.#opening ??= this.#openNow().finally(() => {
      this.#opening = null
    })
    return this.#opening
  }

  async #openNow(): Promise<RpcSocket> {
    const { url, token, onNotification, onOpen } = this.#options
    const socket = await RpcSocket.open({ url, token, onNotification, frames: this.#frames })
    if (this.#isClosed) return socket
    this.#socket = socket
    void socket.closed.then(() => {
      if (this.#socket === socket) this.#socket = null
      if (this.#listeners > 0) void this.#keepUp()
    })
    onOpen(socket)
    return socket
  }

  /** Until there is a connection, or nobody who needs one. */
  async #keepUp(): Promise<void> {
    for (let tries = 0; this.#listeners > 0 && this.#socket === null && !this.#isClosed; tries++) {
      try {
        await this.#open()
      } catch (error) {
        if (!isRetryable(error)) return this.#options.onFail(error)
        await this.#pause(retryDelayMs(tries, Math.random)).catch(() => undefined)
      }
    }
  }

  /** Ends early, and with an error, when the client is closed or the caller has had enough. */
  #pause(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (resolveOrReject: () => void): void => {
        clearTimeout(timer)
        this.#pauses.delete(close)
        signal?.removeEventListener('abort', abort)
        resolveOrReject()
      }
      const close = (): void => end(() => reject(closedForGood()))
      const abort = (): void => end(() => reject(signal?.reason))
      const timer = setTimeout(() => end(resolve), ms)
      this.#pauses.add(close)
      signal?.addEventListener('abort', abort, { once: true })
    })
  }
}
