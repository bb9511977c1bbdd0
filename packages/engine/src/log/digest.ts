import { crc32 } from 'node:zlib'

/** Between two pieces, so that they cannot run into each other. */
const END = '\n'

/**
 * A running checksum over all that was decided, in its order (COMMAND-5). Two states that have the same one after the
 * same commands have decided alike. It does not depend on where batches are cut: pieces are summed up as they come.
 */
export class Digest {
  #sum: number
  #pending = ''

  /** Goes on from the sum of an earlier one. */
  constructor(sum = 0) {
    this.#sum = sum
  }

  add(piece: string): void {
    this.#pending += piece + END
  }

  get sum(): number {
    if (this.#pending !== '') {
      this.#sum = crc32(this.#pending, this.#sum)
      this.#pending = ''
    }
    return this.#sum
  }
}
