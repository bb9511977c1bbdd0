import {
  FairleadError,
  hasEnded,
  isLive,
  JOB_STATUSES,
  LEASE_STATUSES,
  PROVIDER_STATUSES,
} from '@fairlead/core'
import type { CellBatch, Cells } from './batch-codec.ts'
import type { SqlValue } from './driver.ts'
import { CELL, WIDTH } from './rows.ts'
import type { Statements } from './statements.ts'

/** A row that waits: the cells that insert it, or those that update the one in its table. */
interface Pending {
  readonly isNew: boolean
  readonly cells: SqlValue[]
}

/** Rows for the tables; of each row what it has become in the end. */
export interface TableRows
  extends Omit<CellBatch, 'pruneEndedBefore' | 'firstEntry' | 'entryJobs'> {
  /** The numbers of the new entries about each job, as its row takes them. */
  readonly entries: Map<number, string>
}

/**
 * Rows that are in the log and not in their tables yet. A job that is enqueued, assigned, started and
 * completed within a moment is four changes of a job and three of a lease in the log, and one row each
 * in the tables. What a batch may not do is refused here, before it is logged, because a table would
 * refuse it too late (STORE-5, STORE-6).
 */
export class PendingRows {
  readonly #statements: Statements
  readonly #jobs = new Map<number, Pending>()
  readonly #seqOfId = new Map<string, number>()
  readonly #seqOfKey = new Map<string, number>()
  readonly #payloads = new Map<number, Uint8Array>()
  /** By job, then by attempt. */
  readonly #leases = new Map<number, Map<number, Pending>>()
  readonly #leaseIds = new Set<string>()
  readonly #providers = new Map<string, Cells>()
  readonly #results = new Map<number, Cells>()
  readonly #shares = new Map<string, Cells>()
  readonly #rounds = new Map<string, Cells>()
  readonly #meta = new Map<string, Cells>()
  readonly #entries = new Map<number, string>()
  #rows = 0
  /** No job in the table has a higher number; null when that is not known. */
  #highest: number | null = null

  constructor(statements: Statements) {
    this.#statements = statements
  }

  get isEmpty(): boolean {
    return this.#rows === 0
  }

  /** How many rows were merged, which is no less than there are to write. */
  get size(): number {
    return this.#rows
  }

  /** A copy: what is kept is a piece of its whole batch, and sent elsewhere it would take that along. */
  payload(seq: number): Uint8Array | undefined {
    const payload = this.#payloads.get(seq)
    return payload === undefined ? undefined : Uint8Array.from(payload)
  }

  /** The job that this caller enqueued under this key. */
  jobByKey(caller: Uint8Array, txHash: Uint8Array): { id: Uint8Array; payload: Uint8Array } | null {
    const seq = this.#seqOfKey.get(keyOf(caller) + keyOf(txHash))
    if (seq === undefined) return null
    const id = this.#jobs.get(seq)?.cells[CELL.jobId] as Uint8Array
    return { id, payload: this.payload(seq) as Uint8Array }
  }

