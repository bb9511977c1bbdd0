import { Fifo } from './fifo.ts'

/** How long calls may run before sockets, timers and the engine get the event loop again. */
const SLICE_MS = 8
/** After a step longer than a slice its backlog rests for so many times as long, while others are active. */
const REST_FACTOR = 4
/** Somebody who has called within this time is active. */
const ACTIVE_MS = 1_000

type Step = () => void

/** What waits for one token: calls of messages that were begun, and messages that were not. */
interface TokenBacklog {
  readonly calls: Fifo<Step>
  readonly messages: Fifo<Step>
  restsUntil: number
}

/**
 * Shares the event loop among tokens (RPC-9). A step runs at once while the loop's turn is young. After that it
 * waits in the backlog of its token, and the backlogs are served round robin, a slice in each turn of the loop. One step
 * cannot be cut: where it was long, its backlog rests, so that others have most of the loop however long the steps are.
 */
export class Turns {
  readonly #backlogs = new Map<string, TokenBacklog>()
  /** When the slice of this turn of the loop is used up; 0 before its first step. */
  #endsAt = 0
  #timer: NodeJS.Timeout | null = null
  /** The last two tokens that have called, and when. */
  #newest = { token: '', at: Number.NEGATIVE_INFINITY }
  #before = this.#newest

  /** Runs the synchronous part of a call. */
  run<Result>(token: string, act: () => Result | Promise<Result>): Promise<Result> {
    return this.#enter(token, 'calls', act)
  }

  /** Reads a message; only when the calls of those before it have begun, so that few lie in memory. */
  read<Result>(token: string, act: () => Result): Promise<Result> {
    return this.#enter(token, 'messages', act)
  }

  #enter<Result>(
    token: string,
    queue: 'calls' | 'messages',
    act: () => Result | Promise<Result>,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      const step = (): void => {
        try {
          resolve(act())
        } catch (error) {
          reject(error as Error)
        }
      }
      const now = performance.now()
      this.#note(token, now)
      const backlog = this.#backlogs.get(token)
      if (backlog === undefined && this.#hasTime(now)) this.#take(token, step, now)
      else {
        const waiting = backlog ?? this.#open(token)
        waiting[queue].push(step)
        this.#wake()
      }
    })
  }

  #note(token: string, at: number): void {
    if (token !== this.#newest.token) this.#before = this.#newest
    this.#newest = { token, at }
  }

  #hasTime(now: number): boolean {
    if (this.#endsAt === 0) {
      this.#endsAt = now + SLICE_MS
      setImmediate(() => this.#serve())
    }
    return now < this.#endsAt
  }

  #open(token: string): TokenBacklog {
    const backlog: TokenBacklog = { calls: new Fifo(), messages: new Fifo(), restsUntil: 0 }
    this.#backlogs.set(token, backlog)
    return backlog
  }

  /** Gives the time after the step. */
  #take(token: string, step: Step, from: number): number {
    step()
    const now = performance.now()
    const lasted = now - from
    const other = token === this.#newest.token ? this.#before : this.#newest
    if (lasted > SLICE_MS && now - other.at < ACTIVE_MS) {
      const backlog = this.#backlogs.get(token) ?? this.#open(token)
      backlog.restsUntil = now + REST_FACTOR * lasted
      this.#wake()
    }
    return now
  }

  /** A slice for the backlogs, and the end of this turn. */
  #serve(): void {
    let now = performance.now()
    const endsAt = now + SLICE_MS
    for (const [token, backlog] of this.#backlogs) {
      if (backlog.restsUntil > now) continue
      // Behind the others; one that has nothing left is gone.
      this.#backlogs.delete(token)
      const step = backlog.calls.shift() ?? backlog.messages.shift()
      if (step === undefined) continue
      this.#backlogs.set(token, backlog)
      now = this.#take(token, step, now)
      if (now >= endsAt) break
    }
    this.#endsAt = 0
    this.#wake()
  }

  /** Sees to it that the backlogs are served: in the next turn, or when the first of them has rested. */
  #wake(): void {
    if (this.#backlogs.size === 0 || this.#endsAt !== 0) return
    const now = performance.now()
    let first = Number.POSITIVE_INFINITY
    for (const { restsUntil } of this.#backlogs.values()) first = Math.min(first, restsUntil)
    if (first <= now) return void this.#hasTime(now)
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#serve(), Math.ceil(first - now))
  }
}
