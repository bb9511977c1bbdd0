import { readdirSync, readFileSync } from 'node:fs'
import type { Client } from 'pg'
import { unavailable } from '../unavailable.ts'
import type { Address } from './address.ts'

const FOLDER = new URL('../../src/postgres/migrations/', import.meta.url)

/** Forward only, and never edited once released. */
const MIGRATIONS = readdirSync(FOLDER)
  .filter((name) => /^\d{4}-.*\.sql$/.test(name))
  .sort()
  .map((name) => ({ name: name.slice(0, -4), sql: readFileSync(new URL(name, FOLDER), 'utf8') }))

/** Of the advisory lock: "FLD1" and the migrations. */
const LOCK = [0x464c4431, 1] as const

/** What an opening changed, or would change. */
export interface Migrated {
  /** The version before; 0 where no store was. */
  readonly from: number
  /** The names of the migrations behind it. */
  readonly names: readonly string[]
}

/**
 * Brings a schema to the version of this Fairlead, in one transaction (PG-2). Nodes that start together do it one after the other.
 * With `isDryRun` it only tells.
 */
export async function migrate(
  client: Client,
  address: Address,
  { isDryRun = false }: { readonly isDryRun?: boolean } = {},
): Promise<Migrated> {
  const { schema } = address
  await client.query('BEGIN')
  try {
    await client.query('SELECT pg_advisory_xact_lock($1, $2)', [...LOCK])
    const from = await versionOf(client, address)
    const missing = MIGRATIONS.slice(from)
    const migrated = { from, names: missing.map(({ name }) => name) }
    if (!isDryRun && missing.length > 0) {
      // Not IF NOT EXISTS alone: that asks for the right to make one even where it is there.
      if (!(await hasSchema(client, schema))) await client.query(`CREATE SCHEMA ${schema}`)
      if (from === 0)
        await client.query(`CREATE TABLE ${schema}.version (version integer NOT NULL)`)
      for (const { sql } of missing) await client.query(sql)
      await client.query(`DELETE FROM ${schema}.version`)
      await client.query(`INSERT INTO ${schema}.version VALUES ($1)`, [MIGRATIONS.length])
    }
    await client.query('COMMIT')
    return migrated
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** The version of a schema; 0 for a new one. Refuses one that is not ours to write, before anything is written. */
async function versionOf(client: Client, { schema, shown }: Address): Promise<number> {
  const { rows: tables } = await client.query<{ relname: string }>(
    'SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = $1',
    [schema],
  )
  if (tables.length === 0) return 0
  if (!tables.some(({ relname }) => relname === 'version')) {
    const advice = 'the schema has tables of another program; name another one'
    throw unavailable(shown, 'not_a_store', advice)
  }
  const { rows } = await client.query<{ version: number }>(`SELECT version FROM ${schema}.version`)
  const version = rows[0]?.version ?? 0
  if (version > MIGRATIONS.length) {
    throw unavailable(
      shown,
      'newer_schema',
      `its schema is version ${version}, and this Fairlead knows versions up to ${MIGRATIONS.length}; ` +
        'start it with the newer Fairlead that wrote it',
      { details: { version, newest: MIGRATIONS.length } },
    )
  }
  return version
}

async function hasSchema(client: Client, schema: string): Promise<boolean> {
  const { rows } = await client.query('SELECT FROM pg_namespace WHERE nspname = $1', [schema])
  return rows.length > 0
}
