import { invariant } from '../errors.ts'

/** No valid id is longer. A valid id has at most this many bytes, and each UTF-16 unit takes at least one byte. */
const ID_UNITS_MAX = 256

/** The maximum number of ids in one chain; further ids are in a map. */
const CHAIN_MAX = 64

/** The number of recent ids that are found by the string itself; a power of two. */
const RECENT = 1_024

/** The columns of a row: the hash, the number of the next id in its chain, the start of its text and its length. */
const HASH = 0
const NEXT = 1
const START = 2
const LENGTH = 3
const ROW = 4

/**
 * Ids in order of age, in a fixed number of slots. They are in typed arrays instead of a map of strings. A million
 * ids are remembered for a minute each; as objects they would burden the garbage collector and spread over the
 * heap.
 *
 * The slots are a ring: a new id takes the next slot, and the start of the ring moves up when the oldest ids go.
 * The text is a ring too, in the same order. An id that stays for long keeps everything after it, free or not.
 * When no room is left, the owner copies the taken slots into another `LeaseIds`.
 *
 * An id is found through its hash, along a chain from newer to older ids. A removed id stays in its chain, because
 * unlinking it would cost as much as finding it. A row without length is free, and a chain ends where the ring
 * begins. The hash is no secret, and someone could choose ids with equal hashes. So a chain has a maximum length,
 * and further ids are in a map.
 *
 * Every id has a number, one more than the id before; its slot is this number modulo the number of slots. Numbers
 * are kept modulo 2^32, so a link that nobody has followed for that long may point anywhere. It then leads to
 * other ids, but to no more of them than a chain has.
 */
export class LeaseIds {
  readonly #slots: number
  /** The number of the newest id of each chain. */
  readonly #heads: Int32Array
  /** Four numbers for each slot, side by side in memory because they are read together. */
  readonly #rows: Int32Array
  readonly #text: Uint16Array
  readonly #beyondChains = new Map<string, number>()
  /** The numbers of the oldest id and of the next new id. The number 0 came before all ids. */
  #first = 1
  #next = 1
  /** Where the text of the next id may begin, as if the ring had no end; modulo 2^32. */
  #textNext = 0
  #turn = 1
  #rounds = 0
  #size = 0
  /** The last id that was asked for, which is usually the next one to be added. */
  #asked = ''
  readonly #askedText = new Uint16Array(ID_UNITS_MAX)
  #askedHash = 0
  /**
   * Recent ids by their last characters, because most reserved ids are completed soon. To compare two strings,
   * mostly identical ones, costs much less than to read one. The number of an id tells if it is still here.
   */
  readonly #recent: string[] = Array(RECENT).fill('')
  readonly #recentNumbers = new Float64Array(RECENT)

  /** Both are powers of two. The text is in UTF-16 units, at most 2^30. */
  constructor(slots: number, textUnits: number) {
    this.#slots = slots
    this.#heads = new Int32Array(2 * slots)
    this.#rows = new Int32Array(ROW * slots)
    this.#text = new Uint16Array(textUnits)
  }

  get size(): number {
    return this.#size
  }

