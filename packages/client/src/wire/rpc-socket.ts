import { FairleadError } from '@fairlead/core/errors'
import {
  BATCH_PROTOCOL,
  errorOfRpc,
  MESSAGE_BYTES_MAX,
  type RpcErrorObject,
} from '@fairlead/protocol/rpc'
import { connectionLost } from './lost.ts'
import { type AnyWebSocket, openWebSocket } from './web-socket.ts'

/** Told of what the server says without having been asked. */
export type OnNotification = (method: string, params: unknown) => void

export interface RpcSocketOptions {
  /** Of the WebSocket. */
  readonly url: string
  readonly token?: string | undefined
  readonly onNotification?: OnNotification
  /** How long opening, an answer, or silence may last. */
  readonly patienceMs?: number
  /** Of whoever opens one socket after the other. */
  readonly frames?: FrameLimit
}

/** How long a frame of several calls may be; less once the server has hung up on a longer one. */
export class FrameLimit {
  chars = FRAME_CHARS_MAX
}

interface Frame {
  readonly calls: number
  readonly chars: number
}

interface Waiting {
  readonly method: string
  readonly resolve: (result: unknown) => void
  readonly reject: (error: FairleadError) => void
  /** What it was sent in; null until then. */
  frame: Frame | null
}

/** A call that has not been sent. */
interface Unsent {
  readonly text: string
  readonly waiting: Waiting
}

/** A message of the server: an answer, or something that it says by itself. */
interface Message {
  readonly id?: number | string | null
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: RpcErrorObject
}

const PATIENCE_MS = 30_000
const GOODBYE_MS = 1_000
/** Calls in one frame, and their length together: the server takes 1,000 and 2 MiB. */
const FRAME_CALLS_MAX = 500
const FRAME_CHARS_MAX = 500_000
/** Calls that wait for their answers at once; others wait here until some have come. */
const IN_FLIGHT_MAX = 1_000

/**
 * One WebSocket with JSON-RPC on it, from its opening to its end. Calls that are made in the same turn
 * go out in one frame: a frame costs more than what is in it.
 */
export class RpcSocket {
  /** Resolves with the reason when it is over; null if that was by `close`. */
  readonly closed: Promise<FairleadError | null>
  readonly #socket: AnyWebSocket
  readonly #onNotification: OnNotification
  readonly #patienceMs: number
  readonly #waiting = new Map<number, Waiting>()
  readonly #queue: Unsent[] = []
  readonly #frames: FrameLimit
  readonly #mayBatch: boolean
  /** The server pings every few seconds, and the package `ws` tells of it; browsers do not. */
  readonly #tellsPings: boolean
  #lastId = 0
  #isFlushing = false
  #heardAt = performance.now()
  #over: FairleadError | null = null
  #isClosing = false
  #watch: ReturnType<typeof setInterval> | undefined

  static async open(options: RpcSocketOptions): Promise<RpcSocket> {
    const { url, token, patienceMs = PATIENCE_MS } = options
    let rpc: RpcSocket | null = null
    const socket = await openWebSocket({
      url,
      token,
      protocols: [BATCH_PROTOCOL],
      heard: () => rpc?.hear(),
      timeoutMs: patienceMs,
    })
    rpc = new RpcSocket(socket, options)
    return rpc
  }

