import { Fifo } from './fifo.ts'

interface Taken {
  count: number
  readonly waiting: Fifo<() => void>
}

/** A bound on how much of one kind each token has under way (RPC-9). More waits, first come first served. */
export class Slots {
  readonly #max: number
  readonly #byToken = new Map<string, Taken>()

  constructor(max: number) {
    this.#max = max
  }

  async run<Result>(token: string, task: () => Result | Promise<Result>): Promise<Result> {
    const taken = this.#byToken.get(token) ?? { count: 0, waiting: new Fifo() }
    this.#byToken.set(token, taken)
    if (taken.count < this.#max) taken.count++
    else await new Promise<void>((resolve) => taken.waiting.push(resolve))
    try {
      return await task()
    } finally {
      // The next one takes over the slot.
      const next = taken.waiting.shift()
      if (next !== undefined) next()
      else if (--taken.count === 0) this.#byToken.delete(token)
    }
  }
}
