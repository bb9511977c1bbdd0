import { type JobRow, type LeaseRow, toHex } from '@fairlead/core'
import { type AnyRow, compareText, type KeyPrints, type Snapshot } from '@fairlead/core/internal'
import type { Client } from 'pg'
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
  SETTLEMENT,
  SHARE,
  STORED_PART,
} from '../../rows/rows.ts'
import type { Overview, Sealed } from '../../sqlite/tables/load-tables.ts'
import type { Address } from '../address.ts'
import { run } from '../connection.ts'
import { allOf, bytesOf, journalEntry } from './postgres-reads.ts'

/** The number of jobs in one answer while loading. */
const LOAD_PAGE = 4_000

/** The state as of one batch (STORE-4). The transaction is the caller's. */
export async function loadSnapshot(client: Client): Promise<Snapshot> {
  const [told] = (await run(client, 'tell-batch')).rows as [[number, number]]
  const [batch, lastEntry] = told
  const jobs: JobRow[] = []
  const leases: LeaseRow[] = []
  for (let after = 0; ; ) {
    const { rows } = await run(client, 'load-jobs', { after, limit: LOAD_PAGE })
    const page = rows.map((cells) => rowOf(JOB, cells))
    const last = page.at(-1)?.seq
    if (last === undefined) break
    // Lists of any length: arguments of a call are not.
    for (const job of page) jobs.push(job)
    const found = await run(client, 'load-leases', { after, last })
    for (const cells of found.rows) leases.push(rowOf(LEASE, cells))
    after = last
  }
  leases.sort((a, b) => a.tStart - b.tStart || a.attempt - b.attempt || a.jobSeq - b.jobSeq)
  const due = (await run(client, 'find-due')).rows[0]
  return {
    batch,
    jobs,
    leases,
    providers: await allOf(client, PROVIDER),
    shares: await allOf(client, SHARE),
    lanes: await lanesOf(client),
    meta: await metaOf(client),
    due: due === undefined ? new Uint8Array() : bytesOf(due[0]),
    lastEntry,
  }
}

export async function loadOverview(client: Client): Promise<Overview> {
  const [row] = (await run(client, 'count-live-jobs')).rows as [[number]]
  return { liveJobs: row[0], meta: await metaOf(client) }
}

export async function loadSealed(client: Client): Promise<Sealed[]> {
  const { rows } = await run(client, 'count-sealed')
  return rows.map(([keyId, registrations, results]) => ({
    keyId: keyId as string,
    registrations: Number(registrations),
    results: Number(results),
  }))
}

/** The keys of the next jobs that a caller can ask for again. */
export async function loadKeyPrints(
  client: Client,
  after: number,
  limit: number,
): Promise<KeyPrints> {
  const { rows } = await run(client, 'list-keys', { after, limit })
  const prints = Uint32Array.from(rows, ([, caller, txHash]) => startOf(caller) ^ startOf(txHash))
  return { prints, lastSeq: rows.length < limit ? null : (rows.at(-1)?.[0] as number) }
}

function startOf(id: unknown): number {
  const [a = 0, b = 0, c = 0, d = 0] = id as Uint8Array
  return (a << 24) | (b << 16) | (c << 8) | d
}

/** In the order of STORE-9, with the payloads behind the jobs. */
const LISTED: readonly RowType<object>[] = [
  ...[JOB, LEASE, PROVIDER, RESULT, FAILURE, SHARE, LANE, ROUND, SETTLEMENT, STORED_PART],
]

export async function loadEverything(client: Client, address: Address): Promise<AnyRow[]> {
  const rows: AnyRow[] = []
  const list = (table: string, row: object) => rows.push([table, row as AnyRow[1]])
  for (const type of LISTED) {
    const found = type === (LANE as object) ? await lanesOf(client) : await allOf(client, type)
    for (const row of found) list(type.table, row)
    if (type !== (JOB as object)) continue
    for (const [id, payload] of (await run(client, 'all-payloads')).rows) {
      list('payloads', { jobId: toHex(id as Uint8Array), payload: bytesOf(payload) })
    }
  }
  const journal = await run(client, 'list-journal', { after: 0, limit: Number.MAX_SAFE_INTEGER })
  for (const cells of journal.rows) list('journal', journalEntry(cells, address))
  for (const [name, value] of Object.entries(await metaOf(client))) list('meta', { name, value })
  return rows
}

/** Where the text is as it was given, so is its order. */
async function lanesOf(client: Client): Promise<Snapshot['lanes']> {
  const rows = await allOf(client, LANE)
  return rows.sort((a, b) => compareText(a.lane, b.lane) || compareText(a.key, b.key))
}

async function metaOf(client: Client): Promise<Snapshot['meta']> {
  const rows = await allOf(client, META)
  rows.sort((a, b) => compareText(a.name, b.name))
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]))
}
