import type { FairleadError } from '@fairlead/core'
import type { LogEnd, LogRecord } from '@fairlead/core/internal'
import type { Client } from 'pg'
import { isSameRecord, notNext, otherRecord, trimmedAway } from '../append-rules.ts'
import type { FileLog, LogStats } from '../log-files/open-log.ts'
import { unavailable } from '../unavailable.ts'
import type { Address } from './address.ts'
import { hexOf } from './cells.ts'
import { type Answer, type Connection, closed, run } from './connection.ts'
import { asPostgresError, codeOf } from './errors.ts'
import { findLeader, notLeader } from './leader.ts'
import type { Readers } from './readers.ts'

/** So many bytes and records are appended by one statement, and read in one page. */
const GROUP_BYTES_MAX = 4 * 1_048_576
const GROUP_RECORDS_MAX = 1_000
const UNIQUE_VIOLATION = '23505'

interface Waiting {
  readonly record: LogRecord
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** The ends of a log, as the table has them. */
export interface LogEnds {
  /** The newest record, and the digest that the next one has to name. */
  readonly batch: number
  readonly digest: number
  /** The newest record without a body. */
  readonly trimmed: number
}

export async function findEnds(client: Client): Promise<LogEnds> {
  const [row] = (await run(client, 'find-log-ends')).rows as [[number, number, number]]
  const [batch, digest, trimmed] = row
  return { batch, digest, trimmed }
}

/**
 * The log as a table. Records that come while a statement is under way go together with the next one, so an append is one round
 * trip and one commit of the server.
 *
 * The statement inserts behind a record that is there with the digest that this process knows, and only for the current epoch. If
 * it inserts nothing, or its answer is lost, the table is read: it says which records are stored, and by whom.
 */
export class PostgresLog implements FileLog {
  readonly #address: Address
  readonly #connection: Connection
  readonly #readers: Readers
  readonly #vacuum: () => Promise<void>
  readonly #epoch: number
  #end: number
  #digest: number
  #trimmed: number
  #waiting: Waiting[] = []
  #writing: Promise<void> | null = null
  #trimming: Promise<void> | null = null
  /** How far the next trim goes. */
  #trimTo = 0
  /** Records whose append failed, by number: each may be stored. */
  readonly #unknown = new Map<number, LogRecord>()
  /** The connection on which the end of the table is known. On any other, records may be there whose answer was lost. */
  #known: Client | null = null
  /** Once another node leads, this one never does again. */
  #deposed: FairleadError | null = null
  #isClosed = false

  constructor(
    address: Address,
    given: {
      /** For appends and trims. */
      readonly connection: Connection
      readonly readers: Readers
      readonly vacuum: () => Promise<void>
      readonly epoch: number
      readonly ends: LogEnds
    },
  ) {
    this.#address = address
    this.#connection = given.connection
    this.#readers = given.readers
    this.#vacuum = given.vacuum
    this.#epoch = given.epoch
    this.#end = given.ends.batch
    this.#digest = given.ends.digest
    this.#trimmed = given.ends.trimmed
  }

