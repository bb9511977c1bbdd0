import type { Clock, LeaseProgress } from '@fairlead/core'
import { saidText } from './said-text.ts'

/** Reports of one attempt come at most so often; what is said meanwhile goes with the next one. */
const EVERY_MS = 500
/** In JSON a character takes up to six bytes: so many of the longest lines fit into one message. */
const LINES_PER_CALL = 80
const LINES_WAITING_MAX = 1_000
const MESSAGE_CHARACTERS_MAX = 256
/** One more than is kept of a line, so that what is cut here gets its mark there (PROGRESS-3). */
const LINE_CHARACTERS_MAX = 4_097
/** What is split into lines; more than that is not kept of an attempt. */
const TEXT_CHARACTERS_MAX = 1_048_576

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

  /** The percent is brought within 0 to 100; one that is no number is left out. */
  progress(percent: number, message?: unknown): void {
    if (Number.isFinite(percent)) this.#percent = Math.round(Math.min(100, Math.max(0, percent)))
    // A message is at most 1,024 bytes, and a character at most four of them.
    if (message != null) this.#message = saidText(message, MESSAGE_CHARACTERS_MAX)
    this.#schedule()
  }

  log(said: unknown): void {
    for (const line of saidText(said, TEXT_CHARACTERS_MAX).split('\n')) {
      this.#lines.push(saidText(line, LINE_CHARACTERS_MAX))
    }
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
