const SECONDS = 10

/** How many a second, over the last ten. */
export class Rate {
  readonly #counts = new Array<number>(SECONDS + 1).fill(0)
  #second = 0

  add(nowMs: number): void {
    const second = this.#turn(nowMs)
    const at = second % this.#counts.length
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
  }

  perSecond(nowMs: number): number {
    const second = this.#turn(nowMs)
    const whole = this.#counts.filter((_, i) => i !== second % this.#counts.length)
    return whole.reduce((sum, count) => sum + count, 0) / SECONDS
  }

  /** Empties the seconds that have passed since the last look. */
  #turn(nowMs: number): number {
    const second = Math.floor(nowMs / 1_000)
    const passed = Math.min(second - this.#second, this.#counts.length)
    for (let i = 0; i < passed; i++) this.#counts[(second - i) % this.#counts.length] = 0
    this.#second = second
    return second
  }
}
