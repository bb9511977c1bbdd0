/** How many places at the front may be empty before the rest moves up. */
const EMPTY_MAX = 1_024

/** First in, first out; long ones too, whose `shift` would move all the rest. */
export class Fifo<Item> {
  #items: (Item | undefined)[] = []
  #first = 0

  push(item: Item): void {
    this.#items.push(item)
  }

  shift(): Item | undefined {
    const item = this.#items[this.#first]
    if (this.#first === this.#items.length) return undefined
    this.#items[this.#first++] = undefined
    if (this.#first === this.#items.length || this.#first > EMPTY_MAX + this.#items.length / 2) {
      this.#items = this.#items.slice(this.#first)
      this.#first = 0
    }
    return item
  }
}