  private constructor(socket: AnyWebSocket, options: RpcSocketOptions) {
    this.#socket = socket
    this.#onNotification = options.onNotification ?? (() => {})
    this.#patienceMs = options.patienceMs ?? PATIENCE_MS
    this.#frames = options.frames ?? new FrameLimit()
    this.#mayBatch = socket.protocol === BATCH_PROTOCOL
    this.#tellsPings = 'terminate' in socket
    socket.onmessage = ({ data }) => this.#take(data)
    socket.onerror = () => {}
    this.closed = new Promise((resolve) => {
      socket.onclose = ({ code, reason }) => {
        const error = closedBy(code, reason)
        if (code === TOO_LONG) this.#shorten()
        this.#end(error)
        resolve(this.#isClosing ? null : error)
      }
    })
    this.#watch = setInterval(() => this.#checkSilence(), this.#patienceMs / 3)
    ;(this.#watch as { unref?: () => void }).unref?.()
  }

  /** The server's answer; a refusal is a `FairleadError` (ERROR-1). */
  call(method: string, params: object): Promise<unknown> {
    if (this.#over !== null) return Promise.reject(this.#over)
    const id = ++this.#lastId
    const text = JSON.stringify({ jsonrpc: '2.0', id, method, params })
    // The server would hang up on it, on all other calls too, and again at every try.
    if (isTooLong(text)) return Promise.reject(tooLong(method, MESSAGE_BYTES_MAX))
    return new Promise((resolve, reject) => {
      const waiting = { method, resolve, reject, frame: null }
      this.#waiting.set(id, waiting)
      this.#queue.push({ text, waiting })
      this.#flushSoon()
    })
  }

  /** Says goodbye, and waits for the other side to do so, but not for long; what is under way is rejected. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#socket.close(1000)
    const timer = setTimeout(() => this.#drop('no goodbye'), GOODBYE_MS)
    await this.closed
    clearTimeout(timer)
  }

  /** The server has been heard of, if only by a ping. */
  hear(): void {
    this.#heardAt = performance.now()
  }

  #take(data: unknown): void {
    this.hear()
    let message: Message | readonly Message[]
    try {
      message = JSON.parse(String(data))
    } catch {
      this.#drop('the server sent what is no JSON')
      return
    }
    if (!Array.isArray(message)) this.#takeOne(message as Message)
    else for (const one of message as readonly Message[]) this.#takeOne(one)
    if (this.#queue.length > 0) this.#flushSoon()
  }

  #takeOne(message: Message): void {
    if (message.method !== undefined) {
      this.#onNotification(message.method, message.params)
      return
    }
    const waiting = this.#waiting.get(message.id as number)
    if (waiting === undefined) return
    this.#waiting.delete(message.id as number)
    if (message.error === undefined) waiting.resolve(message.result)
    else waiting.reject(errorOfRpc(message.error))
  }

  #flushSoon(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    queueMicrotask(() => {
      this.#isFlushing = false
      this.#flush()
    })
  }

  #flush(): void {
    // After the goodbye nothing is sent any more; a browser would complain of it.
    if (this.#over !== null || this.#isClosing) return
    // All that wait for an answer, less those that have not been sent.
    let room = IN_FLIGHT_MAX - (this.#waiting.size - this.#queue.length)
    while (room > 0 && this.#queue.length > 0) {
      const sent = this.#nextCalls(room)
      room -= sent.length
      const texts = sent.map(({ text }) => text)
      const text = texts.length === 1 ? (texts[0] as string) : `[${texts.join(',')}]`
      const frame = { calls: sent.length, chars: text.length }
      for (const { waiting } of sent) waiting.frame = frame
      this.#socket.send(text)
    }
  }

  #nextCalls(room: number): Unsent[] {
    const most = Math.min(room, this.#mayBatch ? FRAME_CALLS_MAX : 1)
    let count = 0
    let chars = 0
    while (count < most && count < this.#queue.length) {
      chars += (this.#queue[count] as Unsent).text.length
      if (count > 0 && chars > this.#frames.chars) break
      count++
    }
    return this.#queue.splice(0, count)
  }

  /**
   * The server takes less in one message than is usual, and it was the longest that was too long. A call that
   * was alone in it is refused, or it would be tried for ever; of several each may yet be short enough.
   */
  #shorten(): void {
    let longest: Frame = { calls: 0, chars: 0 }
    for (const { frame } of this.#waiting.values()) {
      if (frame !== null && frame.chars > longest.chars) longest = frame
    }
    if (longest.calls > 1) this.#frames.chars = Math.floor(longest.chars / 2)
    for (const [id, { method, frame, reject }] of this.#waiting) {
      if (frame !== longest || longest.calls > 1) continue
      this.#waiting.delete(id)
      reject(tooLong(method, longest.chars - 1))
    }
  }

  /** Where something is due to be heard, long silence means that the line is dead. */
  #checkSilence(): void {
    const silentMs = performance.now() - this.#heardAt
    const isOwed = this.#waiting.size > 0 || this.#tellsPings
    if (isOwed && silentMs > this.#patienceMs) {
      this.#drop(`silent for ${Math.round(silentMs / 1_000)} s`)
    }
  }

  /** The line is of no use any more, whatever the other side thinks of it. */
  #drop(why: string): void {
    this.#end(connectionLost(why))
    const { terminate } = this.#socket as { terminate?: () => void }
    if (terminate === undefined) this.#socket.close()
    else terminate.call(this.#socket)
  }

  #end(error: FairleadError): void {
    clearInterval(this.#watch)
    this.#over ??= error
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    this.#queue.length = 0
    for (const { reject } of waiting) reject(this.#over)
  }
}

/** A character has three bytes at most. */
function isTooLong(text: string): boolean {
  if (3 * text.length <= MESSAGE_BYTES_MAX) return false
  return new TextEncoder().encode(text).length > MESSAGE_BYTES_MAX
}

/** `max` is what a server takes, as far as that is known. */
function tooLong(method: string, max: number): FairleadError {
  return new FairleadError(
    'LimitExceeded',
    `${method}: a call of more than ${max} bytes is not taken; send less, or keep it elsewhere and send its digest`,
    { limit: 'message', max },
  )
}

/** A message was longer than the server takes. */
const TOO_LONG = 1009
/** The token is not, or no more, valid; everything else may be tried again. */
const TOKEN_ENDED = 4001

function closedBy(code: number, reason: string): FairleadError {
  const why = reason || `code ${code}`
  return code === TOKEN_ENDED ? new FairleadError('Unauthorized', why) : connectionLost(why)
}
