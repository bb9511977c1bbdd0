import type { Client, ClientConfig } from 'pg'
import type { Address } from './address.ts'
import { Connection } from './connection.ts'
import { asPostgresError } from './errors.ts'

const CONNECTIONS_MAX = 4

interface Reader {
  readonly connection: Connection
  calls: number
}

/** Connections for reads. A call takes the one with the fewest calls under way, so a long list holds up few others. */
export class Readers {
  readonly #address: Address
  readonly #readers: readonly Reader[]

  constructor(address: Address, config: ClientConfig) {
    this.#address = address
    this.#readers = Array.from({ length: CONNECTIONS_MAX }, () => ({
      connection: new Connection(address, config),
      calls: 0,
    }))
  }

  /** Refusals are `StoreUnavailable`. A connection that was lost is opened once more: a read may be asked twice. */
  async ask<Value>(act: (client: Client) => Promise<Value>): Promise<Value> {
    const reader = this.#readers.reduce((best, one) => (one.calls < best.calls ? one : best))
    reader.calls++
    try {
      const client = await reader.connection.client()
      try {
        return await act(client)
      } catch (error) {
        const refusal = asPostgresError(this.#address.shown, error)
        if (refusal.details['reason'] !== 'unreachable') throw refusal
        reader.connection.drop(client)
        return await act(await reader.connection.client())
      }
    } catch (error) {
      throw asPostgresError(this.#address.shown, error)
    } finally {
      reader.calls--
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#readers.map(({ connection }) => connection.close()))
  }
}
