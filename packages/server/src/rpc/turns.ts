/** How long calls may run before sockets, timers and the engine get the event loop again. */
const SLICE_MS = 8

type Task = () => void

/** What waits for one token: calls of messages that were begun, and messages that were not. */
interface Lane {
  readonly calls: Task[]
  readonly messages: Task[]
}

/**
 * Shares the event loop among tokens (RPC-9). A task runs at once while the loop's turn is young. After
 * that it waits in the lane of its token, and the lanes are served round robin, a slice in each turn of the
 * loop. So a call waits for one task of each other token at most, however much that token has sent.
 */
export class Turns {
  readonly #lanes = new Map<string, Lane>()
  /** When the slice of this turn of the loop is used up; 0 before its first task. */
  #endsAt = 0

  /** Runs the synchronous part of a call. */
  run<Result>(token: string, task: () => Result | Promise<Result>): Promise<Result> {
    return this.#run(token, 'calls', task)
  }

  /** Reads a message; only when the calls of those before it have begun, so that few lie in memory. */
  read<Result>(token: string, task: () => Result): Promise<Result> {
    return this.#run(token, 'messages', task)
  }

  #run<Result>(
    token: string,
    queue: keyof Lane,
    task: () => Result | Promise<Result>,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      const go = (): void => {
        try {
          resolve(task())
        } catch (error) {
          reject(error as Error)
        }
      }
      const lane = this.#lanes.get(token)
      if (lane === undefined && this.#hasTime()) go()
      else (lane ?? this.#open(token))[queue].push(go)
    })
  }

  #hasTime(): boolean {
    const now = performance.now()
    if (this.#endsAt === 0) {
      this.#endsAt = now + SLICE_MS
      setImmediate(() => this.#serve())
    }
    return now < this.#endsAt
  }

  #open(token: string): Lane {
    const lane: Lane = { calls: [], messages: [] }
    this.#lanes.set(token, lane)
    return lane
  }

  /** A slice for the lanes, and the end of this turn. */
  #serve(): void {
    const endsAt = performance.now() + SLICE_MS
    for (const [token, lane] of this.#lanes) {
      const task = lane.calls.shift() ?? lane.messages.shift()
      // Behind the others; one that has nothing left is gone.
      this.#lanes.delete(token)
      if (task === undefined) continue
      this.#lanes.set(token, lane)
      task()
      if (performance.now() >= endsAt) break
    }
    this.#endsAt = 0
    if (this.#lanes.size > 0) this.#hasTime()
  }
}
