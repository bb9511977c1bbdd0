const PLACES_START = 1_024
/** With more than this part of its slots taken the table grows, with less than that it shrinks. */
const FULL = 0.75
const SPARSE = 0.1
/** Of an id so many characters count: the last ones, because the first are alike in many. */
const HASHED = 12
const FREE = 0

/**
 * What has an id of its own, by that id: a hash, of which any part will do to find it. Waiting jobs come
 * by the hundred thousand, and a `Map` takes four times as long to take one in: it hashes the whole
 * id, keeps an order that nobody needs, and looks at every id again when it grows. Here the hashes lie
 * side by side. Who makes up ids that meet in one slot has those looked at one by one, at some
 * nanoseconds each. What `values` gives is in no order.
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

  /** In the place of one with the same id. */
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

  /** Where it is, or the free slot where it would be. */
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

  /** Frees a slot; those behind it that would not be found any more move up. */
  #close(slot: number): void {
    const hashes = this.#hashes
    const last = hashes.length - 1
    let free = slot
    for (let next = (slot + 1) & last; hashes[next] !== FREE; next = (next + 1) & last) {
      const hash = hashes[next] as number
      // How far it has come from where it belongs; if the free slot is on that way, it moves there.
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

/** Never `FREE`. */
function hashOf(id: string): number {
  let hash = 0
  for (let i = Math.max(0, id.length - HASHED); i < id.length; i++) {
    hash = (Math.imul(hash, 31) + id.charCodeAt(i)) | 0
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  hash ^= hash >>> 13
  return hash === FREE ? 1 : hash
}
