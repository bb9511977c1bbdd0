import type { PooledClient, PostgresPool } from './clients.ts'
import { type Moved, type RowSource, refusalText, type WaitingRow } from './row-source.ts'
import { CHANNEL, POSTGRES } from './statements.ts'
import { tableMissing } from './table-missing.ts'
import { untilWoken } from './until-woken.ts'

/**
 * The outbox in PostgreSQL, over one connection of a pool. The rows of a turn are locked from their reading to their
 * removal, so each is with one relay; a connection that ends lets them go, and the next relay sends them again.
 */
export class PostgresRows implements RowSource {
  readonly #pool: PostgresPool
  readonly #end: () => Promise<void>
  #client: PooledClient | null = null
  #isNoticed = false
  #wake = (): void => {}

  constructor(pool: PostgresPool, end: () => Promise<void> = async () => {}) {
    this.#pool = pool
    this.#end = end
  }

  turn(
    limit: number,
    move: (rows: readonly WaitingRow[]) => Promise<Moved>,
  ): Promise<number | null> {
    return this.#use(async (client) => {
      // Rows that are written from here on are told again.
      this.#isNoticed = false
      await client.query(POSTGRES.begin)
      const rows = (await client.query(POSTGRES.take, [limit])).rows as Stored[]
      if (rows.length > 0) await this.#settle(client, await move(rows.map(waiting)))
      await client.query('COMMIT')
      return rows.length
    })
  }

  /** A turn sees no rows that another relay holds. */
  isEmpty(): Promise<boolean> {
    return this.#use(async (client) => (await client.query(POSTGRES.isLeft)).rows.length === 0)
  }

  wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isNoticed || this.#client === null) return Promise.resolve()
    return untilWoken(ms, signal, (wake) => {
      this.#wake = wake
    })
  }

  async close(): Promise<void> {
    if (this.#client !== null) this.#letGo(this.#client)
    await this.#end()
  }

  async #use<T>(act: (client: PooledClient) => Promise<T>): Promise<T> {
    const client = this.#client ?? (await this.#connect())
    try {
      return await act(client)
    } catch (error) {
      this.#letGo(client)
      throw (error as { readonly code?: unknown }).code === '42P01' ? tableMissing(error) : error
    }
  }

  async #settle(client: PooledClient, { answered, refused }: Moved): Promise<void> {
    if (answered.length > 0) await client.query(POSTGRES.remove, [[...answered]])
    if (refused.length === 0) return
    const ids = refused.map(({ id }) => id)
    await client.query(POSTGRES.refuse, [ids, refused.map(({ error }) => refusalText(error))])
  }

  async #connect(): Promise<PooledClient> {
    const client = await this.#pool.connect()
    client.on('notification', () => {
      this.#isNoticed = true
      this.#wake()
    })
    // The next turn takes another connection. Without a listener the process would end.
    for (const event of ['error', 'end'] as const) {
      client.on(event, () => {
        this.#letGo(client)
        this.#wake()
      })
    }
    try {
      await client.query(`LISTEN ${CHANNEL}`)
    } catch (error) {
      client.release(true)
      throw error
    }
    this.#client = client
    return client
  }

  /** Its locks go with the connection. It listens, and so it does not go back into the pool. */
  #letGo(client: PooledClient): void {
    if (this.#client !== client) return
    this.#client = null
    client.release(true)
  }
}

interface Stored {
  readonly id: string
  readonly idempotency_key: string
  readonly request: string
}

function waiting({ id, idempotency_key, request }: Stored): WaitingRow {
  return { id, key: idempotency_key, request }
}
