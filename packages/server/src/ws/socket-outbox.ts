import type { WebSocket } from 'ws'
import type { MessageFormat, Piece } from '../rpc/message-format.ts'

/** Something that has messages to give when they are about to be sent. */
export interface Source {
  /** Gives as much as may be sent at once; true if there is more. */
  flush(): boolean
}

interface Parts {
  readonly ws: WebSocket
  readonly takesBatches: boolean
  readonly unsentBytes: number
  readonly stallMs: number
  readonly tooSlow: (why: string) => void
  readonly broken: (error: unknown) => void
}

/** Messages of one frame, so that none is too long for the other side. */
const FRAME_MAX = 512
/** Frames of events that may be under way: one that is taken, and one behind it. */
const PACED_MAX = 2

/**
 * What is to be sent on one socket. All that comes up in one turn of the event loop goes out together: in
 * one frame if the other side takes batches, in any case in one write.
 */
export class SocketOutbox {
  readonly #parts: Parts
  readonly #ready: Ready[] = []
  readonly #sources = new Set<Source>()
  #isScheduled = false
  #isOpen = true
  /** A source has more to give; it is asked again when what it gave has been taken. */
  #isFull = false
  #paced = 0
  readonly #waiting: (() => void)[] = []

  constructor(parts: Parts) {
    this.#parts = parts
  }

  push(format: MessageFormat, piece: Piece): void {
    if (!this.#isOpen) return
    this.#ready.push({ format, piece })
    this.#schedule()
  }

  /** The answers to a batch, which belong together. */
  pushBatch(format: MessageFormat, pieces: readonly Piece[]): void {
    if (!this.#isOpen) return
    this.#flushReady()
    this.#write(format.write(pieces, true))
  }

  /** Has a source give its messages with the next that are sent. */
  wake(source: Source): void {
    if (!this.#isOpen) return
    this.#sources.add(source)
    this.#schedule()
  }

  /** Sends a message of its own; resolves when there is room for the next. */
  async pushPaced(format: MessageFormat, piece: Piece): Promise<void> {
    if (!this.#isOpen) return
    this.#flushReady()
    const { ws, stallMs, tooSlow } = this.#parts
    const stalled = setTimeout(
      () => tooSlow(`too slow: nothing was taken for ${Math.ceil(stallMs / 1_000)} s`),
      stallMs,
    )
    this.#paced++
    ws.send(format.write([piece], false), () => {
      clearTimeout(stalled)
      this.#paced--
      this.#waiting.shift()?.()
    })
    if (this.#paced >= PACED_MAX) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  flush(): void {
    if (!this.#isFull) this.#askSources()
    else this.#flushReady()
    this.#isScheduled = false
  }

  close(): void {
    this.#isOpen = false
    this.#ready.length = 0
    this.#sources.clear()
    for (const go of this.#waiting.splice(0)) go()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      try {
        this.flush()
      } catch (error) {
        this.#parts.broken(error)
      }
    })
  }

  #askSources(): void {
    for (const source of this.#sources) if (!source.flush()) this.#sources.delete(source)
    if (this.#sources.size === 0) return this.#flushReady()
    this.#isFull = true
    this.#flushReady(() => {
      this.#isFull = false
      if (this.#isOpen) this.#schedule()
    })
  }

  /** `taken` is called when all of it has gone out. */
  #flushReady(taken?: () => void): void {
    if (!this.#isOpen || this.#ready.length === 0) return
    const ready = this.#ready.splice(0)
    const frames = this.#parts.takesBatches ? batched(ready) : ready.map(alone)
    for (const [i, frame] of frames.entries()) {
      this.#write(frame, i === frames.length - 1 ? taken : undefined)
    }
  }

  #write(frame: string | Uint8Array, taken?: () => void): void {
    const { ws, unsentBytes, tooSlow } = this.#parts
    if (ws.readyState !== ws.OPEN) return
    ws.send(frame, taken)
    if (ws.bufferedAmount > unsentBytes) {
      tooSlow(`too slow: more than ${unsentBytes} bytes were waiting to be taken`)
    }
  }
}

interface Ready {
  readonly format: MessageFormat
  readonly piece: Piece
}

function alone({ format, piece }: Ready): string | Uint8Array {
  return format.write([piece], false)
}

/** As many in a frame as may be, those of a format together. */
function batched(ready: readonly Ready[]): (string | Uint8Array)[] {
  const frames: (string | Uint8Array)[] = []
  for (let from = 0; from < ready.length; ) {
    const { format } = ready[from] as Ready
    let to = from
    while (to < ready.length && to - from < FRAME_MAX && ready[to]?.format === format) to++
    const pieces = ready.slice(from, to).map(({ piece }) => piece)
    frames.push(format.write(pieces, pieces.length > 1))
    from = to
  }
  return frames
}
