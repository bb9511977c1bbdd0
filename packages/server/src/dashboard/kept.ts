/** Answers for different askers are kept for so many of them. */
const ASKERS_MAX = 100

/** An answer is kept fifty times as long as it took, so that making it takes a fiftieth of the time. */
const TIMES_KEPT = 50
const KEPT_MAX_MS = 5_000

/** Keeps an answer for a moment, so that many pages that ask cost as much as one (FIGURE-1). */
export class Kept<Value> {
  readonly #keepMs: number
  readonly #clock: () => number
  readonly #known = new Map<
    string,
    { readonly at: number; readonly keepMs: number; readonly value: Value }
  >()

  /** `clock`: for how long an answer took to make. */
  constructor(keepMs: number, clock: () => number = () => performance.now()) {
    this.#keepMs = keepMs
    this.#clock = clock
  }

  /** The number of askers whose answers are kept. */
  get size(): number {
    return this.#known.size
  }

  /** `asker`: whose answer it is. `make` is called if there is none, or if it is too old. */
  get(asker: string, nowMs: number, make: () => Value): Value {
    const known = this.#known.get(asker)
    if (known !== undefined && nowMs >= known.at && nowMs - known.at < known.keepMs) {
      return known.value
    }
    const begun = this.#clock()
    const value = make()
    const longMs = TIMES_KEPT * (this.#clock() - begun)
    const keepMs = Math.max(this.#keepMs, Math.min(longMs, KEPT_MAX_MS))
    if (known === undefined && this.#known.size >= ASKERS_MAX) this.#known.clear()
    this.#known.set(asker, { at: nowMs, keepMs, value })
    return value
  }
}
