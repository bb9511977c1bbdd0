import { FairleadError } from '@fairlead/core'
import {
  appendAuditBytes,
  type EndedSpan,
  FAILURES_KEPT,
  type JournalRecord,
  moveAuditHash,
  ROUNDS_KEPT,
  resultWithoutPeople,
  type WriteBatch,
  withoutPeople,
} from '@fairlead/core/internal'
import type { Client } from 'pg'
import { columnsOf } from '../../rows/record-codec.ts'
import {
  FAILURE,
  JOB,
  JOB_CHANGE,
  LANE,
  LEASE,
  LEASE_CHANGE,
  META,
  PAYLOAD,
  PROVIDER,
  RESULT,
  ROUND,
  type RowType,
  rowOf,
  SETTLEMENT,
  SHARE,
  STORED_PART,
} from '../../rows/rows.ts'
import type { SqlValue } from '../../sqlite/driver.ts'
import { arrayText, escaped, hexOf, listsIn, type Param } from '../cells.ts'
import { run, type Values } from '../connection.ts'
import type { StoreRow } from './store-row.ts'

/** At most so many jobs, and so many results of deleted jobs, are deleted with one batch, which others wait for. */
export const PRUNED_AT_ONCE = 1_000

/**
 * Writes one batch in a transaction of the caller. Its statements are sent one behind the other, and their answers are looked at
 * together: a round trip for all, and one more where rows have to be read first.
 */
export class TableWriter {
  /** The row about the store as the batch leaves it. */
  readonly row: StoreRow
  /** True if the batch erased personal data. */
  hasErased = false
  readonly #client: Client
  readonly #prunesAll: boolean
  #sent: Promise<unknown>[] = []

  constructor(client: Client, row: StoreRow, { prunesAll }: { readonly prunesAll: boolean }) {
    this.#client = client
    this.row = { ...row }
    this.#prunesAll = prunesAll
  }

  async write(batch: WriteBatch): Promise<void> {
    const { eraseEnded: span } = batch
    const { row } = this
    if (batch.pruneEndedBefore !== null) {
      row.pruneEnded = Math.max(batch.pruneEndedBefore, row.pruneEnded ?? 0)
    }
    if (batch.pruneResultsBefore !== null) row.pruneResults = batch.pruneResultsBefore
    // First, for new jobs that use the names of deleted ones; and last, for jobs that end in this batch with an end
    // before the time (STORE-10). A result may outlive its job, so it is erased before the job is deleted.
    if (span !== null) await this.#erase(span)
    void this.#prune()
    this.#writeRows(batch)
    this.#pruneNamed(batch.prunedJobs)
    if (span !== null) await this.#erase(span)
    const pruned = this.#prune()
    if (batch.cutJournalAt !== null) this.#cutJournal(batch.cutJournalAt)
    await this.settled()
    const [jobs, results] = await pruned
    if (jobs < PRUNED_AT_ONCE) row.pruneEnded = null
    if (results < PRUNED_AT_ONCE && row.pruneEnded === null) row.pruneResults = null
  }

  /** Resolves when all that was sent is answered. */
  async settled(): Promise<void> {
    const sent = this.#sent
    this.#sent = []
    const answers = await Promise.allSettled(sent)
    // Those behind the first refusal only say that the transaction is over.
    const refused = answers.find(({ status }) => status === 'rejected')
    if (refused !== undefined) throw (refused as PromiseRejectedResult).reason
  }

