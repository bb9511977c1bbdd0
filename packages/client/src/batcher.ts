interface Waiting<Item, Answer> {
  readonly item: Item
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/**
 * Makes one call of many. The first item waits for others for a moment; when that is over, or there are enough of
 * them, they go together, and each gets its own answer (REMOTE-1).
 */
export class Batcher<Item, Answer> {
  readonly #send: (items: readonly Item[]) => Promise<readonly Answer[]>
  readonly #maxBatch: number
  readonly #flushMs: number
  #waiting: Waiting<Item, Answer>[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #underWay = new Set<Promise<void>>()

  constructor(
    send: (items: readonly Item[]) => Promise<readonly Answer[]>,
    { maxBatch, flushMs }: { readonly maxBatch: number; readonly flushMs: number },
  ) {
    this.#send = send
    this.#maxBatch = maxBatch
    this.#flushMs = flushMs
  }

  add(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (this.#waiting.length >= this.#maxBatch) this.#flush()
      else if (this.#waiting.length === 1) this.#flushSoon()
    })
  }

  /** Resolves when all have been answered that were added so far. */
  async drain(): Promise<void> {
    this.#flush()
    await Promise.all(this.#underWay)
  }

  #flushSoon(): void {
    if (this.#flushMs === 0) queueMicrotask(() => this.#flush())
    else this.#timer = setTimeout(() => this.#flush(), this.#flushMs)
  }

  #flush(): void {
    clearTimeout(this.#timer)
    if (this.#waiting.length === 0) return
    const batch = this.#waiting
    this.#waiting = []
    const sending = this.#answer(batch).finally(() => this.#underWay.delete(sending))
    this.#underWay.add(sending)
  }

  async #answer(batch: readonly Waiting<Item, Answer>[]): Promise<void> {
    try {
      const answers = await this.#send(batch.map(({ item }) => item))
      for (const [i, { resolve }] of batch.entries()) resolve(answers[i] as Answer)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}
