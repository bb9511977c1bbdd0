import { FairleadError } from '@fairlead/core'
import { isSqlite, type PostgresClient, type SqliteDatabase } from './clients.ts'
import { POSTGRES, SQLITE } from './statements.ts'

export const DATABASES = ['postgres', 'sqlite'] as const
export type OutboxDatabase = (typeof DATABASES)[number]

export interface CreateOptions {
  /** PostgreSQL: wake the relay with each commit. It costs each of these commits a lock; see the docs. */
  readonly notify?: boolean
}

/** The table of the outbox as SQL, to be put into a migration. It changes nothing that is there. */
export function outboxSql(
  database: OutboxDatabase,
  { notify = false }: CreateOptions = {},
): string {
  if (database === 'postgres') return notify ? POSTGRES.create + POSTGRES.notify : POSTGRES.create
  if (!notify) return SQLITE.create
  throw new FairleadError('InvalidParams', 'notify: expected PostgreSQL; SQLite has no notices', {
    field: 'notify',
  })
}

/** Creates the table of the outbox if it is not there. Fit to be called at every start. */
export function createOutbox(client: SqliteDatabase): void
export function createOutbox(client: PostgresClient, options?: CreateOptions): Promise<void>
export function createOutbox(
  client: SqliteDatabase | PostgresClient,
  options: CreateOptions = {},
): void | Promise<void> {
  if (isSqlite(client)) {
    client.exec(outboxSql('sqlite', options))
    return
  }
  return client.query(outboxSql('postgres', options)).then(() => undefined)
}
