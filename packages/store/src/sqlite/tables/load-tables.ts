import type { KeyPrints, Snapshot } from '@fairlead/core/internal'
import { LANE, LEASE, META, PROVIDER, type RowType, SETTLEMENT, SHARE } from '../../rows/rows.ts'
import { Moved } from '../../thread/thread-messages.ts'
import { CellWriter } from '../rows/cell-codec.ts'
import { checkRow, damagedAt, rowIn } from '../rows/row-sums.ts'
import type { KeyHash } from './key-hash.ts'
import type { Statements } from './statements.ts'
import type { StoreRow } from './store-row.ts'

/** What goes from the thread of the tables to their user as a whole, or in large pieces. */

/** All that can be told without loading the jobs. */
export interface Overview {
  readonly liveJobs: number
  readonly meta: Snapshot['meta']
}

/** How much of a store is under the seal of one key. */
export interface Sealed {
  /** The id of the key, in hex. */
  readonly keyId: string
  readonly registrations: number
  readonly results: number
}

/** A page of live jobs and of their leases. */
export interface LoadedJobs {
  /** JSON; see load-jobs.sql. */
  readonly jobs: string
  /** The number of leases and their cells. */
  readonly leases: Uint8Array
  /** The number of the last job. */
  readonly last: number
  readonly count: number
}

/** A snapshot without live jobs and their leases. */
export type LoadedRest = Omit<Snapshot, 'jobs' | 'leases'>

/** One piece of memory goes from thread to thread in a fraction of the time that many take. */
export interface PackedPayloads {
  readonly bytes: Uint8Array
  readonly lengths: readonly number[]
}

export function loadRest(statements: Statements, row: Readonly<StoreRow>): LoadedRest {
  return {
    batch: row.batch,
    providers: allOf(statements, 'providers', PROVIDER),
    shares: allOf(statements, 'shares', SHARE),
    lanes: allOf(statements, 'lanes', LANE),
    meta: metaOf(statements),
    due: dueIn(statements),
    lastEntry: row.journalLast,
  }
}

/** The next live jobs and their leases. */
export function loadJobs(
  statements: Statements,
  afterSeq: number,
  limit: number,
): Moved<LoadedJobs> {
  const found = statements.get('load-jobs').get(afterSeq, limit)
  const [jobs, lastSeq, count] = found as [string, number | null, number]
  const last = lastSeq ?? afterSeq
  const rows = statements.get('load-leases').all(afterSeq, last)
  page.start()
  page.number(rows.length)
  for (const cells of rows) {
    checkRow(LEASE, cells)
    for (const cell of cells) page.cell(cell)
  }
  const leases = page.finish()
  return new Moved({ jobs, leases, last, count }, [leases.buffer as ArrayBuffer])
}

const page = new CellWriter()

/** The keys of the next jobs that a caller can ask for again. Their hash tells if they are whole: a row has many more cells. */
export function keyPrints(
  statements: Statements,
  keyHash: KeyHash,
  afterSeq: number,
  limit: number,
): Moved<KeyPrints> {
  const rows = statements.get('list-keys').all(afterSeq, limit)
  const prints = Uint32Array.from(rows, ([seq, caller, txHash, hash]) => {
    if (keyHash.of(caller as Uint8Array, txHash as Uint8Array) !== hash) {
      throw damagedAt('jobs', `the key of the row with seq ${String(seq)}`)
    }
    return startOf(caller) ^ startOf(txHash)
  })
  const lastSeq = rows.length < limit ? null : (rows.at(-1)?.[0] as number)
  return new Moved({ prints, lastSeq }, [prints.buffer])
}

function startOf(id: unknown): number {
  const [a = 0, b = 0, c = 0, d = 0] = id as Uint8Array
  return (a << 24) | (b << 16) | (c << 8) | d
}

export function overview(statements: Statements): Overview {
  const [liveJobs] = statements.get('count-live-jobs').get() as [number]
  return { liveJobs, meta: metaOf(statements) }
}

export function sealed(statements: Statements): Sealed[] {
  const rows = statements.get('count-sealed').all()
  return rows.map(([keyId, registrations, results]) => ({
    keyId: keyId as string,
    registrations: registrations as number,
    results: results as number,
  }))
}

/** Payloads one after the other, and the length of each; −1 for a job that does not exist. */
export function packed(payloads: readonly (Uint8Array | null)[]): Moved<PackedPayloads> {
  const lengths = payloads.map((payload) => payload?.length ?? -1)
  const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + Math.max(0, length), 0))
  let at = 0
  for (const payload of payloads) {
    if (payload === null) continue
    bytes.set(payload, at)
    at += payload.length
  }
  return new Moved({ bytes, lengths }, [bytes.buffer])
}

/** What the newest settled epoch leaves due. */
function dueIn(statements: Statements): Uint8Array {
  const cells = statements.get('find-due').get()
  return cells === undefined ? new Uint8Array() : rowIn(SETTLEMENT, cells).due
}

function metaOf(statements: Statements): Snapshot['meta'] {
  const rows = allOf(statements, 'meta', META)
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]))
}

function allOf<Row extends object>(
  statements: Statements,
  table: string,
  type: RowType<Row>,
): Row[] {
  const rows = statements.get(`all-${table}`).all()
  return rows.map((cells) => rowIn(type, cells))
}
