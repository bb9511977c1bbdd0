/** As many batches as are on their way at once, and one that is being made. */
const SLOTS = 3
/** A turn of the engine has 256 jobs at most; with payloads of a few hundred bytes they take half of this. */
const SLOT_BYTES = 262_144
const FLAG_BYTES = SLOTS * Int32Array.BYTES_PER_ELEMENT
const FREE = 0
const TAKEN = 1

/**
 * Memory that both threads of a store see, in which batches go from one to the other. New memory costs ten times
 * what it costs to copy a batch, for the system makes each page of it when it is first touched; so the thread
 * that writes does that, which has time, and the one that decides fills the same pages again and again.
 */
export class BatchSlots {
  readonly memory: SharedArrayBuffer
  readonly #flags: Int32Array
  readonly #slots: readonly Buffer<SharedArrayBuffer>[]

  /** The thread that writes is given the memory of the other one. */
  constructor(memory = new SharedArrayBuffer(FLAG_BYTES + SLOTS * SLOT_BYTES)) {
    this.memory = memory
    this.#flags = new Int32Array(memory, 0, SLOTS)
    this.#slots = Array.from({ length: SLOTS }, (_, slot) =>
      Buffer.from(memory, FLAG_BYTES + slot * SLOT_BYTES, SLOT_BYTES),
    )
  }

  /** For the one that decides: the number of a free one, which is taken then; null if there is none. */
  take(): number | null {
    const slot = this.#slots.findIndex((_, i) => Atomics.load(this.#flags, i) === FREE)
    if (slot < 0) return null
    Atomics.store(this.#flags, slot, TAKEN)
    return slot
  }

  bufferOf(slot: number): Buffer<SharedArrayBuffer> {
    return this.#slots[slot] as Buffer<SharedArrayBuffer>
  }

  /** For the one that writes: a copy of the first bytes, and the slot is free. */
  takeOut(slot: number, length: number): Uint8Array {
    const bytes = Buffer.allocUnsafeSlow(length)
    this.bufferOf(slot).copy(bytes, 0, 0, length)
    this.free(slot)
    return bytes
  }

  free(slot: number): void {
    Atomics.store(this.#flags, slot, FREE)
  }
}
