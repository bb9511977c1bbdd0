/** An item stores two bits for each heap that may contain it; see `LazyHeap`. */
export interface HeapItem {
  heapBits: number
}

export interface LazyHeapOptions<T> {
  /** The two bits of `heapBits` that this heap uses, 0 … 14. Heaps that share items need different pairs. */
  readonly bitPair: number
  readonly keyOf: (item: T) => number
  /** The order of two items with equal keys. It ends in an id, so that the order is total. */
  readonly before: (a: T, b: T) => boolean
}

/**
 * A priority queue for millions of items: the smallest key first.
 *
 * Keys lie side by side in one array of doubles, with four children to a node. A step down reads one cache line
 * and never the items themselves. For the same reason an item does not know its index. An item that leaves only
 * loses its `live` bit. Its record stays until it reaches the top, or until half of all records are dead and one
 * sweep removes them. An item that returns earlier reuses its record. All calls are O(log n); leaving and sweeping
 * are amortised.
 *
 * Most items arrive in order, with a later time than the one before. Such an item goes to the end of a line beside
 * the heap, and the smaller of the two heads comes first. With a million waiting items, a step down from the top
 * of the heap would compare forty items that are not in any cache.
 *
 * While an item is inside, its key may grow; the heap notices this when the record reaches the top. After any
 * other change of keys the owner calls `rebuild`.
 */
export class LazyHeap<T extends HeapItem> {
  readonly #inside: number
  readonly #live: number
  readonly #keyOf: (item: T) => number
  readonly #before: (a: T, b: T) => boolean
  #keys: number[] = []
  #items: T[] = []
  readonly #line = new Line<T>()
  #dead = 0

  constructor({ bitPair, keyOf, before }: LazyHeapOptions<T>) {
    this.#inside = 1 << (2 * bitPair)
    this.#live = 2 << (2 * bitPair)
    this.#keyOf = keyOf
    this.#before = before
  }

  /** How many items are inside. */
  get size(): number {
    return this.#records - this.#dead
  }

