/** How much of something is in use under each key, and how much may be. */
export class Tally {
  readonly #max: number
  readonly #used = new Map<string, number>()

  constructor(max: number) {
    this.#max = max
  }

  /** False if so much more would be too much. */
  take(key: string, amount = 1): boolean {
    const used = (this.#used.get(key) ?? 0) + amount
    if (used > this.#max) return false
    this.#used.set(key, used)
    return true
  }

  give(key: string, amount = 1): void {
    const used = (this.#used.get(key) ?? 0) - amount
    if (used > 0) this.#used.set(key, used)
    else this.#used.delete(key)
  }
}
