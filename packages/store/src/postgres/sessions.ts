import type { Client, ClientConfig } from 'pg'
import type { Address } from './address.ts'
import { Connection } from './connection.ts'
import { asPostgresError } from './errors.ts'

/** Connections for one piece of work each, which others do not share. */
export class Sessions {
  readonly #address: Address
  readonly #config: ClientConfig

  constructor(address: Address, config: ClientConfig) {
    this.#address = address
    this.#config = config
  }

  /** All that is read is of one moment. */
  snapshot<Value>(act: (client: Client) => Promise<Value>): Promise<Value> {
    return this.once(async (client) => {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      const value = await act(client)
      await client.query('COMMIT')
      return value
    })
  }

  /** Makes the space of deleted rows free. It takes as long as it takes. */
  vacuum(tables: readonly string[]): Promise<void> {
    return this.once(async (client) => {
      for (const table of tables) await client.query(`VACUUM ${table}`)
    })
  }

  /** A connection without an end to its statements. */
  async once<Value>(act: (client: Client) => Promise<Value>): Promise<Value> {
    const connection = new Connection(this.#address, {
      ...this.#config,
      statement_timeout: 0,
      query_timeout: 0,
    })
    try {
      return await act(await connection.client())
    } catch (error) {
      throw asPostgresError(this.#address.shown, error)
    } finally {
      await connection.close().catch(() => {})
    }
  }
}
