/** A bound on how much of one kind each token has under way (RPC-9). More waits, first come first served. */
export class Slots {
  readonly #max: number
  readonly #byToken = new Map<string, { taken: number; readonly waiting: (() => void)[] }>()

  constructor(max: number) {
    this.#max = max
  }

  async run<Result>(token: string, task: () => Result | Promise<Result>): Promise<Result> {
    const slots = this.#byToken.get(token) ?? { taken: 0, waiting: [] }
    this.#byToken.set(token, slots)
    if (slots.taken < this.#max) slots.taken++
    else await new Promise<void>((resolve) => slots.waiting.push(resolve))
    try {
      return await task()
    } finally {
      // The next one takes over the slot.
      const next = slots.waiting.shift()
      if (next !== undefined) next()
      else if (--slots.taken === 0) this.#byToken.delete(token)
    }
  }
}
