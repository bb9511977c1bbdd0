/** So many come, and at least as many as are inside, before those that are inside are moved. */
const MOVED_AFTER = 1_000
/** More than these are not moved: it would hold everything up, and they change less often. */
const MOVED_MAX = 10_000

/**
 * A map for what comes and soon goes again, a thousand times a second.
 *
 * In V8 a map that has many entries deleted gets a new table from time to time, and the old table points to
 * the new one and to all that was in it. Once a table is so old that only a full collection can free it, it
 * keeps the next one from being collected when that is young, and so on: nothing that passes through the
 * map is collected young any more, and all of it is copied twice and marked. So before it comes to that,
 * the entries move into a map of their own, to which nothing points. Who goes through the entries while
 * others come sees those that were there.
 */
export class TransitMap<Key, Value> {
  #inside = new Map<Key, Value>()
  #came = 0

  get size(): number {
    return this.#inside.size
  }

  get(key: Key): Value | undefined {
    return this.#inside.get(key)
  }

  has(key: Key): boolean {
    return this.#inside.has(key)
  }

  set(key: Key, value: Value): void {
    if (++this.#came > MOVED_AFTER) this.#move()
    this.#inside.set(key, value)
  }

  delete(key: Key): boolean {
    return this.#inside.delete(key)
  }

  clear(): void {
    this.#inside = new Map()
    this.#came = 0
  }

  keys(): IterableIterator<Key> {
    return this.#inside.keys()
  }

  values(): IterableIterator<Value> {
    return this.#inside.values()
  }

  [Symbol.iterator](): IterableIterator<[Key, Value]> {
    return this.#inside[Symbol.iterator]()
  }

  #move(): void {
    if (this.#inside.size > MOVED_MAX || this.#came <= this.#inside.size) return
    const inside = new Map<Key, Value>()
    for (const [key, value] of this.#inside) inside.set(key, value)
    this.#inside = inside
    this.#came = 0
  }
}
