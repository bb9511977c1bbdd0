/** Entries move after more additions than this, and after more additions than the map has entries. */
const MOVED_AFTER = 1_000
/** Larger maps are not moved: the pause would be too long, and they change less often. */
const MOVED_MAX = 10_000

/**
 * A map for entries that come and go quickly, thousands of times a second.
 *
 * In V8, a map with many deletions gets a new table from time to time. The old table points to the new one and to
 * everything that was in it. A table that only a full collection can free keeps the next one from a young
 * collection, and so on. Then no entry that passes through the map is collected young; each is copied twice and
 * marked. To prevent this, the entries move to a new map to which nothing points. An iteration that is under way
 * at that time continues over the old map.
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
