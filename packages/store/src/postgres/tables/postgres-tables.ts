import type { FairleadError } from '@fairlead/core'
import type { KeyPrints, Snapshot, StoreReads, Tables, WriteBatch } from '@fairlead/core/internal'
import type { Client } from 'pg'
import type { Overview, Sealed } from '../../sqlite/tables/load-tables.ts'
import { unavailable } from '../../unavailable.ts'
import type { Address } from '../address.ts'
import { type Connection, closed } from '../connection.ts'
import { asPostgresError, codeOf } from '../errors.ts'
import { findLeader, notLeader } from '../leader.ts'
import type { Readers } from '../readers.ts'
import type { Sessions } from '../sessions.ts'
import {
  loadEverything,
  loadKeyPrints,
  loadOverview,
  loadSealed,
  loadSnapshot,
} from './load-tables.ts'
import { postgresReads } from './postgres-reads.ts'
import { loadStoreRow, type StoreRow, saveStoreRow } from './store-row.ts'
import { TableWriter } from './table-writer.ts'

/**
 * The tables. Each apply is one transaction, which ends with the row about the store: that row has the number of the apply, and
 * an epoch that only the leader can give it. So a node that leads no longer writes nothing, and an apply whose answer
 * was lost is found again by its number.
 */
export class PostgresTables implements Tables {
  readonly read: StoreReads
  readonly #address: Address
  readonly #connection: Connection
  readonly #readers: Readers
  readonly #sessions: Sessions
  readonly #epoch: number
  #calls: Promise<unknown> = Promise.resolve()
  #row: StoreRow | null = null
  /** The connection on which the row is known. */
  #known: Client | null = null
  /** The last apply, if its commit had no answer. */
  #unknown: { readonly rows: WriteBatch; readonly writes: number } | null = null
  #batch: number
  #hasErased = false
  #deposed: FairleadError | null = null
  #isClosed = false

  constructor(
    address: Address,
    given: {
      readonly connection: Connection
      readonly readers: Readers
      readonly sessions: Sessions
      readonly epoch: number
      readonly batch: number
    },
  ) {
    this.#address = address
    this.#connection = given.connection
    this.#readers = given.readers
    this.#sessions = given.sessions
    this.#epoch = given.epoch
    this.#batch = given.batch
    this.read = postgresReads(given.readers, address, () =>
      this.#sessions.snapshot((client) => loadEverything(client, address)),
    )
  }

  load(): Promise<Snapshot> {
    return this.#sessions.snapshot(loadSnapshot)
  }

  keyPrints(afterSeq: number, limit: number): Promise<KeyPrints> {
    return this.#readers.ask((client) => loadKeyPrints(client, afterSeq, limit))
  }

  overview(): Promise<Overview> {
    return this.#sessions.snapshot(loadOverview)
  }

  sealed(): Promise<Sealed[]> {
    return this.#sessions.snapshot(loadSealed)
  }

  /** What is applied is committed, and so it is as durable as the server makes a commit. */
  apply(rows: WriteBatch, batch: number): Promise<number> {
    return this.#inOrder(async () => {
      await this.#apply(rows, batch)
      return batch
    })
  }

  sync(): Promise<number> {
    return this.#inOrder(async () => this.#batch)
  }

  /** See the log: what was deleted is out of reach of any statement, and its space is free. */
  scrub(): Promise<number | null> {
    return this.#inOrder(async () => {
      if (!this.#hasErased) return null
      await this.#sessions.vacuum(['payloads', 'results'])
      this.#hasErased = false
      return this.#batch
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#calls
  }

  #inOrder<Value>(act: () => Promise<Value>): Promise<Value> {
    if (this.#isClosed) return Promise.reject(closed(this.#address))
    const called = this.#calls.then(act)
    this.#calls = called.catch(() => {})
    return called
  }

  async #apply(rows: WriteBatch, batch: number): Promise<void> {
    if (this.#deposed !== null) throw this.#deposed
    try {
      const wasPruning = this.#row?.pruneEnded ?? null
      await this.#attempt(rows, batch, { prunesAll: false }).catch((error: unknown) => {
        // The next attempt finds out what became of a commit without an answer.
        if (this.#unknown !== null) return this.#attempt(rows, batch, { prunesAll: false })
        // A job that is still to be deleted may have the names of a new one.
        if (wasPruning === null || !isConstraint(error)) throw error
        return this.#attempt(rows, batch, { prunesAll: true })
      })
    } catch (error) {
      throw await this.#refusal(error)
    }
  }

  async #attempt(
    rows: WriteBatch,
    batch: number,
    options: { readonly prunesAll: boolean },
  ): Promise<void> {
    const client = await this.#connection.client()
    try {
      if (await this.#wasStored(client, rows)) this.#batch = batch
      else await this.#write(client, rows, batch, options)
    } catch (error) {
      // Its transaction ends with it. The next attempt reads on another one what the tables have.
      this.#known = null
      this.#connection.drop(client)
      throw error
    }
  }

  /** On a new connection, reads what the tables have. True if these rows are there, because only an answer was lost. */
  async #wasStored(client: Client, rows: WriteBatch): Promise<boolean> {
    if (this.#known === client) return false
    const leader = await findLeader(client)
    if (leader.epoch !== this.#epoch) throw this.#depose(leader)
    const row = await loadStoreRow(client)
    const lost = this.#unknown
    this.#unknown = null
    this.#row = row
    this.#known = client
    return lost !== null && lost.rows === rows && lost.writes === row.writes
  }

  async #write(
    client: Client,
    rows: WriteBatch,
    batch: number,
    options: { readonly prunesAll: boolean },
  ): Promise<void> {
    const before = this.#row as StoreRow
    if (batch < before.batch) {
      const advice = `batch ${batch} comes behind batch ${before.batch}, which is in the tables`
      throw unavailable(this.#address.shown, 'constraint', advice)
    }
    // A refusal is heard with the first statement behind it.
    client.query('BEGIN').catch(() => {})
    const writer = new TableWriter(client, before, options)
    await writer.write(rows)
    const { row } = writer
    Object.assign(row, { batch, writes: before.writes + 1 })
    const { count } = await saveStoreRow(client, row, this.#epoch)
    if (count !== 1) {
      const advice = 'another program has changed the row about the store; it is read again'
      throw unavailable(this.#address.shown, 'busy', advice)
    }
    this.#unknown = { rows, writes: row.writes }
    await client.query('COMMIT')
    this.#unknown = null
    this.#row = row
    this.#batch = batch
    this.#hasErased ||= writer.hasErased
  }

  /** A refused write may mean that another node leads. */
  async #refusal(error: unknown): Promise<FairleadError> {
    const refusal = asPostgresError(this.#address.shown, error)
    if (this.#deposed !== null || refusal.details['reason'] !== 'constraint') return refusal
    const leader = await this.#readers.ask(findLeader).catch(() => null)
    return leader === null || leader.epoch === this.#epoch ? refusal : this.#depose(leader)
  }

  #depose(leader: Parameters<typeof notLeader>[1]): FairleadError {
    this.#deposed = notLeader(this.#address, leader)
    return this.#deposed
  }
}

function isConstraint(error: unknown): boolean {
  return (
    /^23...$/.test(codeOf(error)) || asPostgresError('', error).details['reason'] === 'constraint'
  )
}
