import { invariant } from '@fairlead/core/internal'
import type { Client } from 'pg'
import { hexOf } from '../cells.ts'
import { type Answer, run } from '../connection.ts'

/** The row of the table `store`, as the last apply left it. */
export interface StoreRow {
  /** The tables are as after this batch of the log. */
  batch: number
  /** The number of the apply. */
  writes: number
  journalLast: number
  /** The hash of the last entry. */
  journalHash: Uint8Array
  pruneEnded: number | null
  pruneResults: number | null
}

export async function loadStoreRow(client: Client): Promise<StoreRow> {
  const [cells] = (await run(client, 'find-store')).rows
  invariant(cells !== undefined, 'a store has a row about itself')
  const [batch, writes, journalLast, journalHash, pruneEnded, pruneResults] = cells as [
    number,
    number,
    number,
    Uint8Array,
    number | null,
    number | null,
  ]
  return { batch, writes, journalLast, journalHash, pruneEnded, pruneResults }
}

/** Ends an apply. A node that leads no longer is refused by the server. */
export function saveStoreRow(client: Client, row: StoreRow, epoch: number): Promise<Answer> {
  return run(client, 'save-store', {
    batch: row.batch,
    writes: row.writes,
    epoch,
    journal_last: row.journalLast,
    journal_hash: hexOf(row.journalHash),
    prune_ended: row.pruneEnded,
    prune_results: row.pruneResults,
  })
}
