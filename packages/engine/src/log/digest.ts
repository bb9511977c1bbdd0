import { crc32 } from 'node:zlib'

/** Separates two pieces, so that they cannot run together. */
const END = '\n'

/**
 * A running checksum over all decisions in order (COMMAND-5). If two states have the same sum after the same
 * commands, they decided alike. Pieces are summed as they come, so the sum does not depend on where batches end.
 */
export class Digest {
  #sum: number
  #pending = ''

  /** Continues from the sum of an earlier digest. */
  constructor(sum = 0) {
    this.#sum = sum
  }

  add(piece: string): void {
    this.#pending += piece + END
  }

  /** Continues from another sum. */
  continueFrom(sum: number): void {
    this.#pending = ''
    this.#sum = sum
  }

  get sum(): number {
    if (this.#pending !== '') {
      this.#sum = crc32(this.#pending, this.#sum)
      this.#pending = ''
    }
    return this.#sum
  }
}
