/**
 * The dice of a simulation: sfc32, a small generator with a period far beyond any run. Not the dice of
 * core: what a run does must not change when the code under test does.
 */
export class Dice {
  #a: number
  #b: number
  #c: number
  #count = 1

  constructor(seed: number, stream = 0) {
    this.#a = seed | 0
    this.#b = Math.floor(seed / 2 ** 32) | 0
    this.#c = stream | 0
    for (let i = 0; i < 15; i++) this.#word()
  }

  /** Uniform enough over 0 … n − 1: the error is below n / 2^32. */
  below(n: number): number {
    return Math.floor((this.#word() / 2 ** 32) * n)
  }

  /** From `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1)
  }

  oneIn(n: number): boolean {
    return this.below(n) === 0
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }

  /** One of the names, each as likely as its weight says; those of weight 0 never. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries(weights) as [Name, number][]
    let left = this.below(entries.reduce((sum, [, weight]) => sum + weight, 0))
    for (const [name, weight] of entries) {
      if (left < weight) return name
      left -= weight
    }
    return (entries[0] as [Name, number])[0]
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.below(256))
  }

  #word(): number {
    const sum = (this.#a + this.#b + this.#count) | 0
    this.#count = (this.#count + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return sum >>> 0
  }
}
