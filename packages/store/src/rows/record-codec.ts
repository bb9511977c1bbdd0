import { type AuditEntry, brokenSeq, type CborMap, decodeCbor, toHex } from '@fairlead/core'
import { invariant } from '@fairlead/core/internal'
import { copyOf } from '../copy-of.ts'
import type { SqlValue } from '../sqlite/driver.ts'
import type { Cells } from './rows.ts'

/**
 * Turns a journal entry from the canonical CBOR that its hash covers into the columns of its row, without making an
 * object: that takes a third of the time. Details become JSON if JSON keeps them exactly, else they stay CBOR.
 */
export interface RecordColumns {
  readonly at: number
  readonly actor: SqlValue
  readonly action: SqlValue
  readonly subject: SqlValue
  readonly details: SqlValue
}

/** Canonical CBOR orders the keys so: `at`, `seq`, `actor`, `action`, `details`, `subject`. */
const KEY_BYTES = { at: 3, seq: 4, actor: 6, action: 7, details: 8, subject: 8 } as const
const MAP_OF_SIX = 0xa6

export function columnsOf(record: Buffer): RecordColumns {
  invariant(record[0] === MAP_OF_SIX, 'an entry is a map of six fields')
  const reader = new RecordReader(record, 1)
  const at = reader.skip(KEY_BYTES.at).number()
  reader.skip(KEY_BYTES.seq).number()
  const actor = reader.skip(KEY_BYTES.actor).text()
  const action = reader.skip(KEY_BYTES.action).text()
  const details = reader.skip(KEY_BYTES.details).details()
  const subject = reader.skip(KEY_BYTES.subject).text()
  return { at, actor, action, subject, details }
}

/**
 * The entry of a row of list-journal or list-timeline. Its hash covers all of it, and the hash before it; an entry that it does
 * not fit is the error of `damaged`.
 */
export function entryOf(cells: Cells, damaged: (what: string) => Error): AuditEntry {
  const seq = cells[0] as number
  try {
    const entry = uncheckedEntry(cells)
    if (brokenSeq([entry], { seq: seq - 1, hash: entry.prevHash }) === null) return entry
  } catch {
    // Details that cannot be read.
  }
  throw damaged(`entry ${seq}`)
}

function uncheckedEntry(cells: Cells): AuditEntry {
  const [seq, at, actor, action, subject, details, hash, prevHash] = cells
  return {
    seq: seq as number,
    at: at as number,
    actor: textOf(actor as SqlValue),
    action: textOf(action as SqlValue),
    subject: textOf(subject as SqlValue),
    details: detailsOf(details as SqlValue),
    prevHash: toHex(prevHash as Uint8Array),
    hash: toHex(hash as Uint8Array),
  }
}

function textOf(cell: SqlValue): string {
  return typeof cell === 'string' ? cell : Buffer.from(cell as Uint8Array).toString('utf8')
}

function detailsOf(cell: SqlValue): CborMap {
  if (typeof cell === 'string') return JSON.parse(cell)
  // Bytes inside of it are views of memory that may be the driver's.
  return copyOf(decodeCbor(cell as Uint8Array)) as CborMap
}

const MAJOR = { uint: 0, negative: 1, bytes: 2, text: 3, list: 4, map: 5, simple: 7 } as const
const WORDS: Readonly<Record<number, string>> = { 20: 'false', 21: 'true', 22: 'null' }
/** ASCII that stands in JSON as it is. */
const PLAIN = /^[ !#-[\]-~]*$/

class RecordReader {
  readonly #bytes: Buffer
  #at: number

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes
    this.#at = at
  }

  skip(bytes: number): this {
    this.#at += bytes
    return this
  }

  number(): number {
    const isNegative = (this.#bytes[this.#at] as number) >> 5 === MAJOR.negative
    const n = this.#argument()
    return isNegative ? -1 - n : n
  }

  /** Text that contains U+0000 stays bytes, because a driver may cut text there. */
  text(): SqlValue {
    const from = this.#textStart()
    const text = this.#bytes.toString('utf8', from, this.#at)
    return text.includes('\0') ? this.#bytes.subarray(from, this.#at) : text
  }

  details(): SqlValue {
    const from = this.#at
    const json = this.#json()
    if (json !== null) return json
    this.#at = from
    this.#pass()
    return this.#bytes.subarray(from, this.#at)
  }

  /** A value as JSON, or null if JSON does not keep it. */
  #json(): string | null {
    const major = (this.#bytes[this.#at] as number) >> 5
    switch (major) {
      case MAJOR.text:
        return this.#jsonString()
      case MAJOR.uint:
      case MAJOR.negative:
        return this.#jsonInteger()
      case MAJOR.list:
        return this.#jsonItems()
      case MAJOR.map:
        return this.#jsonFields()
      case MAJOR.simple:
        return WORDS[this.#argument()] ?? null
      default:
        return null
    }
  }

  #jsonInteger(): string | null {
    const n = this.number()
    return Number.isSafeInteger(n) ? String(n) : null
  }

  #jsonItems(): string | null {
    const count = this.#argument()
    let json = ''
    for (let i = 0; i < count; i++) {
      const item = this.#json()
      if (item === null) return null
      json += i === 0 ? item : `,${item}`
    }
    return `[${json}]`
  }

  #jsonFields(): string | null {
    const count = this.#argument()
    let json = ''
    for (let i = 0; i < count; i++) {
      const key = this.#jsonString()
      const value = this.#json()
      if (value === null) return null
      json += i === 0 ? `${key}:${value}` : `,${key}:${value}`
    }
    return `{${json}}`
  }

  #jsonString(): string {
    const from = this.#textStart()
    const text = this.#bytes.toString('latin1', from, this.#at)
    if (PLAIN.test(text)) return `"${text}"`
    return JSON.stringify(this.#bytes.toString('utf8', from, this.#at))
  }

  /** The place of a text's bytes; they end where the next value begins. */
  #textStart(): number {
    const length = this.#argument()
    const from = this.#at
    this.#at = from + length
    return from
  }

  /** Goes behind a value. */
  #pass(): void {
    const major = (this.#bytes[this.#at] as number) >> 5
    const n = this.#argument()
    if (major === MAJOR.bytes || major === MAJOR.text) this.#at += n
    const values = major === MAJOR.list ? n : major === MAJOR.map ? 2 * n : 0
    for (let i = 0; i < values; i++) this.#pass()
  }

  /** The number in the head of a value: itself, or its length. */
  #argument(): number {
    const bytes = this.#bytes
    const info = (bytes[this.#at++] as number) & 0x1f
    if (info < 24) return info
    const at = this.#at
    switch (info) {
      case 24:
        this.#at = at + 1
        return bytes[at] as number
      case 25:
        this.#at = at + 2
        return bytes.readUInt16BE(at)
      case 26:
        this.#at = at + 4
        return bytes.readUInt32BE(at)
      default:
        this.#at = at + 8
        return bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4)
    }
  }
}
