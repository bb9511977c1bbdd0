const PLACES_START = 1_024
/** The table grows above the one share of taken slots, and shrinks below the other. */
const FULL = 0.75
const SPARSE = 0.1
/** The number of characters that are hashed: the last ones, because many ids begin alike. */
const HASHED = 12
const FREE = 0

/**
 * A map of values by their own id. An id is a hash, so any part of it serves to find it. There are hundreds of
 * thousands of waiting jobs, and a `Map` takes four times as long for an insert. It hashes the whole id, keeps an
 * unneeded order, and reads every id again when it grows. Here the hashes lie side by side. Crafted ids that
 * collide in one slot are compared one by one, at a few nanoseconds each. `values` has no particular order.
 */
export class IdMap<Value extends { readonly id: string }> {
  #hashes = new Int32Array(PLACES_START)
  #values: (Value | null)[] = new Array<Value | null>(PLACES_START).fill(null)
  #size = 0

  get size(): number {
    return this.#size
  }

  get(id: string): Value | undefined {
    const slot = this.#find(id, hashOf(id))
    return this.#values[slot] ?? undefined
  }

  has(id: string): boolean {
    return this.get(id) !== undefined
  }

  /** Replaces a value with the same id. */
  add(value: Value): void {
    const hash = hashOf(value.id)
    let slot = this.#find(value.id, hash)
    if (this.#values[slot] === null) {
      if (++this.#size > FULL * this.#values.length) {
        this.#resize(2 * this.#values.length)
        slot = this.#find(value.id, hash)
      }
    }
    this.#hashes[slot] = hash
    this.#values[slot] = value
  }

  delete(id: string): boolean {
    const slot = this.#find(id, hashOf(id))
    if (this.#values[slot] === null) return false
    this.#close(slot)
    if (--this.#size < SPARSE * this.#values.length && this.#values.length > PLACES_START) {
      this.#resize(this.#values.length / 2)
    }
    return true
  }

  *values(): IterableIterator<Value> {
    for (const value of this.#values) if (value !== null) yield value
  }

  /** The slot of the id, or the free slot where it belongs. */
  #find(id: string, hash: number): number {
    const hashes = this.#hashes
    const last = hashes.length - 1
    let slot = hash & last
    while (hashes[slot] !== FREE) {
      if (hashes[slot] === hash && this.#values[slot]?.id === id) break
      slot = (slot + 1) & last
    }
    return slot
  }

  /** Frees a slot. Later entries that could no longer be found move up. */
  #close(slot: number): void {
    const hashes = this.#hashes
    const last = hashes.length - 1
    let free = slot
    for (let next = (slot + 1) & last; hashes[next] !== FREE; next = (next + 1) & last) {
      const hash = hashes[next] as number
      // The entry moves if the free slot lies between its home slot and its present slot.
      if (((next - hash) & last) < ((next - free) & last)) continue
      hashes[free] = hash
      this.#values[free] = this.#values[next] as Value
      free = next
    }
    hashes[free] = FREE
    this.#values[free] = null
  }

  #resize(slots: number): void {
    const hashes = this.#hashes
    const values = this.#values
    this.#hashes = new Int32Array(slots)
    this.#values = new Array<Value | null>(slots).fill(null)
    for (let from = 0; from < hashes.length; from++) {
      const hash = hashes[from] as number
      if (hash === FREE) continue
      let slot = hash & (slots - 1)
      while (this.#hashes[slot] !== FREE) slot = (slot + 1) & (slots - 1)
      this.#hashes[slot] = hash
      this.#values[slot] = values[from] as Value
    }
  }
}

/** Never returns `FREE`. */
function hashOf(id: string): number {
  let hash = 0
  for (let i = Math.max(0, id.length - HASHED); i < id.length; i++) {
    hash = (Math.imul(hash, 31) + id.charCodeAt(i)) | 0
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  hash ^= hash >>> 13
  return hash === FREE ? 1 : hash
}
