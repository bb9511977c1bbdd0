/** An item stores its index in the one heap that contains it; −1 at first. */
export interface IndexedItem {
  heapIndex: number
}

/**
 * A priority queue whose items may be removed at any time. It suits thousands of items with costly comparisons;
 * for millions of jobs use `LazyHeap`.
 */
export class IndexedHeap<T extends IndexedItem> {
  readonly #before: (a: T, b: T) => boolean
  readonly #items: T[] = []

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before
  }

  get size(): number {
    return this.#items.length
  }

  top(): T | undefined {
    return this.#items[0]
  }

  add(item: T): void {
    this.#items.push(item)
    this.#up(this.#items.length - 1, item)
  }

  /** Removes an item. To change an item's order, remove it first and add it again afterwards. */
  remove(item: T): boolean {
    const at = item.heapIndex
    if (this.#items[at] !== item) return false
    item.heapIndex = -1
    const last = this.#items.pop() as T
    if (at < this.#items.length) {
      this.#up(at, last)
      this.#down(last.heapIndex, last)
    }
    return true
  }

  /** Call this after a change of anything that the order depends on. */
  rebuild(): void {
    for (let i = (this.#items.length >> 1) - 1; i >= 0; i--) this.#down(i, this.#items[i] as T)
  }

  #up(start: number, item: T): void {
    let i = start
    while (i > 0) {
      const parent = (i - 1) >> 1
      const above = this.#items[parent] as T
      if (!this.#before(item, above)) break
      this.#set(i, above)
      i = parent
    }
    this.#set(i, item)
  }

  #down(start: number, item: T): void {
    let i = start
    for (;;) {
      let child = 2 * i + 1
      if (child >= this.#items.length) break
      const right = child + 1
      if (
        right < this.#items.length &&
        this.#before(this.#items[right] as T, this.#items[child] as T)
      ) {
        child = right
      }
      if (!this.#before(this.#items[child] as T, item)) break
      this.#set(i, this.#items[child] as T)
      i = child
    }
    this.#set(i, item)
  }

  #set(at: number, item: T): void {
    this.#items[at] = item
    item.heapIndex = at
  }
}