  get end(): LogEnd {
    return { batch: this.#end, digest: this.#end === this.#trimmed ? null : this.#digest }
  }

  append(record: LogRecord): Promise<void> {
    if (this.#isClosed) return Promise.reject(closed(this.#address))
    return new Promise((resolve, reject) => {
      const copy = { ...record, body: Uint8Array.from(record.body) }
      this.#waiting.push({ record: copy, resolve, reject })
      this.#writing ??= this.#writeAll()
    })
  }

  async *read(afterBatch: number): AsyncGenerator<LogRecord, void> {
    let after = afterBatch
    while (after < this.#end) {
      const last = this.#end
      const bytes = GROUP_BYTES_MAX
      const { rows } = await this.#readers.ask((client) =>
        run(client, 'read-log', { after, last, bytes }),
      )
      const page = rows as [number, number, Uint8Array | null][]
      for (const [batch, digest, body] of page) {
        if (batch !== after + 1 || body === null) throw await this.#missing(after)
        yield { batch, digest, body }
        after = batch
      }
      if (page.length === 0) throw await this.#missing(after)
    }
  }

  async trim(upToBatch: number): Promise<void> {
    if (upToBatch > this.#end) {
      throw notNext(this.#address.shown, { given: upToBatch, next: this.#end + 1 })
    }
    if (upToBatch <= this.#trimmed) return
    this.#trimTo = Math.max(this.#trimTo, upToBatch)
    // Those that come while one is under way go together.
    this.#trimming ??= this.#trimAll().finally(() => {
      this.#trimming = null
    })
    await this.#trimming
    if (upToBatch > this.#trimmed) await this.trim(upToBatch)
  }

  async #trimAll(): Promise<void> {
    const [from, seq] = [this.#trimmed, this.#trimTo]
    this.#trimTo = 0
    // On another connection: an append never waits for a trim.
    const { count } = await this.#readers.ask((client) =>
      run(client, 'trim-log', { from, seq, epoch: this.#epoch }),
    )
    if (count !== 1) {
      await this.#readers.ask((client) => this.#refuseDeposed(client))
      const advice = `batch ${seq} is not in the tables, so the log keeps it`
      throw unavailable(this.#address.shown, 'not_durable', advice)
    }
    this.#trimmed = seq
  }

  /**
   * PostgreSQL cannot overwrite what was deleted. VACUUM makes its space free for other rows, and no statement reads it any more.
   * Its bytes stay in the file until then, and in the server's write-ahead log, its archive and its backups, which are its
   * operator's.
   */
  async scrub(): Promise<void> {
    await this.#vacuum()
  }

  async stats(): Promise<LogStats> {
    const { rows } = await this.#readers.ask((client) => run(client, 'tell-log-size'))
    const [bytes, oldest] = rows[0] as [number, number | null]
    return { bytes, segments: 0, oldest: oldest ?? this.#end + 1, newest: this.#end }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#writing
  }

  async #writeAll(): Promise<void> {
    // Records of the same turn go together.
    await Promise.resolve()
    while (this.#waiting.length > 0) await this.#writeNext()
    this.#writing = null
  }

  async #writeNext(): Promise<void> {
    const group = this.#nextGroup()
    if (group.length === 0) return this.#answerFirst()
    try {
      await this.#store(group.map(({ record }) => record))
    } catch (cause) {
      const error = asPostgresError(this.#address.shown, cause)
      for (const { record, reject } of group) {
        this.#unknown.set(record.batch, record)
        reject(error)
      }
      return
    }
    for (const { record, resolve } of group) {
      this.#unknown.delete(record.batch)
      this.#end = record.batch
      this.#digest = record.digest
      resolve()
    }
  }

  /** The first records that follow the newest, as many as go together. */
  #nextGroup(): Waiting[] {
    let bytes = 0
    let count = 0
    for (const { record } of this.#waiting) {
      bytes += record.body.length
      if (record.batch !== this.#end + count + 1 || this.#isOther(record)) break
      if (count > 0 && (bytes > GROUP_BYTES_MAX || count >= GROUP_RECORDS_MAX)) break
      count++
    }
    return this.#waiting.splice(0, count)
  }

  /** Answers a record that is not to be appended: a repeated one, or one that is refused (LOG-3, LOG-4). */
  async #answerFirst(): Promise<void> {
    const { record, resolve, reject } = this.#waiting.shift() as Waiting
    const { shown } = this.#address
    const { batch } = record
    try {
      if (this.#isOther(record)) throw otherRecord(shown, batch)
      if (batch !== this.#end || batch === this.#trimmed) {
        throw notNext(shown, { given: batch, next: this.#end + 1 })
      }
      const stored = await this.#readers.ask((client) => recordsFrom(client, batch, 1))
      const [first] = stored
      if (first === undefined || !isSameRecord(first, record)) throw otherRecord(shown, batch)
      resolve()
    } catch (error) {
      reject(error as Error)
    }
  }

  #isOther(record: LogRecord): boolean {
    const unknown = this.#unknown.get(record.batch)
    return unknown !== undefined && !isSameRecord(unknown, record)
  }

  /** Stores records that follow the newest. If it throws, nobody knows what is stored. */
  async #store(records: readonly LogRecord[]): Promise<void> {
    if (this.#deposed !== null) throw this.#deposed
    const client = await this.#connection.client()
    try {
      let stored = this.#known === client ? 0 : await this.#alreadyStored(client, records)
      this.#known = null
      while (stored < records.length) {
        const rest = records.slice(stored)
        if ((await this.#insert(client, records[stored - 1], rest)) === rest.length) break
        await this.#refuseDeposed(client)
        const found = await this.#alreadyStored(client, records)
        if (found === stored) throw this.#unexplained()
        stored = found
      }
      this.#known = client
    } catch (error) {
      // Its state is not worth knowing: the next append reads what there is on a new one.
      this.#connection.drop(client)
      throw error
    }
  }

  /** How many of these records were stored. */
  async #insert(
    client: Client,
    before: LogRecord | undefined,
    records: readonly LogRecord[],
  ): Promise<number> {
    try {
      const { count } = await run(client, 'append-batches', {
        epoch: this.#epoch,
        before: before?.batch ?? this.#end,
        digest_before: before?.digest ?? this.#digest,
        seqs: records.map(({ batch }) => batch),
        digests: records.map(({ digest }) => digest),
        bodies: records.map(({ body }) => hexOf(body)),
      })
      return count
    } catch (error) {
      if (codeOf(error) === UNIQUE_VIOLATION) return 0
      throw error
    }
  }

  /**
   * How many of these records the table has already, because only an answer was lost. The newest confirmed one has to be there: a
   * server that lost it went back to an older state.
   */
  async #alreadyStored(client: Client, records: readonly LogRecord[]): Promise<number> {
    const found = await recordsFrom(client, this.#end, records.length + 1)
    const [newest, ...behind] = found
    if (newest?.batch !== this.#end || newest.digest !== this.#digest) {
      await this.#refuseDeposed(client)
      throw this.#wentBack()
    }
    for (const [i, record] of behind.entries()) {
      if (isSameRecord(record, records[i] as LogRecord)) continue
      await this.#refuseDeposed(client)
      throw otherRecord(this.#address.shown, record.batch)
    }
    return behind.length
  }

  async #refuseDeposed(client: Client): Promise<void> {
    const leader = await findLeader(client)
    if (leader.epoch === this.#epoch) return
    // A lower epoch is that of a server that went back.
    if (leader.epoch < this.#epoch) throw this.#wentBack()
    this.#deposed = notLeader(this.#address, leader)
    throw this.#deposed
  }

  #wentBack(): FairleadError {
    const advice = `the server has lost batch ${this.#end}, which it had confirmed: it went back to an older state, as a standby may be; stop this process, and start it again to go on from what is left`
    return unavailable(this.#address.shown, 'went_back', advice, { details: { batch: this.#end } })
  }

  #unexplained(): FairleadError {
    const advice =
      'the log takes no record, and has none in its place; look for rules or triggers on its tables'
    return unavailable(this.#address.shown, 'failed', advice)
  }

  async #missing(after: number): Promise<FairleadError> {
    const { trimmed } = await this.#readers.ask(findEnds)
    const { shown } = this.#address
    if (after < trimmed) return trimmedAway(shown, { after, first: trimmed + 1 })
    const batch = after + 1
    const advice = `batch ${batch} of the log is missing, and later ones are there; go back to the last backup`
    return unavailable(shown, 'damaged', advice, { details: { batch } })
  }
}

async function recordsFrom(client: Client, seq: number, limit: number): Promise<LogRecord[]> {
  const { rows }: Answer = await run(client, 'find-records', { seq, limit })
  return rows.map((row) => {
    const [batch, , digest, body] = row as [number, number, number, Uint8Array | null]
    return { batch, digest, body: body ?? new Uint8Array() }
  })
}
