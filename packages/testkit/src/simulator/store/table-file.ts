import type { WriteBatch } from '@fairlead/core/internal'
import { SimDisk } from './sim-disk.ts'

interface Applied {
  readonly rows: WriteBatch
  readonly batch: number
}

/** The tables of the leader. What was applied reaches the disk later, in order; a power cut takes the rest. */
export class TableFile {
  /** All that was applied, and its last batch. */
  seen = new SimDisk()
  batch = 0
  #disk = new SimDisk()
  /** The last batch that no power cut takes. */
  durable = 0
  #later: Applied[] = []
  /** The batches whose rows erased people, and the last after which they were made unreadable. */
  #erased: number[] = []
  scrubbed = 0

  /** The last batch whose rows erased people. */
  get erased(): number {
    return this.#erased.at(-1) ?? 0
  }

  /** How many batches of rows a power cut may take. */
  get atRisk(): number {
    return this.#later.length
  }

  apply(rows: WriteBatch, batch: number): void {
    this.seen.write(rows)
    this.#later.push({ rows, batch })
    this.batch = batch
    if (rows.eraseEnded !== null) this.#erased.push(batch)
  }

  /** The oldest so many of what is at risk reach the disk. */
  flush(count = this.#later.length): void {
    for (const { rows, batch } of this.#later.splice(0, count)) {
      this.#disk.write(rows)
      this.durable = batch
    }
  }

  scrub(): void {
    this.flush()
    this.scrubbed = this.batch
  }

  /** A power cut, before which the oldest so many of what was at risk reached the disk. */
  lose(kept: number): void {
    if (kept >= this.#later.length) return
    this.flush(kept)
    this.#later = []
    this.seen = this.#disk.copy()
    this.batch = this.durable
    this.#erased = this.#erased.filter((batch) => batch <= this.durable)
  }
}