  hasRoomFor(id: string): boolean {
    const { length } = id
    if (this.#first === this.#next) return length <= this.#text.length
    const end = this.#startFor(length) + length
    const taken = (end - this.#at(this.oldest(), START)) >>> 0
    return this.#next - this.#first < this.#slots && taken <= this.#text.length
  }

  /** The slot of an id, or −1. */
  find(id: string): number {
    if (id.length > ID_UNITS_MAX) return -1
    const recent = this.#findRecent(id)
    if (recent >= 0) return recent
    this.#read(id)
    return this.#search(id)
  }

  /** Takes a slot for an id that has none. The caller has checked that there is room. */
  add(id: string): number {
    invariant(id.length <= ID_UNITS_MAX, 'an id that is remembered was checked before')
    if (id !== this.#asked) this.#read(id)
    const at = recentAt(id)
    this.#recent[at] = id
    this.#recentNumbers[at] = this.#next
    return this.#append(this.#askedText, 0, id.length, this.#askedHash)
  }

  /** The same for an id in a slot of another `LeaseIds`. */
  addFrom(other: LeaseIds, from: number): number {
    return this.#append(
      other.#text,
      other.#textAt(from),
      other.lengthAt(from),
      other.#at(from, HASH),
    )
  }

  /** Frees a taken slot. */
  remove(slot: number): void {
    if (this.#beyondChains.size > 0) this.#removeBeyond(slot)
    this.#rows[ROW * slot + LENGTH] = 0
    this.#size--
    while (this.#first < this.#next && this.lengthAt(this.oldest()) === 0) this.#first++
  }

  idAt(slot: number): string {
    const at = this.#textAt(slot)
    return String.fromCharCode(...this.#text.subarray(at, at + this.lengthAt(slot)))
  }

  /** In UTF-16 units; 0 for a free slot. */
  lengthAt(slot: number): number {
    return this.#at(slot, LENGTH)
  }

  /** The slot of the oldest id. There must be one. */
  oldest(): number {
    return this.#slotOf(this.#first)
  }

  /** How often `inTurn` has started over. */
  get rounds(): number {
    return this.#rounds
  }

  /** Visits all slots from the oldest to the newest, one per call; −1 for a free slot. */
  inTurn(): number {
    if (this.#turn >= this.#next) {
      this.#turn = this.#first
      this.#rounds++
    }
    // The next slot in turn may be gone, together with all slots up to the oldest.
    if (this.#turn < this.#first) this.#turn = this.#first
    if (this.#turn === this.#next) return -1
    const slot = this.#slotOf(this.#turn++)
    return this.lengthAt(slot) === 0 ? -1 : slot
  }

  /** The taken slots, oldest first. */
  *taken(): IterableIterator<number> {
    for (let number = this.#first; number < this.#next; number++) {
      const slot = this.#slotOf(number)
      if (this.lengthAt(slot) !== 0) yield slot
    }
  }

  #findRecent(id: string): number {
    const at = recentAt(id)
    if (this.#recent[at] !== id) return -1
    const number = this.#recentNumbers[at] as number
    const slot = this.#slotOf(number)
    return number >= this.#first && this.lengthAt(slot) !== 0 ? slot : -1
  }

  #at(slot: number, column: number): number {
    return this.#rows[ROW * slot + column] as number
  }

  #slotOf(number: number): number {
    return number & (this.#slots - 1)
  }

  #chainOf(hash: number): number {
    return hash & (this.#heads.length - 1)
  }

  #textAt(slot: number): number {
    return this.#at(slot, START) & (this.#text.length - 1)
  }

  /** The text of an id is contiguous, so the end of the ring may stay unused. */
  #startFor(length: number): number {
    const untilEnd = this.#text.length - (this.#textNext & (this.#text.length - 1))
    return length <= untilEnd ? this.#textNext : (this.#textNext + untilEnd) | 0
  }

  /**
   * Makes this the current id. Its text is read only once, for the hash, the comparison and the storage. To read
   * each character of a string takes longer than all other work here.
   */
  #read(id: string): void {
    const text = this.#askedText
    // Not mixed further: chains of ids that count up are adjacent, and so in the processor's cache. All bits of
    // other ids reach the lowest bits too, because 31 is odd.
    let hash = 0
    for (let i = 0; i < id.length; i++) {
      const unit = id.charCodeAt(i)
      text[i] = unit
      hash = (Math.imul(hash, 31) + unit) | 0
    }
    this.#asked = id
    this.#askedHash = hash
  }

  #append(text: Uint16Array, from: number, length: number, hash: number): number {
    const slot = this.#slotOf(this.#next++)
    const start = this.#startFor(length)
    const row = ROW * slot
    this.#rows[row + HASH] = hash
    this.#rows[row + START] = start
    this.#rows[row + LENGTH] = length
    this.#textNext = (start + length) | 0
    this.#size++
    const at = this.#textAt(slot)
    for (let i = 0; i < length; i++) this.#text[at + i] = text[from + i] as number
    this.#link(slot, hash)
    return slot
  }

  #search(id: string): number {
    const hash = this.#askedHash
    let number = this.#heads[this.#chainOf(hash)] as number
    for (let i = 0; i < CHAIN_MAX && this.#isInRing(number); i++) {
      const slot = this.#slotOf(number)
      if (this.#at(slot, HASH) === hash && this.#isAskedAt(slot, id.length)) return slot
      number = this.#at(slot, NEXT)
    }
    return this.#beyondChains.size === 0 ? -1 : (this.#beyondChains.get(id) ?? -1)
  }

  #isInRing(number: number): boolean {
    return (number - this.#first) >>> 0 < this.#next - this.#first
  }

  #isAskedAt(slot: number, length: number): boolean {
    if (this.lengthAt(slot) !== length) return false
    const at = this.#textAt(slot)
    for (let i = 0; i < length; i++) if (this.#text[at + i] !== this.#askedText[i]) return false
    return true
  }

  #link(slot: number, hash: number): void {
    const chain = this.#chainOf(hash)
    const head = this.#heads[chain] as number
    let length = 0
    let number = head
    while (length < CHAIN_MAX && this.#isInRing(number)) {
      number = this.#at(this.#slotOf(number), NEXT)
      length++
    }
    if (length < CHAIN_MAX) {
      this.#rows[ROW * slot + NEXT] = head
      this.#heads[chain] = this.#next - 1
    } else {
      this.#beyondChains.set(this.idAt(slot), slot)
    }
  }

  #removeBeyond(slot: number): void {
    const id = this.idAt(slot)
    if (this.#beyondChains.get(id) === slot) this.#beyondChains.delete(id)
  }
}

/** Ids usually differ in their last characters. */
function recentAt(id: string): number {
  const last = id.length - 1
  if (last < 2) return 0
  const mixed = id.charCodeAt(last) + 31 * id.charCodeAt(last - 1) + 961 * id.charCodeAt(last - 2)
  return mixed & (RECENT - 1)
}
