import { readFileSync } from 'node:fs'
import { type AuditEntry, decodeCbor, type JobId, type JobRow, toHex } from '@fairlead/core'
import type { JournalRecord, WriteBatch } from '@fairlead/core/internal'
import {
  FAILURE,
  JOB,
  LANE,
  LEASE,
  META,
  PROVIDER,
  RESULT,
  ROUND,
  type RowType,
  rowOf,
  SHARE,
} from '../../../rows/rows.ts'
import { type Database, prepare, type SqlValue, type Statement } from '../../driver.ts'
import type { LoggedRows } from './logged-rows.ts'

const FOLDER = new URL('../../../../src/sqlite/migrations/from-4/', import.meta.url)

const PAGE_JOBS = 1_000
const PAGE_BLOCKS = 100

/** Batches without what they do not say. */
export type Part = Partial<WriteBatch>

/** Where the journal of version 4 stands. */
export interface JournalEnds {
  readonly first: number
  /** The hash before the first entry. */
  readonly before: Uint8Array
  /** The hash of the last entry. */
  readonly last: Uint8Array
}

/** The rows of a store of version 4, page by page, in an order in which they can be written. */
export class OldRows {
  readonly #db: Database
  readonly #noteEntry: Statement
  readonly #jobOfEntry: Statement
  #idOf: Statement | null = null

  constructor(db: Database) {
    this.#db = db
    // A job has the numbers of its entries there, and an entry the number of its job here.
    db.exec('CREATE TEMP TABLE entry_jobs (entry INTEGER PRIMARY KEY, job INTEGER NOT NULL)')
    this.#noteEntry = prepare(db, 'INSERT OR REPLACE INTO entry_jobs VALUES (?, ?)')
    this.#jobOfEntry = prepare(db, 'SELECT job FROM entry_jobs WHERE entry = ?')
  }

