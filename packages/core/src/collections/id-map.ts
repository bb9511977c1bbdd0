const PLACES_START = 1_024
/** With more than this part of its places taken the table grows, with less than that it shrinks. */
const FULL = 0.75
const SPARSE = 0.1
/** Of an id so many characters count: the last ones, because the first are alike in many. */
const HASHED = 12
const FREE = 0

/**
 * What has an id of its own, by that id: a hash, of which any part will do to find it. Waiting jobs come
 * by the hundred thousand, and a `Map` takes four times as long to take one in: it hashes the whole
 * id, keeps an order that nobody needs, and looks at every id again when it grows. Here the hashes lie
 * side by side. Who makes up ids that meet in one place has those looked at one by one, at some
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
    const place = this.#find(id, hashOf(id))
    return this.#values[place] ?? undefined
  }

  has(id: string): boolean {
    return this.get(id) !== undefined
  }

  /** In the place of one with the same id. */
  add(value: Value): void {
    const hash = hashOf(value.id)
    let place = this.#find(value.id, hash)
    if (this.#values[place] === null) {
      if (++this.#size > FULL * this.#values.length) {
        this.#resize(2 * this.#values.length)
        place = this.#find(value.id, hash)
      }
    }
    this.#hashes[place] = hash
    this.#values[place] = value
  }

  delete(id: string): boolean {
    const place = this.#find(id, hashOf(id))
    if (this.#values[place] === null) return false
    this.#close(place)
    if (--this.#size < SPARSE * this.#values.length && this.#values.length > PLACES_START) {
      this.#resize(this.#values.length / 2)
    }
    return true
  }

  *values(): IterableIterator<Value> {
    for (const value of this.#values) if (value !== null) yield value
  }

  /** Where it is, or the free place where it would be. */
  #find(id: string, hash: number): number {
    const hashes = this.#hashes
    const last = hashes.length - 1
    let place = hash & last
    while (hashes[place] !== FREE) {
      if (hashes[place] === hash && this.#values[place]?.id === id) break
      place = (place + 1) & last
    }
    return place
  }

  /** Frees a place; those behind it that would not be found any more move up. */
  #close(place: number): void {
    const hashes = this.#hashes
    const last = hashes.length - 1
    let free = place
    for (let next = (place + 1) & last; hashes[next] !== FREE; next = (next + 1) & last) {
      const hash = hashes[next] as number
      // How far it has come from where it belongs; if the free place is on that way, it moves there.
      if (((next - hash) & last) < ((next - free) & last)) continue
      hashes[free] = hash
      this.#values[free] = this.#values[next] as Value
      free = next
    }
    hashes[free] = FREE
    this.#values[free] = null
  }

  #resize(places: number): void {
    const hashes = this.#hashes
    const values = this.#values
    this.#hashes = new Int32Array(places)
    this.#values = new Array<Value | null>(places).fill(null)
    for (let from = 0; from < hashes.length; from++) {
      const hash = hashes[from] as number
      if (hash === FREE) continue
      let place = hash & (places - 1)
      while (this.#hashes[place] !== FREE) place = (place + 1) & (places - 1)
      this.#hashes[place] = hash
      this.#values[place] = values[from] as Value
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