  #writeRows(batch: WriteBatch): void {
    this.#insertJobs(batch.newJobs)
    this.#rows('update-jobs', JOB_CHANGE, batch.jobs)
    this.#rows('update-leases', LEASE_CHANGE, batch.leases)
    this.#rows('insert-leases', LEASE, batch.newLeases)
    this.#rows('upsert-results', RESULT, batch.results)
    this.#writeFailures(batch.failures)
    this.#addEntries(batch.journal)
    this.#rows('insert-rounds', ROUND, batch.rounds)
    if (batch.rounds.length > 0) void this.#send('drop-old-rounds', { kept: ROUNDS_KEPT })
    this.#rows('upsert-providers', PROVIDER, batch.providers)
    this.#writeOrForget('shares', SHARE, batch.shares, ({ finish }) => finish === null)
    if (batch.clearedLanes.length > 0) {
      void this.#send('clear-lanes', { lanes: batch.clearedLanes.map(escaped) })
    }
    this.#writeOrForget('lanes', LANE, batch.lanes, ({ value }) => value === null)
    this.#rows('insert-settlements', SETTLEMENT, batch.settlements)
    const parts = batch.settlements.flatMap(({ epochId, parts }) =>
      parts.map((part) => ({ epochId, ...part })),
    )
    this.#rows('insert-settlement_parts', STORED_PART, parts)
    const meta = Object.entries(batch.meta).map(([name, value]) => ({ name, value }))
    this.#rows('upsert-meta', META, meta)
  }

  #insertJobs(newJobs: WriteBatch['newJobs']): void {
    if (newJobs.length === 0) return
    const rows = newJobs.map(({ row }) => row)
    void this.#send('insert-jobs', {
      ...listsIn(JOB, rows),
      // Nobody can repeat a `tx_hash` that the engine drew, so such a job needs no key.
      has_key: rows.map(({ txHash }) => typeof txHash === 'string'),
      tags: rows.map(({ options }) => (options?.tags ? arrayText(options.tags) : null)),
      dedupe_key: rows.map(({ options }) => textOrNull(options?.dedupeKey)),
      schedule: rows.map(({ origin }) => textOrNull(origin?.schedule)),
    })
    const payloads = newJobs.map(({ row, payload }) => ({ jobSeq: row.seq, payload }))
    this.#rows('insert-payloads', PAYLOAD, payloads)
  }

  /** Each is written, or the batch is refused (STORE-6). */
  #rows(name: string, type: RowType<unknown>, rows: readonly object[]): void {
    if (rows.length === 0) return
    void this.#send(name, listsIn(type, rows), rows.length)
  }

  /** One after the other, each failure deletes those of old attempts; those that are deleted at once are not written. */
  #writeFailures(given: WriteBatch['failures']): void {
    if (given.length === 0) return
    const newest = new Map<number, number>()
    const left = new Map<string, (typeof given)[number]>()
    for (const failure of given.toReversed()) {
      const { jobSeq, attempt } = failure
      const key = `${jobSeq} ${attempt}`
      const latest = newest.get(jobSeq) ?? attempt
      if (attempt > latest - FAILURES_KEPT && !left.has(key)) left.set(key, failure)
      newest.set(jobSeq, Math.max(latest, attempt))
    }
    const oldest = [...newest.values()].map((attempt) => attempt - FAILURES_KEPT)
    void this.#send('drop-old-failures', { jobs: [...newest.keys()], attempts: oldest })
    this.#rows('upsert-failures', FAILURE, [...left.values()])
  }

  #addEntries(records: readonly JournalRecord[]): void {
    if (records.length === 0) return
    const { row } = this
    const hash = Uint8Array.from(row.journalHash)
    const lists: Record<string, Param[]> = {}
    for (const name of ENTRY_COLUMNS) lists[name] = []
    for (const record of records) {
      const { seq, jobSeq } = record
      const due = row.journalLast + 1
      if (seq !== due) throw refused(`entry ${due} is due, not ${seq}`)
      row.journalLast = seq
      const { buffer, end } = appendAuditBytes(seq, record, Buffer.allocUnsafe(ENTRY_BYTES), 0)
      const bytes = buffer.subarray(0, end)
      moveAuditHash(hash, bytes)
      const { at, actor, action, subject, details } = columnsOf(bytes)
      const isJson = typeof details === 'string'
      const cells = {
        ...{ seq, at, actor: textIn(actor), action: textIn(action), subject: textIn(subject) },
        ...{ job: jobSeq, details: isJson ? details : null, hash: hexOf(hash) },
        details_cbor: isJson ? null : hexOf(details as Uint8Array),
      }
      for (const name of ENTRY_COLUMNS) (lists[name] as Param[]).push(cells[name])
    }
    row.journalHash = hash
    void this.#send('insert-entries', lists, records.length)
  }

  /** A row without its last value is deleted. */
  #writeOrForget<Row extends object>(
    table: string,
    type: RowType<unknown>,
    rows: readonly Row[],
    isForgotten: (row: Row) => boolean,
  ): void {
    const forgotten = rows.filter(isForgotten)
    if (forgotten.length > 0) void this.#send(`forget-${table}`, listsIn(type, forgotten))
    this.#rows(
      `upsert-${table}`,
      type,
      rows.filter((row) => !isForgotten(row)),
    )
  }

  /** Only where and when stays of what these registrations said (STORE-16). */
  async #erase({ from, before }: EndedSpan): Promise<void> {
    const answer = run(this.#client, 'list-ended-registrations', { from, before })
    this.#sent.push(answer)
    await this.settled()
    const { rows } = await answer
    if (rows.length === 0) return
    this.hasErased = true
    const payloads = rows.map((cells) => {
      const { jobSeq, payload } = rowOf(PAYLOAD, cells)
      return { jobSeq, payload: withoutPeople(payload) }
    })
    const results = rows.flatMap((cells: SqlValue[]) => {
      const at = PAYLOAD.columns.length
      if (cells[at] === null) return []
      const result = rowOf(RESULT, cells, at)
      return [{ ...result, ...resultWithoutPeople(result) }]
    })
    this.#rows('upsert-payloads', PAYLOAD, payloads)
    this.#rows('upsert-results', RESULT, results)
  }

  /**
   * Deletes the next jobs with all that goes with them, and the next results of deleted jobs (STORE-10). Resolves with their
   * numbers.
   */
  async #prune(): Promise<[jobs: number, results: number]> {
    const { pruneEnded: ended, pruneResults: results } = this.row
    const limit = this.#prunesAll ? null : PRUNED_AT_ONCE
    let jobs: Promise<number> = Promise.resolve(0)
    let kept: Promise<number> = Promise.resolve(0)
    if (ended !== null) {
      void this.#send('keep-results', { ended, limit, results })
      void this.#send('prune-results', { ended, limit, results })
      for (const table of ['payloads', 'leases', 'failures']) {
        void this.#send(`prune-${table}`, { ended, limit })
      }
      jobs = this.#send('prune-jobs', { ended, limit })
    }
    if (results !== null) kept = this.#send('prune-kept-results', { results, limit })
    // Refusals are heard where all are settled.
    const counts = await Promise.allSettled([jobs, kept])
    return counts.map((count) => (count.status === 'fulfilled' ? count.value : 0)) as [
      number,
      number,
    ]
  }

  /** Deletes jobs that are named (STORE-22). */
  #pruneNamed(pruned: WriteBatch['prunedJobs']): void {
    for (const { seqs: jobs, resultsBefore: results } of pruned) {
      void this.#send('keep-named-results', { jobs, results })
      void this.#send('prune-named-results', { jobs, results })
      for (const table of ['payloads', 'leases', 'failures', 'jobs']) {
        void this.#send(`prune-named-${table}`, { jobs })
      }
    }
  }

  #cutJournal(seq: number): void {
    const { row } = this
    if (seq >= row.journalLast) {
      throw refused(`entry ${seq} is the newest or not there, and one has to stay`)
    }
    void this.#send('cut-journal', { seq })
  }

  /** Resolves with the number of rows. If not as many as expected are there, the batch is refused. */
  #send(name: string, values: Values, expected?: number): Promise<number> {
    const answer = run(this.#client, name, values).then(({ count }) => {
      if (expected === undefined || count === expected) return count
      throw refused(
        `${name}: ${expected - count} of ${expected} rows are not there, or ended otherwise`,
      )
    })
    this.#sent.push(answer)
    // Somebody hears it later.
    answer.catch(() => {})
    return answer
  }
}

const ENTRY_COLUMNS = [
  ...(['seq', 'at', 'actor', 'action', 'subject', 'job', 'details', 'details_cbor'] as const),
  'hash' as const,
]

/** Room for most entries; longer ones take more. */
const ENTRY_BYTES = 512

function textIn(cell: SqlValue): string {
  return escaped(typeof cell === 'string' ? cell : Buffer.from(cell as Uint8Array).toString('utf8'))
}

function textOrNull(text: string | undefined): string | null {
  return text === undefined ? null : escaped(text)
}

function refused(why: string): FairleadError {
  return new FairleadError('InvalidState', why)
}