  /** After a refusal nothing is sure to be whole: the rows are to be merged anew from the log. */
  merge(batch: CellBatch): void {
    each(batch.newJobs, WIDTH.job, (cells) => this.#addJob(cells))
    each(batch.payloads, WIDTH.payload, ([seq, payload]) =>
      this.#payloads.set(seq as number, payload as Uint8Array),
    )
    each(batch.jobs, WIDTH.jobState, (cells) => this.#changeJob(cells))
    each(batch.leases, WIDTH.leaseState, (cells) => this.#changeLease(cells))
    each(batch.newLeases, WIDTH.lease, (cells) => this.#addLease(cells))
    put(this.#providers, batch.providers, WIDTH.provider, ([id, status]) => {
      checkWord('provider', PROVIDER_STATUSES, status)
      return id as string
    })
    put(this.#results, batch.results, WIDTH.result, ([job]) => job as number)
    put(
      this.#shares,
      batch.shares,
      WIDTH.share,
      ([kind, caller]) => `${keyOf(kind)} ${keyOf(caller)}`,
    )
    each(batch.rounds, WIDTH.round, (cells) => this.#addRound(cells))
    put(this.#meta, batch.meta, WIDTH.meta, ([name]) => keyOf(name))
    for (const [i, job] of batch.entryJobs.entries()) {
      if (job === null) continue
      const seq = (batch.firstEntry as number) + i
      this.#entries.set(job as number, `${this.#entries.get(job as number) ?? ''} ${seq}`)
    }
    this.#rows += rowsOf(batch)
  }

  /** All rows, and none are left. */
  take(): TableRows {
    const jobs = split(this.#jobs.values())
    const leases = split([...this.#leases.values()].flatMap((attempts) => [...attempts.values()]))
    const rows: TableRows = {
      newJobs: jobs.inserts,
      payloads: [...this.#payloads].flat(),
      jobs: jobs.updates,
      newLeases: leases.inserts,
      leases: leases.updates,
      providers: joined(this.#providers),
      results: joined(this.#results),
      shares: joined(this.#shares),
      rounds: joined(this.#rounds),
      meta: joined(this.#meta),
      entries: new Map(this.#entries),
    }
    this.clear()
    return rows
  }

  clear(): void {
    for (const rows of [this.#jobs, this.#seqOfId, this.#seqOfKey, this.#payloads, this.#leases])
      rows.clear()
    for (const rows of [this.#leaseIds, this.#providers, this.#results, this.#shares]) rows.clear()
    for (const rows of [this.#rounds, this.#meta, this.#entries]) rows.clear()
    this.#rows = 0
    this.#highest = null
  }

  #addJob(cells: SqlValue[]): void {
    const [seq, id, caller, txHash] = cells as [number, Uint8Array, Uint8Array, Uint8Array]
    checkJob(cells, CELL.jobState)
    const isTaken = this.#jobs.has(seq) || this.#isStored(seq) || this.#seqOfId.has(keyOf(id))
    if (isTaken || this.#has('find-job-id', id)) throw refused(`job ${seq} is not new`)
    const key = keyOf(caller) + keyOf(txHash)
    if (this.#seqOfKey.has(key) || this.#has('find-job-by-tx', caller, txHash)) {
      throw refused(`another job than ${seq} has its caller and tx_hash`)
    }
    this.#jobs.set(seq, { isNew: true, cells })
    this.#seqOfId.set(keyOf(id), seq)
    this.#seqOfKey.set(key, seq)
  }

  /** Of an ended job the status stays (STATE-2). */
  #changeJob(cells: SqlValue[]): void {
    const seq = cells[0] as number
    checkJob(cells, CELL.changedJobState)
    const before = this.#jobs.get(seq)
    const state =
      before === undefined ? CELL.jobStub : before.isNew ? CELL.jobState : CELL.changedJobState
    const known = before?.cells ?? this.#stub('find-job-stub', seq)
    const status = known?.[state] as string | undefined
    const isSame = known !== null && keyOf(known[CELL.jobId]) === keyOf(cells[CELL.jobId])
    if (status === undefined || !isSame) throw refused(`there is no job ${seq}`)
    if (hasEnded(status as never) && status !== cells[CELL.changedJobState]) {
      throw refused(`job ${seq} is ${status} and never changes again`)
    }
    if (before === undefined) this.#jobs.set(seq, { isNew: false, cells })
    else copyCells(before.cells, state, cells, CELL.changedJobState)
  }

  /** Of an ended lease the status stays (STATE-3). */
  #changeLease(cells: SqlValue[]): void {
    const [job, attempt] = cells as [number, number]
    checkLease(cells, CELL.changedLeaseState)
    const before = this.#leases.get(job)?.get(attempt)
    const state =
      before === undefined
        ? CELL.leaseStub
        : before.isNew
          ? CELL.leaseState
          : CELL.changedLeaseState
    const known = before?.cells ?? this.#stub('find-lease-stub', job, attempt)
    const status = known?.[state] as string | undefined
    const isSame = known !== null && keyOf(known[CELL.leaseId]) === keyOf(cells[CELL.leaseId])
    if (status === undefined || !isSame) throw refused(`job ${job} has no lease ${attempt}`)
    const next = cells[CELL.changedLeaseState]
    if (!isLive(status as never) && status !== next) {
      throw refused(`lease ${attempt} of job ${job} is ${status} and never changes again`)
    }
    if (before === undefined) this.#setLease(job, attempt, { isNew: false, cells })
    else copyCells(before.cells, state, cells, CELL.changedLeaseState)
  }

  #addLease(cells: SqlValue[]): void {
    const [job, attempt, id] = cells as [number, number, Uint8Array]
    checkLease(cells, CELL.leaseState)
    const isPending = this.#leases.get(job)?.has(attempt) === true || this.#leaseIds.has(keyOf(id))
    const isStored = !this.#isNew(job) && this.#stub('find-lease-stub', job, attempt) !== null
    if (isPending || isStored || this.#has('find-lease-id', id)) {
      throw refused(`lease ${attempt} of job ${job} is not new`)
    }
    if (isLive(cells[CELL.leaseState] as never) && this.#hasLive(job)) {
      throw refused(`job ${job} has a live lease already`)
    }
    this.#setLease(job, attempt, { isNew: true, cells })
    this.#leaseIds.add(keyOf(id))
  }

  #hasLive(job: number): boolean {
    const attempts = this.#leases.get(job)
    for (const { isNew, cells } of attempts?.values() ?? []) {
      const status = cells[isNew ? CELL.leaseState : CELL.changedLeaseState]
      if (isLive(status as never)) return true
    }
    if (this.#isNew(job)) return false
    const live = this.#statements.get('find-live-attempt').get(job)?.['attempt']
    return live !== undefined && attempts?.has(live as number) !== true
  }

  #setLease(job: number, attempt: number, lease: Pending): void {
    const attempts = this.#leases.get(job)
    if (attempts === undefined) this.#leases.set(job, new Map([[attempt, lease]]))
    else attempts.set(attempt, lease)
  }

  #addRound(cells: SqlValue[]): void {
    const [height, kind] = cells as [number, string]
    const key = `${height} ${kind}`
    if (this.#rounds.has(key) || this.#has('find-round', height, kind)) {
      throw refused(`round ${height} of ${kind} is there already`)
    }
    this.#rounds.set(key, cells)
  }

  #isNew(job: number): boolean {
    return this.#jobs.get(job)?.isNew === true
  }

  /** Numbers mostly ascend, and above the highest there is nothing to be found. */
  #isStored(seq: number): boolean {
    this.#highest ??= (this.#statements.get('find-last-job').get()?.['seq'] ?? 0) as number
    if (seq <= this.#highest) return this.#has('find-job-seq', seq)
    this.#highest = seq
    return false
  }

  #has(query: string, ...params: SqlValue[]): boolean {
    return this.#statements.get(query).get(...params) !== undefined
  }

  /** As many cells of a row in its table as a change is checked by, in the places of `CELL`. */
  #stub(query: string, ...params: SqlValue[]): SqlValue[] | null {
    const columns = this.#statements.get(query).get(...params)
    return columns === undefined
      ? null
      : [...params, columns['id'] as SqlValue, columns['status'] as SqlValue]
  }
}

function checkJob(cells: Cells, state: number): void {
  const status = cells[state] as (typeof JOB_STATUSES)[number]
  checkWord('job', JOB_STATUSES, status)
  if (hasEnded(status) !== (cells[state + CELL.endedAt] !== null)) {
    throw refused(`a job that is ${status} ${hasEnded(status) ? 'has' : 'does not have'} an end`)
  }
}

function checkLease(cells: Cells, state: number): void {
  checkWord('lease', LEASE_STATUSES, cells[state])
}

function checkWord(what: string, words: readonly string[], given: SqlValue | undefined): void {
  if (!words.includes(given as string)) throw refused(`a ${what} cannot be ${String(given)}`)
}

function refused(why: string): FairleadError {
  return new FairleadError('InvalidState', why)
}

function copyCells(to: SqlValue[], toAt: number, from: Cells, fromAt: number): void {
  for (let i = fromAt; i < from.length; i++) to[toAt + i - fromAt] = from[i] as SqlValue
}

function each(cells: Cells, width: number, act: (row: SqlValue[]) => void): void {
  for (let at = 0; at < cells.length; at += width) act(cells.slice(at, at + width))
}

function put<Key>(
  rows: Map<Key, Cells>,
  cells: Cells,
  width: number,
  key: (row: Cells) => Key,
): void {
  each(cells, width, (row) => rows.set(key(row), row))
}

function joined(rows: ReadonlyMap<unknown, Cells>): Cells {
  return [...rows.values()].flat()
}

/** Apart, each in the order in which it came. Of changes those that end something come first. */
function split(rows: Iterable<Pending>): { readonly inserts: Cells; readonly updates: Cells } {
  const inserts: SqlValue[] = []
  const updates: SqlValue[] = []
  for (const { isNew, cells } of rows)
    for (const cell of cells) (isNew ? inserts : updates).push(cell)
  return { inserts, updates }
}

function rowsOf(batch: CellBatch): number {
  const { newJobs, jobs, newLeases, leases, providers, results, shares, rounds, meta } = batch
  return (
    (2 * newJobs.length) / WIDTH.job +
    jobs.length / WIDTH.jobState +
    newLeases.length / WIDTH.lease +
    leases.length / WIDTH.leaseState +
    providers.length / WIDTH.provider +
    results.length / WIDTH.result +
    shares.length / WIDTH.share +
    rounds.length / WIDTH.round +
    meta.length / WIDTH.meta +
    batch.entryJobs.length / WIDTH.entryJob
  )
}

/** Bytes as a key of a map; text stands for itself. */
function keyOf(cell: SqlValue | undefined): string {
  return typeof cell === 'string' ? cell : Buffer.from(cell as Uint8Array).toString('latin1')
}
