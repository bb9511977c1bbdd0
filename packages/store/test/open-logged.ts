import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tables, WriteBatch } from '@fairlead/core/internal'
import type { OpenTables } from '../src/conformance/tables-conformance.ts'
import {
  openSqliteStore,
  type SqliteInternals,
  type SqliteStore,
} from '../src/sqlite/sqlite-store.ts'

/** A stand-in for the commands of a batch. */
export function recordOf(batch: number) {
  return { batch, digest: batch % 2 ** 32, body: new Uint8Array(16).fill(batch) }
}

/** Gives rows to the tables once the log has their batch, as an engine does. Resolves with the durable batch. */
export async function applyLogged(
  { tables, log }: SqliteStore,
  rows: WriteBatch,
  batch: number,
): Promise<number> {
  for (let n = log.end.batch + 1; n <= batch; n++) await log.append(recordOf(n))
  return tables.apply(rows, batch)
}

/** The tables of a store with a log that is always ahead of them. */
function logged(store: SqliteStore): Tables {
  const { tables } = store
  return {
    read: tables.read,
    load: () => tables.load(),
    keyPrints: (afterSeq, limit) => tables.keyPrints(afterSeq, limit),
    apply: (rows, batch) => applyLogged(store, rows, batch),
    sync: () => tables.sync(),
    scrub: () => tables.scrub(),
    close: () => store.close(),
  }
}

/** A new store for the suite of tables. */
export async function openForSuite(internals: SqliteInternals): Promise<OpenTables> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-store-'))
  const open = () =>
    openSqliteStore(
      join(folder, 'state.db'),
      { durability: 'relaxed' },
      { segmentBytes: 65_536, ...internals },
    )
  let store = await open()
  const again = async (end: () => Promise<void>) => {
    await end()
    store = await open()
    return logged(store)
  }
  return {
    tables: logged(store),
    reopen: () => again(() => store.close()),
    crash: () => again(() => abandon(store)),
    remove: async () => {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Ends as a killed process does. */
export function abandon(store: SqliteStore): Promise<void> {
  return (store as unknown as { abandon(): Promise<void> }).abandon()
}
