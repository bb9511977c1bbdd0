/** A plain binary heap of numbers, smallest first: the least that an order by score takes. */
export class NumberHeap {
  readonly #keys: Float64Array
  #size = 0

  constructor(capacity: number) {
    this.#keys = new Float64Array(capacity)
  }

  push(key: number): void {
    const keys = this.#keys
    let at = this.#size++
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = keys[parent] as number
      if (above <= key) break
      keys[at] = above
      at = parent
    }
    keys[at] = key
  }

  pop(): number {
    const keys = this.#keys
    const top = keys[0] as number
    const last = keys[--this.#size] as number
    let at = 0
    for (let child = 1; child < this.#size; child = 2 * at + 1) {
      if (child + 1 < this.#size && (keys[child + 1] as number) < (keys[child] as number)) child++
      if ((keys[child] as number) >= last) break
      keys[at] = keys[child] as number
      at = child
    }
    keys[at] = last
    return top
  }
}
