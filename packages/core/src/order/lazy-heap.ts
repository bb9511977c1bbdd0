/** An item says for each heap whether it is inside; see `LazyHeap`. */
export interface HeapItem {
  places: number
}

export interface LazyHeapOptions<T> {
  /** Which two bits of `places` are this heap's; heaps that share items differ in it. 0 … 14. */
  readonly place: number
  readonly keyOf: (item: T) => number
  /** Order of two items with equal keys; it ends in an id, so that the order is total. */
  readonly before: (a: T, b: T) => boolean
}

/**
 * A priority queue for millions of items: the smallest key first.
 *
 * Keys lie beside each other in one array of doubles, four children to a node, so that a step down
 * reads one cache line and never the items themselves. For the same reason an item does not know its
 * index. An item that leaves only loses its `live` bit; its record stays until it comes to the top or
 * until half of all records are dead and one sweep removes them. An item that comes back before that
 * finds its record still there. All calls are O(log n), leaving and sweeping amortised.
 *
 * While an item is inside its key may grow, which is noticed when its record reaches the top. After
 * any other change of keys the owner calls `rebuild`.
 */
export class LazyHeap<T extends HeapItem> {
  readonly #inside: number
  readonly #live: number
  readonly #keyOf: (item: T) => number
  readonly #before: (a: T, b: T) => boolean
  #keys: number[] = []
  #items: T[] = []
  #dead = 0

  constructor({ place, keyOf, before }: LazyHeapOptions<T>) {
    this.#inside = 1 << (2 * place)
    this.#live = 2 << (2 * place)
    this.#keyOf = keyOf
    this.#before = before
  }

  /** How many items are inside. */
  get size(): number {
    return this.#items.length - this.#dead
  }

  has(item: T): boolean {
    return (item.places & this.#live) !== 0
  }

  enter(item: T): void {
    const { places } = item
    if ((places & this.#live) !== 0) return
    item.places = places | this.#inside | this.#live
    if ((places & this.#inside) !== 0) this.#dead--
    else this.#push(this.#keyOf(item), item)
  }

  leave(item: T): void {
    if ((item.places & this.#live) === 0) return
    item.places &= ~this.#live
    this.#dead++
    if (this.#dead > 16 && 2 * this.#dead > this.#items.length) this.#sweep()
  }

  /** The first item, which stays inside. */
  top(): T | undefined {
    for (;;) {
      const item = this.#items[0]
      if (item === undefined) return undefined
      if ((item.places & this.#live) === 0) {
        this.#dead--
        this.#removeTop()
        item.places &= ~this.#inside
        continue
      }
      const key = this.#keyOf(item)
      if (key === this.#keys[0]) return item
      this.#sink(0, key, item)
    }
  }

  /** The smallest key, or infinity when nothing is inside. */
  topKey(): number {
    return this.top() === undefined ? Number.POSITIVE_INFINITY : (this.#keys[0] as number)
  }

  /** No key is smaller, though it may be that of an item that has left: it takes no tidying up to say. */
  get floor(): number {
    return this.#keys.length === 0 ? Number.POSITIVE_INFINITY : (this.#keys[0] as number)
  }

  pop(): T | undefined {
    const item = this.top()
    if (item === undefined) return undefined
    this.#removeTop()
    item.places &= ~(this.#inside | this.#live)
    return item
  }

  /** Takes in whatever became of the keys. */
  rebuild(): void {
    this.#sweep()
    for (let i = 0; i < this.#items.length; i++) this.#keys[i] = this.#keyOf(this.#items[i] as T)
    this.#heapify()
  }

  /** All items inside, in no order. */
  *[Symbol.iterator](): IterableIterator<T> {
    for (const item of this.#items) if (this.has(item)) yield item
  }

  /** In place: it happens often enough that new lists would be a part of all garbage. */
  #sweep(): void {
    const keys = this.#keys
    const items = this.#items
    let left = 0
    for (let i = 0; i < items.length; i++) {
      const item = items[i] as T
      if ((item.places & this.#live) === 0) {
        item.places &= ~this.#inside
        continue
      }
      keys[left] = keys[i] as number
      items[left] = item
      left++
    }
    keys.length = left
    items.length = left
    this.#dead = 0
    this.#heapify()
  }

  #heapify(): void {
    for (let i = (this.#items.length - 2) >> 2; i >= 0; i--) {
      this.#sink(i, this.#keys[i] as number, this.#items[i] as T)
    }
  }

  #push(key: number, item: T): void {
    const keys = this.#keys
    const items = this.#items
    let i = items.length
    keys.push(key)
    items.push(item)
    while (i > 0) {
      const parent = (i - 1) >> 2
      const parentKey = keys[parent] as number
      if (key > parentKey) break
      const parentItem = items[parent] as T
      if (key === parentKey && !this.#before(item, parentItem)) break
      keys[i] = parentKey
      items[i] = parentItem
      i = parent
    }
    keys[i] = key
    items[i] = item
  }

  #removeTop(): void {
    const key = this.#keys.pop() as number
    const item = this.#items.pop() as T
    if (this.#items.length > 0) this.#sink(0, key, item)
  }

  /** Puts a record into the hole at `i`, or further down if smaller ones are below. */
  #sink(start: number, key: number, item: T): void {
    const keys = this.#keys
    const items = this.#items
    const { length } = items
    let i = start
    for (;;) {
      const first = 4 * i + 1
      if (first >= length) break
      const end = first + 4 < length ? first + 4 : length
      let best = first
      let bestKey = keys[first] as number
      for (let child = first + 1; child < end; child++) {
        const childKey = keys[child] as number
        if (childKey > bestKey) continue
        if (childKey === bestKey && !this.#before(items[child] as T, items[best] as T)) continue
        best = child
        bestKey = childKey
      }
      if (key < bestKey) break
      const bestItem = items[best] as T
      if (key === bestKey && this.#before(item, bestItem)) break
      keys[i] = bestKey
      items[i] = bestItem
      i = best
    }
    keys[i] = key
    items[i] = item
  }
}
