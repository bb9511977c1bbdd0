import type { Store } from '@fairlead/core'
import type { StoreReads } from '@fairlead/core/internal'
import type { Client } from 'pg'
import type { Overview, Sealed } from '../sqlite/tables/load-tables.ts'
import { unavailable } from '../unavailable.ts'
import { type Address, addressOf, configOf, type PostgresOptions } from './address.ts'
import { Connection, run } from './connection.ts'
import { findLeader, type Leader, takeEpoch } from './leader.ts'
import { migrate } from './migrate.ts'
import { findEnds, type LogEnds, PostgresLog } from './postgres-log.ts'
import { Readers } from './readers.ts'
import { loadServerFacts, type ServerFacts } from './server-facts.ts'
import { Sessions } from './sessions.ts'
import { loadOverview, loadSealed } from './tables/load-tables.ts'
import { PostgresTables } from './tables/postgres-tables.ts'

export { isPostgresUrl, type PostgresOptions, shownUrl } from './address.ts'
export type { ServerFacts } from './server-facts.ts'

/** What was found when a store was opened. */
export interface PostgresReport {
  /** True if the store was not there before. */
  readonly isNew: boolean
  /** The epoch in which this process leads. */
  readonly epoch: number
  /** The last batch that the tables reflect. */
  readonly tablesBatch: number
  /** The last batch of the log. Those after `tablesBatch` have to be replayed. */
  readonly logBatch: number
}

/** A store in a schema of PostgreSQL. */
export interface PostgresStore extends Store {
  readonly log: PostgresLog
  readonly tables: PostgresTables
  readonly report: PostgresReport
  /** The address without the password. */
  readonly shown: string
  /** How much of it is encrypted with which key (FILES-3). It reads all payloads and results. */
  sealed(): Promise<Sealed[]>
}

/**
 * Opens a store, and makes one where none is. This process leads from now on: another one that had it open is refused by
 * the server (LEADER-1).
 */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  const address = addressOf(options)
  const sessions = new Sessions(address, configOf(address, { purpose: 'session' }))
  const opened = await sessions.once(async (client) => {
    await refuseEncoding(client, address)
    const { from } = await migrate(client, address)
    const epoch = await takeEpoch(client, address.node)
    const ends = await findEnds(client)
    const [told] = (await run(client, 'tell-batch')).rows as [[number, number]]
    return { epoch, ends, batch: told[0], isNew: from === 0 }
  })
  return new OpenPostgresStore(address, { ...opened, sessions })
}

/** A look at a store: the version of its schema, what is in it, and its server. It takes no lead and changes nothing. */
export async function lookAtPostgresStore(options: PostgresOptions): Promise<{
  readonly server: ServerFacts
  /** Null: it is not there yet. */
  readonly found: {
    readonly leader: Leader
    readonly overview: Overview
    readonly sealed: readonly Sealed[]
  } | null
  /** Migrations that the next opening runs. */
  readonly pending: readonly string[]
}> {
  const address = addressOf(options)
  const sessions = new Sessions(address, configOf(address, { purpose: 'look' }))
  return sessions.once(async (client) => {
    await refuseEncoding(client, address)
    const server = await loadServerFacts(client)
    const { from, names } = await migrate(client, address, { isDryRun: true })
    const found =
      from === 0
        ? null
        : {
            leader: await findLeader(client),
            overview: await loadOverview(client),
            sealed: await loadSealed(client),
          }
    return { server, found, pending: names }
  })
}

/** What the next opening would run (PG-2). */
export async function pendingMigrations(options: PostgresOptions): Promise<readonly string[]> {
  const address = addressOf(options)
  const sessions = new Sessions(address, configOf(address, { purpose: 'migrate' }))
  return sessions.once(async (client) => {
    return (await migrate(client, address, { isDryRun: true })).names
  })
}

async function refuseEncoding(client: Client, { shown }: Address): Promise<void> {
  const { rows } = await client.query<{ server_encoding: string }>('SHOW server_encoding')
  const found = rows[0]?.server_encoding
  if (found === 'UTF8') return
  const advice = `the encoding of the database is ${found}; make one with createdb -E UTF8 -T template0`
  throw unavailable(shown, 'not_a_database', advice)
}

class OpenPostgresStore implements PostgresStore {
  readonly log: PostgresLog
  readonly tables: PostgresTables
  readonly read: StoreReads
  readonly report: PostgresReport
  readonly shown: string
  readonly #connections: readonly { close(): Promise<void> }[]
  #closed: Promise<void> | null = null

  constructor(
    address: Address,
    given: {
      readonly epoch: number
      readonly ends: LogEnds
      readonly batch: number
      readonly sessions: Sessions
      readonly isNew: boolean
    },
  ) {
    const { epoch, ends, batch, sessions, isNew } = given
    const forLog = new Connection(address, configOf(address, { purpose: 'log', writes: true }))
    const forTables = new Connection(
      address,
      configOf(address, { purpose: 'tables', writes: true }),
    )
    const readers = new Readers(address, configOf(address, { purpose: 'reads' }))
    const vacuum = (): Promise<void> => sessions.vacuum(['log'])
    this.log = new PostgresLog(address, { connection: forLog, readers, vacuum, epoch, ends })
    const connection = forTables
    this.tables = new PostgresTables(address, { connection, readers, sessions, epoch, batch })
    this.read = this.tables.read
    this.report = { isNew, epoch, tablesBatch: batch, logBatch: ends.batch }
    this.shown = address.shown
    this.#connections = [forLog, forTables, readers]
  }

  sealed(): Promise<Sealed[]> {
    return this.tables.sealed()
  }

  close(): Promise<void> {
    this.#closed ??= this.#closeAll()
    return this.#closed
  }

  async #closeAll(): Promise<void> {
    await this.log.close()
    await this.tables.close()
    await Promise.all(this.#connections.map((one) => one.close().catch(() => {})))
  }
}
