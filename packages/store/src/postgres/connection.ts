import { FairleadError } from '@fairlead/core'
import type { Client, ClientConfig, PoolClient, QueryArrayResult } from 'pg'
import type { SqlValue } from '../sqlite/driver.ts'
import type { Address } from './address.ts'
import { CELL_TYPES, type Param } from './cells.ts'
import { asPostgresError } from './errors.ts'
import { queryNamed } from './queries.ts'

/** The values of the parameters of a query, by name. */
export type Values = Readonly<Record<string, Param | readonly Param[]>>

export interface Answer {
  readonly rows: SqlValue[][]
  /** How many rows it changed or returned. */
  readonly count: number
}

/** Runs a query by its name. It is prepared once on each connection. */
export async function run(
  client: Client | PoolClient,
  name: string,
  values: Values = {},
): Promise<Answer> {
  const { text, params } = queryNamed(name)
  const given = params.map((param) => {
    if (!(param in values)) throw new Error(`the query ${name} is not given ${param}`)
    return values[param]
  })
  const config = { name, text, values: given, rowMode: 'array' as const, types: CELL_TYPES }
  const result: QueryArrayResult<SqlValue[]> = await client.query(config)
  return { rows: result.rows, count: result.rowCount ?? 0 }
}

/** The client library, which is loaded for this store only. */
export async function loadPg(): Promise<typeof import('pg').default> {
  try {
    return (await import('pg')).default
  } catch (cause) {
    const text = 'a store in PostgreSQL needs the package pg; install it with npm install pg'
    throw new FairleadError('StoreUnavailable', text, { reason: 'cannot_open' }, { cause })
  }
}

/** Failed attempts to connect are this far apart, and more each time. */
const RETRY_MS = { first: 50, most: 5_000 }

/**
 * One connection for one duty. A new one is opened when it is asked for and the last was lost; while the server is away, attempts
 * are ever further apart, and calls between them are refused at once.
 */
export class Connection {
  readonly #address: Address
  readonly #config: ClientConfig
  #client: Client | null = null
  #opening: Promise<Client> | null = null
  #failures = 0
  #retryAt = 0
  #refusal: FairleadError | null = null
  #isClosed = false

  constructor(address: Address, config: ClientConfig) {
    this.#address = address
    this.#config = config
  }

  /** The connection, which is new if the last one was lost. */
  async client(): Promise<Client> {
    if (this.#isClosed) throw closed(this.#address)
    if (this.#client !== null) return this.#client
    if (this.#refusal !== null && performance.now() < this.#retryAt) throw this.#refusal
    this.#opening ??= this.#open().finally(() => {
      this.#opening = null
    })
    return this.#opening
  }

  /** Ends a connection whose state nobody knows. */
  drop(client: Client): void {
    if (this.#client === client) this.#client = null
    client.end().catch(() => {})
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#opening?.catch(() => {})
    const client = this.#client
    this.#client = null
    await client?.end()
  }

  async #open(): Promise<Client> {
    const pg = await loadPg()
    const client = new pg.Client(this.#config)
    const lost = (): void => {
      if (this.#client === client) this.#client = null
    }
    // Without a listener the process would end.
    client.on('error', lost).on('end', lost)
    try {
      await client.connect()
    } catch (error) {
      client.end().catch(() => {})
      const refusal = asPostgresError(this.#address.shown, error)
      const wait = Math.min(RETRY_MS.first * 2 ** this.#failures++, RETRY_MS.most)
      this.#retryAt = performance.now() + wait
      this.#refusal = refusal
      throw refusal
    }
    this.#failures = 0
    this.#refusal = null
    this.#client = client
    return client
  }
}

export function closed({ shown }: Address): FairleadError {
  return new FairleadError('StoreUnavailable', `store ${shown}: it was closed; open it again`, {
    path: shown,
    reason: 'closed',
  })
}