  /** Takes out of the tables what a log has as new, and notes the jobs of its entries. The transaction is the caller's. */
  forget({ newJobs, newLeases, rounds, journal }: LoggedRows): void {
    const run = (sql: string, rows: Iterable<readonly SqlValue[]>): void => {
      const statement = prepare(this.#db, sql)
      for (const row of rows) statement.run(...row)
    }
    const seqs = [...newJobs.keys()].map((seq) => [seq])
    for (const table of ['payloads', 'leases', 'results', 'failures']) {
      run(`DELETE FROM ${table} WHERE job = ?`, seqs)
    }
    run('DELETE FROM jobs WHERE seq = ?', seqs)
    const leases = [...newLeases.values()].map(({ jobSeq, attempt }) => [jobSeq, attempt])
    run('DELETE FROM leases WHERE job = ? AND attempt = ?', leases)
    const keys = [...rounds.values()].map(({ height, kind }) => [height, kind])
    run('DELETE FROM rounds WHERE height = ? AND kind = ?', keys)
    for (const { seq, jobSeq } of journal) if (jobSeq !== null) this.#noteEntry.run(seq, jobSeq)
  }

  /** The id of a job in the tables. */
  idOf(seq: number): JobId | null {
    this.#idOf ??= prepare(this.#db, 'SELECT id FROM jobs WHERE seq = ?')
    const [id] = this.#idOf.get(seq) ?? []
    return id === undefined ? null : (toHex(id as Uint8Array) as JobId)
  }

  get jobs(): number {
    return (prepare(this.#db, 'SELECT count(*) FROM jobs').get() as [number])[0]
  }

  /**
   * Results whose jobs were deleted. A result needs its job, so each comes with one that has its id and is deleted in the
   * same batch. Jobs that are there may have these ids, so they come later; a page has each id once.
   */
  *keptResults(): Iterable<Part> {
    for (let after = 0; ; ) {
      const page = this.#rows('kept-results', RESULT, after, PAGE_JOBS)
      const isOnce = (id: string, i: number) => page.findIndex(({ jobId }) => jobId === id) === i
      const repeated = page.findIndex(({ jobId }, i) => !isOnce(jobId, i))
      const results = repeated < 0 ? page : page.slice(0, repeated)
      const last = results.at(-1)
      if (last === undefined) return
      const newJobs = results.map(({ jobSeq, jobId, caller }) => deletedJob(jobSeq, jobId, caller))
      yield { newJobs, results, pruneEndedBefore: 1 }
      after = last.jobSeq
    }
  }

  /** Jobs with everything that is theirs. */
  *jobPages(): Iterable<Part> {
    const statement = this.#prepare('jobs')
    for (let after = 0; ; ) {
      const page = statement.all(after, PAGE_JOBS)
      const newJobs = page.map((cells) => {
        const row = rowOf(JOB, cells)
        const [payload, entries] = cells.slice(JOB.columns.length) as [Uint8Array, string]
        for (const seq of entries.split(' ').filter(Boolean))
          this.#noteEntry.run(Number(seq), row.seq)
        return { row, payload: Uint8Array.from(payload) }
      })
      const last = newJobs.at(-1)?.row.seq
      if (last === undefined) return
      yield {
        newJobs,
        newLeases: this.#rows('leases', LEASE, after, last),
        results: this.#rows('results', RESULT, after, last),
        failures: this.#rows('failures', FAILURE, after, last),
      }
      after = last
    }
  }

  /** After the jobs. */
  *journal(): Iterable<Part> {
    const statement = this.#prepare('journal')
    for (let after = 0; ; ) {
      const blocks = statement.all(after, PAGE_BLOCKS)
      if (blocks.length === 0) return
      yield { journal: blocks.flatMap(([, , entries]) => this.#entriesIn(entries as Uint8Array)) }
      after = blocks.at(-1)?.[0] as number
    }
  }

  journalEnds(): JournalEnds | null {
    const one = (order: string) =>
      prepare(this.#db, `SELECT first, entries FROM journal ORDER BY first ${order} LIMIT 1`).get()
    const [first, last] = [one('ASC'), one('DESC')] as ([number, Uint8Array] | undefined)[]
    if (first === undefined || last === undefined) return null
    return {
      first: first[0],
      before: first[1].slice(0, HASH_BYTES),
      last: last[1].slice(-HASH_BYTES),
    }
  }

  others(): Part {
    const meta = this.#rows('meta', META).map(({ name, value }) => [name, value])
    return {
      providers: this.#rows('providers', PROVIDER),
      shares: this.#rows('shares', SHARE),
      lanes: this.#rows('lanes', LANE),
      rounds: this.#rows('rounds', ROUND),
      meta: Object.fromEntries(meta),
    }
  }

  /** A block is the hash before it, then for each entry the length of its record, the record, and its hash. */
  #entriesIn(block: Uint8Array): JournalRecord[] {
    const bytes = Buffer.from(block)
    const records: JournalRecord[] = []
    for (let at = HASH_BYTES; at < bytes.length; ) {
      const from = at + LENGTH_BYTES
      const to = from + bytes.readUInt32LE(at)
      at = to + HASH_BYTES
      const record = decodeCbor(bytes.subarray(from, to)) as unknown as AuditEntry
      const job = this.#jobOfEntry.get(record.seq)?.[0] as number | undefined
      records.push({ ...record, jobSeq: job ?? null })
    }
    return records
  }

  #rows<Row extends object>(name: string, type: RowType<Row>, ...params: SqlValue[]): Row[] {
    return this.#prepare(name)
      .all(...params)
      .map((cells) => rowOf(type, cells))
  }

  #prepare(name: string): Statement {
    return prepare(this.#db, readFileSync(new URL(`${name}.sql`, FOLDER), 'utf8'))
  }
}

const HASH_BYTES = 32
const LENGTH_BYTES = 4

function deletedJob(seq: number, id: JobRow['id'], caller: JobRow['caller'] | null) {
  const nobody = toHex(new Uint8Array(32))
  const row: JobRow & { readonly txHash: string } = {
    ...JOB.blank,
    seq,
    id,
    caller: caller ?? (nobody as JobRow['caller']),
    kind: 'task',
    tier: '',
    fee: 0n,
    sizeBytes: 0,
    shots: 0,
    depthHint: 0,
    units: 0,
    tokens: 0,
    enqueueTs: 0,
    chainId: 0n,
    enqueueHeight: 0n,
    txHash: nobody,
    status: 'COMPLETED',
    retries: 0,
    declines: 0,
    workerLosses: 0,
    endedAt: 0,
    denials: [],
  }
  // As bytes, so that it has no key.
  return { row: { ...row, txHash: new Uint8Array(32) }, payload: new Uint8Array() }
}
