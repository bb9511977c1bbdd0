import { resolve } from 'node:path'
import { FairleadError } from '@fairlead/core'

/** A store is the path of a SQLite file, or the URL of a PostgreSQL database (PG-1). */
export function isPostgres(store: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(store)
}

/** The store as people may see it: a URL without its password and its settings. */
export function shownStore(store: string): string {
  if (!isPostgres(store)) return store
  if (!URL.canParse(store)) return 'postgres://…'
  const { username, host, pathname } = new URL(store)
  return `postgres://${username === '' ? '' : `${username}@`}${host}${pathname}`
}

/** The start of the names of the files that belong to a store: key, tokens, log lines. For PostgreSQL they are in this folder. */
export function besideStore(store: string): string {
  return isPostgres(store) ? resolve('fairlead-postgres') : store
}

/** For commands that work on the files of a store. */
export function refusePostgres(store: string, advice: string): void {
  if (!isPostgres(store)) return
  throw new FairleadError(
    'InvalidState',
    `the store is in PostgreSQL (${shownStore(store)}); ${advice}`,
  )
}

/** How a store in PostgreSQL is backed up (PG-6). */
export const POSTGRES_BACKUP =
  "back it up with PostgreSQL's own tools: pg_dump --schema=fairlead for a copy, pg_basebackup and an archive of its write-ahead log for a standby; stop the server before a dump is restored"
