import type { WebSocket } from 'ws'
import type { Form, Piece } from '../rpc/form.ts'

/** Something that has messages to give when they are about to be sent. */
export interface Source {
  flush(): void
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
  readonly #ready: { form: Form; piece: Piece }[] = []
  readonly #sources = new Set<Source>()
  #isScheduled = false
  #isOpen = true
  #paced = 0
  readonly #waiting: (() => void)[] = []

  constructor(parts: Parts) {
    this.#parts = parts
  }

  push(form: Form, piece: Piece): void {
    if (!this.#isOpen) return
    this.#ready.push({ form, piece })
    this.#schedule()
  }

  /** The answers to a batch, which belong together. */
  pushBatch(form: Form, pieces: readonly Piece[]): void {
    if (!this.#isOpen) return
    this.#flushReady()
    this.#write(form.write(pieces, true))
  }

  /** Has a source give its messages with the next that are sent. */
  wake(source: Source): void {
    if (!this.#isOpen) return
    this.#sources.add(source)
    this.#schedule()
  }

  /** Sends a message of its own; resolves when there is room for the next. */
  async pushPaced(form: Form, piece: Piece): Promise<void> {
    if (!this.#isOpen) return
    this.#flushReady()
    const { ws, stallMs, tooSlow } = this.#parts
    const stalled = setTimeout(
      () => tooSlow(`too slow: nothing was taken for ${Math.ceil(stallMs / 1_000)} s`),
      stallMs,
    )
    this.#paced++
    ws.send(form.write([piece], false), () => {
      clearTimeout(stalled)
      this.#paced--
      this.#waiting.shift()?.()
    })
    if (this.#paced >= PACED_MAX) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  flush(): void {
    this.#isScheduled = false
    for (const source of this.#sources) source.flush()
    this.#sources.clear()
    this.#flushReady()
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

  #flushReady(): void {
    if (!this.#isOpen || this.#ready.length === 0) return
    const ready = this.#ready.splice(0)
    if (!this.#parts.takesBatches) {
      for (const { form, piece } of ready) this.#write(form.write([piece], false))
      return
    }
    for (let from = 0; from < ready.length; ) {
      const { form } = ready[from] as (typeof ready)[number]
      let to = from
      while (to < ready.length && to - from < FRAME_MAX && ready[to]?.form === form) to++
      const pieces = ready.slice(from, to).map(({ piece }) => piece)
      this.#write(form.write(pieces, pieces.length > 1))
      from = to
    }
  }

  #write(frame: string | Uint8Array): void {
    const { ws, unsentBytes, tooSlow } = this.#parts
    if (ws.readyState !== ws.OPEN) return
    ws.send(frame)
    if (ws.bufferedAmount > unsentBytes) {
      tooSlow(`too slow: more than ${unsentBytes} bytes were waiting to be taken`)
    }
  }
}