  has(item: T): boolean {
    return (item.heapBits & this.#live) !== 0
  }

  enter(item: T): void {
    const { heapBits } = item
    if ((heapBits & this.#live) !== 0) return
    item.heapBits = heapBits | this.#inside | this.#live
    if ((heapBits & this.#inside) !== 0) {
      this.#dead--
      return
    }
    const key = this.#keyOf(item)
    const { last, lastKey } = this.#line
    const isNext =
      last === undefined || key > lastKey || (key === lastKey && this.#before(last, item))
    if (isNext) this.#line.push(key, item)
    else this.#push(key, item)
  }

  leave(item: T): void {
    if ((item.heapBits & this.#live) === 0) return
    item.heapBits &= ~this.#live
    this.#dead++
    if (this.#dead > 16 && 2 * this.#dead > this.#records) this.#sweep()
  }

  /** The first item, which stays inside. */
  top(): T | undefined {
    for (;;) {
      const isInLine = this.#isFirstInLine()
      if (!isInLine && this.#items.length === 0) return undefined
      const item = (isInLine ? this.#line.first : this.#items[0]) as T
      if ((item.heapBits & this.#live) === 0) {
        this.#dead--
        this.#removeFirst(isInLine)
        item.heapBits &= ~this.#inside
        continue
      }
      const key = this.#keyOf(item)
      if (key === (isInLine ? this.#line.firstKey : this.#keys[0])) return item
      if (isInLine) {
        this.#line.shift()
        this.#push(key, item)
      } else this.#sink(0, key, item)
    }
  }

  /** The smallest key, or infinity if the heap is empty. */
  topKey(): number {
    return this.top() === undefined ? Number.POSITIVE_INFINITY : this.floor
  }

  /** A lower bound of the keys, found without tidying up. It may be the key of an item that has left. */
  get floor(): number {
    const key = this.#keys.length === 0 ? Number.POSITIVE_INFINITY : (this.#keys[0] as number)
    return Math.min(key, this.#line.firstKey)
  }

  pop(): T | undefined {
    const item = this.top()
    if (item === undefined) return undefined
    this.#removeFirst(this.#isFirstInLine())
    item.heapBits &= ~(this.#inside | this.#live)
    return item
  }

  /** Adopts any change of the keys. */
  rebuild(): void {
    this.#sweep()
    for (const item of this.#line) this.#items.push(item)
    this.#line.clear()
    this.#keys = this.#items.map(this.#keyOf)
    this.#heapify()
  }

  /** All items inside, in no order. */
  *[Symbol.iterator](): IterableIterator<T> {
    for (const item of this.#items) if (this.has(item)) yield item
    for (const item of this.#line) if (this.has(item)) yield item
  }

  /** The items inside with a key up to this one, in no order. It looks at few others. */
  *upTo(key: number): IterableIterator<T> {
    const open = this.#items.length === 0 ? [] : [0]
    for (let i = open.pop(); i !== undefined; i = open.pop()) {
      // Below a key that is too large are only larger ones.
      if ((this.#keys[i] as number) > key) continue
      const item = this.#items[i] as T
      if (this.has(item) && this.#keyOf(item) <= key) yield item
      for (let child = 4 * i + 1; child <= 4 * i + 4; child++) {
        if (child < this.#items.length) open.push(child)
      }
    }
    for (const item of this.#line.upTo(key)) {
      if (this.has(item) && this.#keyOf(item) <= key) yield item
    }
  }

  /** The number of all records, dead ones included. */
  get #records(): number {
    return this.#items.length + this.#line.length
  }

  /** True if the line has the first record of all. */
  #isFirstInLine(): boolean {
    const { first, firstKey } = this.#line
    if (first === undefined || this.#items.length === 0) return first !== undefined
    const item = this.#items[0] as T
    const key = this.#keys[0] as number
    return firstKey < key || (firstKey === key && this.#before(first, item))
  }

  #removeFirst(isInLine: boolean): void {
    if (isInLine) this.#line.shift()
    else this.#removeTop()
  }

  /** Works in place: sweeps are frequent, and new lists would be a large part of all garbage. */
  #sweep(): void {
    const keys = this.#keys
    const items = this.#items
    let left = 0
    for (let i = 0; i < items.length; i++) {
      const item = items[i] as T
      if ((item.heapBits & this.#live) === 0) {
        item.heapBits &= ~this.#inside
        continue
      }
      keys[left] = keys[i] as number
      items[left] = item
      left++
    }
    keys.length = left
    items.length = left
    this.#line.keep((item) => {
      const isLive = (item.heapBits & this.#live) !== 0
      if (!isLive) item.heapBits &= ~this.#inside
      return isLive
    })
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

  /** Puts a record into the hole at `i`, or further down if smaller records are below. */
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

/** More than this many records must be gone before the others move up. */
const GONE_MAX = 1_024

/** Records in ascending order. A new record has to come after the last one. */
class Line<T> {
  #keys: number[] = []
  /** Removed items are set to undefined, so that they can be collected. */
  #items: (T | undefined)[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  get first(): T | undefined {
    return this.length === 0 ? undefined : this.#items[this.#head]
  }

  /** Infinity if there is none. */
  get firstKey(): number {
    return this.length === 0 ? Number.POSITIVE_INFINITY : (this.#keys[this.#head] as number)
  }

  get last(): T | undefined {
    return this.length === 0 ? undefined : this.#items[this.#items.length - 1]
  }

  /** Minus infinity if there is none. */
  get lastKey(): number {
    return this.length === 0
      ? Number.NEGATIVE_INFINITY
      : (this.#keys[this.#keys.length - 1] as number)
  }

  push(key: number, item: T): void {
    this.#keys.push(key)
    this.#items.push(item)
  }

  shift(): void {
    this.#items[this.#head++] = undefined
    if (this.#head === this.#items.length) this.clear()
    else if (this.#head > GONE_MAX && 2 * this.#head > this.#items.length) this.keep(() => true)
  }

  clear(): void {
    this.#keys.length = 0
    this.#items.length = 0
    this.#head = 0
  }

  /** Keeps the records that `isKept` selects, in order. */
  keep(isKept: (item: T) => boolean): void {
    const keys = this.#keys
    const items = this.#items
    let left = 0
    for (let i = this.#head; i < items.length; i++) {
      const item = items[i] as T
      if (!isKept(item)) continue
      keys[left] = keys[i] as number
      items[left] = item
      left++
    }
    keys.length = left
    items.length = left
    this.#head = 0
  }

  *upTo(key: number): IterableIterator<T> {
    for (let i = this.#head; i < this.#items.length && (this.#keys[i] as number) <= key; i++) {
      yield this.#items[i] as T
    }
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (let i = this.#head; i < this.#items.length; i++) yield this.#items[i] as T
  }
}
