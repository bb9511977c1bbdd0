import type { Client } from 'pg'

/** What `fairlead doctor` tells of a server: what a commit survives there. */
export interface ServerFacts {
  readonly version: string
  readonly fsync: boolean
  readonly fullPageWrites: boolean
  readonly synchronousCommit: string
  /** The setting; empty where there are none. */
  readonly synchronousStandbyNames: string
  /** Standbys that are connected, and whose confirmation a commit waits for. */
  readonly standbys: number
  readonly synchronousStandbys: number
  readonly isStandby: boolean
  readonly dataChecksums: boolean
  /** The time of the server, in ms, and how long the question took. */
  readonly nowMs: number
  readonly askedMs: number
}

export async function loadServerFacts(client: Client): Promise<ServerFacts> {
  const before = performance.now()
  const { rows: times } = await client.query<{ now: string }>(
    'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::text AS now',
  )
  const askedMs = performance.now() - before
  const { rows: settings } = await client.query<{ name: string; setting: string }>(
    `SELECT name, setting FROM pg_settings WHERE name IN
       ('server_version', 'fsync', 'full_page_writes', 'synchronous_commit', 'synchronous_standby_names', 'data_checksums')`,
  )
  const of = (name: string): string => settings.find((one) => one.name === name)?.setting ?? ''
  // Without the right to see more, the view has its rows and not their states.
  const { rows: counts } = await client.query<{ all: number; sync: number; standby: boolean }>(
    `SELECT count(*)::integer AS all, (count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')))::integer AS sync,
       pg_is_in_recovery() AS standby
     FROM pg_stat_replication`,
  )
  return {
    version: of('server_version'),
    fsync: of('fsync') === 'on',
    fullPageWrites: of('full_page_writes') === 'on',
    synchronousCommit: of('synchronous_commit'),
    synchronousStandbyNames: of('synchronous_standby_names'),
    standbys: counts[0]?.all ?? 0,
    synchronousStandbys: counts[0]?.sync ?? 0,
    isStandby: counts[0]?.standby ?? false,
    dataChecksums: of('data_checksums') === 'on',
    nowMs: Number(times[0]?.now),
    askedMs,
  }
}
