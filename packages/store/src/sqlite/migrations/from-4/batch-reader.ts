import { type AuditEntry, decodeCbor, toHex } from '@fairlead/core'
import { invariant, type JournalRecord } from '@fairlead/core/internal'
import { type RowType, rowOf } from '../../../rows/rows.ts'
import type { SqlValue } from '../../driver.ts'

const TAG = { null: 0, byte: 1, u32: 2, double: 3, shortText: 4, text: 5, bytes: 6, id: 7 } as const

const ID_BYTES = 32
const NO_JOB = -1

/** Places in the facts of a new job. */
const FACTS = { id: 8, caller: 40 } as const

/**
 * Reads a batch of version 4 from its start to its end: cells behind a byte that tells their type, and sections of rows, each
 * behind its length. The fields that find a row are at its start, without a type.
 */
export class BatchReader {
  readonly #bytes: Buffer
  /** Behind the byte of the format. */
  #at = 1

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** The rows of the next section, in their order. */
  rows<Row>(read: (i: number) => Row): Row[] {
    const count = this.double()
    return Array.from({ length: count }, (_, i) => {
      const length = this.#u32()
      const end = this.#at + length
      const row = read(i)
      this.#at = end
      return row
    })
  }

  row<Row extends object>(type: RowType<Row>): Row {
    const cells = type.columns.map(() => this.cell())
    const row = rowOf(type, cells)
    // Only what the cells tell.
    const entries = type.columns.map(({ field }) => [field, row[field as keyof Row]])
    return Object.fromEntries(entries) as Row
  }

  /** An entry about a job. The first one about a new job says what its facts say, and when. */
  entry(seq: number): JournalRecord {
    const job = this.double()
    const jobSeq = job === NO_JOB ? null : job
    const length = this.#u32()
    if (length > 0) {
      const record = decodeCbor(this.#take(length)) as unknown as AuditEntry
      return { ...record, jobSeq }
    }
    const facts = this.#u32()
    const idAt = (place: number): string =>
      toHex(this.#bytes.subarray(facts + place, facts + place + ID_BYTES))
    const at = this.double()
    const [actor, subject] = [idAt(FACTS.caller), idAt(FACTS.id)]
    return { seq, at, actor, action: 'jobEnqueued', subject, details: {}, jobSeq }
  }

  byte(): number {
    return this.#bytes[this.#at++] as number
  }

  double(): number {
    return this.#take(8).readDoubleLE(0)
  }

  id<Id extends string>(): Id {
    return toHex(this.#take(ID_BYTES)) as Id
  }

  /** Bytes behind their length; a view. */
  bytes(): Buffer {
    return this.#take(this.#u32())
  }

  cell(): SqlValue {
    const tag = this.byte()
    switch (tag) {
      case TAG.null:
        return null
      case TAG.byte:
        return this.byte()
      case TAG.u32:
        return this.#u32()
      case TAG.double:
        return this.double()
      case TAG.shortText:
        return this.#take(this.byte()).toString('utf8')
      case TAG.text:
        return this.bytes().toString('utf8')
      case TAG.bytes:
        return this.bytes()
      default:
        invariant(tag === TAG.id, 'cells are read as they were written')
        return this.#take(ID_BYTES)
    }
  }

  #u32(): number {
    return this.#take(4).readUInt32LE(0)
  }

  #take(count: number): Buffer {
    const from = this.#at
    this.#at += count
    return this.#bytes.subarray(from, this.#at)
  }
}
