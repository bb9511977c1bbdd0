import type { Clock, LeaseProgress } from '@fairlead/core'

/** Reports of one attempt come at most so often; what is said meanwhile goes with the next one. */
const EVERY_MS = 500
const LINES_PER_CALL = 100
const LINES_WAITING_MAX = 1_000
const MESSAGE_CHARACTERS_MAX = 256

type Send = (progress: LeaseProgress) => Promise<void>

/** Gathers what a handler says of its progress. A report that fails harms no job: the next one says more. */
export class ProgressReporter {
  readonly #clock: Clock
  readonly #send: Send
  #percent: number | undefined
  #message: string | undefined
  #lines: string[] = []
  #cancel: (() => void) | null = null
  #isSending = false
  #sentAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, send: Send) {
    this.#clock = clock
    this.#send = send
  }

  progress(percent: number, message?: string): void {
    if (Number.isFinite(percent)) this.#percent = Math.round(Math.min(100, Math.max(0, percent)))
    // A message is at most 1,024 bytes, and a character at most four of them.
    if (message !== undefined)
      this.#message = message.toWellFormed().slice(0, MESSAGE_CHARACTERS_MAX)
    this.#schedule()
  }

  log(text: string): void {
    for (const line of text.split('\n')) this.#lines.push(line)
    if (this.#lines.length > LINES_WAITING_MAX) {
      this.#lines.splice(0, this.#lines.length - LINES_WAITING_MAX)
    }
    this.#schedule()
  }

  /** Sends what is left, before the attempt is reported. */
  async flush(send: Send): Promise<void> {
    this.#cancel?.()
    this.#cancel = null
    try {
      for (let next = this.#take(); next !== null; next = this.#take()) await send(next)
    } catch {
      // The outcome of the attempt counts, not what was said on the way.
    }
  }

  #schedule(): void {
    if (this.#cancel !== null || this.#isSending) return
    const at = Math.max(this.#clock.now(), this.#sentAt + EVERY_MS)
    this.#cancel = this.#clock.wakeAt(at, () => {
      this.#cancel = null
      void this.#sendNext()
    })
  }

  async #sendNext(): Promise<void> {
    const next = this.#take()
    if (next === null) return
    this.#isSending = true
    this.#sentAt = this.#clock.now()
    await this.#send(next).catch(() => undefined)
    this.#isSending = false
    if (this.#hasMore()) this.#schedule()
  }

  #hasMore(): boolean {
    return this.#percent !== undefined || this.#message !== undefined || this.#lines.length > 0
  }

  #take(): LeaseProgress | null {
    if (!this.#hasMore()) return null
    const [percent, message] = [this.#percent, this.#message]
    const log = this.#lines.splice(0, LINES_PER_CALL)
    this.#percent = undefined
    this.#message = undefined
    return {
      ...(percent === undefined ? {} : { percent }),
      ...(message === undefined ? {} : { message }),
      ...(log.length === 0 ? {} : { log }),
    }
  }
}
