interface Waiting<Request, Answer> {
  readonly request: Request
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/**
 * Calls that are made in one turn of the event loop, made as one (REDIS-7). They wait for nothing but the other code
 * of that turn, so a lone call is as fast as before; among many, all that a call costs by itself is shared.
 */
export class GatheredCalls<Request, Answer> {
  readonly #call: (requests: readonly Request[]) => Promise<readonly Answer[]>
  readonly #max: number
  #waiting: Waiting<Request, Answer>[] = []

  constructor(call: (requests: readonly Request[]) => Promise<readonly Answer[]>, max: number) {
    this.#call = call
    this.#max = max
  }

  add(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject })
      if (this.#waiting.length === this.#max) this.#send()
      // After all promises that are resolved by now have gone on: they may call, too.
      else if (this.#waiting.length === 1) process.nextTick(() => this.#send())
    })
  }

  #send(): void {
    const sent = this.#waiting
    if (sent.length === 0) return
    this.#waiting = []
    this.#call(sent.map(({ request }) => request)).then(
      (answers) => {
        for (let i = 0; i < sent.length; i++) sent[i]?.resolve(answers[i] as Answer)
      },
      (error: unknown) => {
        for (const { reject } of sent) reject(error)
      },
    )
  }
}
