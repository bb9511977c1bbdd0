/** Answers for different askers are kept for so many of them. */
const ASKERS_MAX = 100

/** Keeps an answer for a moment, so that many pages that ask cost as much as one. */
export class Kept<Value> {
  readonly #keepMs: number
  readonly #known = new Map<string, { readonly at: number; readonly value: Value }>()

  constructor(keepMs: number) {
    this.#keepMs = keepMs
  }

  /** The number of askers whose answers are kept. */
  get size(): number {
    return this.#known.size
  }

  /** `asker`: whose answer it is. `make` is called if there is none, or if it is too old. */
  get(asker: string, nowMs: number, make: () => Value): Value {
    const known = this.#known.get(asker)
    if (known !== undefined && nowMs >= known.at && nowMs - known.at < this.#keepMs) {
      return known.value
    }
    const value = make()
    if (known === undefined && this.#known.size >= ASKERS_MAX) this.#known.clear()
    this.#known.set(asker, { at: nowMs, value })
    return value
  }
}
