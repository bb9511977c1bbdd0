import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { NodeClient } from '@fairlead/client'
import { FairleadError } from '@fairlead/core'
import { catchUp } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'
import type { Config } from '../config/load-config.ts'
import { misuse } from '../flags/flags.ts'
import { keyPath } from '../serve/seal-key.ts'
import { isAnswering } from '../tokens.ts'
import { POSTGRES_BACKUP, refusePostgres } from './store-address.ts'
import { olderSchema, sizeText } from './store-files.ts'

/** A backup that was made. */
export interface Backup {
  readonly path: string
  /** The last batch of commands that it has. */
  readonly batch: number
  readonly bytes: number
  /** Belongs to the backup and is not in it; null if there is none. */
  readonly key_file: string | null
  readonly made_by: 'server' | 'command'
}

interface Options {
  readonly config: Config
  /** True: `--store` names the store, which may not be the one of the server at `client.url`. */
  readonly isStoreNamed: boolean
  readonly client: () => Promise<NodeClient>
  readonly progress: (text: string) => void
}

/** A running server makes the backup itself; the store of a stopped one is opened here (BACKUP-1, BACKUP-2). */
export async function makeBackup(to: string, options: Options): Promise<Backup> {
  const { config, isStoreNamed } = options
  refusePostgres(config.settings.store.path, POSTGRES_BACKUP)
  const { url } = config.settings.client
  if (!isStoreNamed && (await isAnswering(url))) return backupOfServer(resolve(to), options)
  try {
    return await backupOfStopped(resolve(to), options)
  } catch (error) {
    const isHeld = error instanceof FairleadError && error.details['reason'] === 'held'
    if (!isHeld) throw error
    if (isStoreNamed && (await isAnswering(url))) return backupOfServer(resolve(to), options)
    const advice = `its server does not answer at ${url}; name it with --url`
    throw new FairleadError('StoreUnavailable', `${error.message}; ${advice}`, error.details)
  }
}

async function backupOfServer(path: string, options: Options): Promise<Backup> {
  const { client, config, isStoreNamed } = options
  const server = await client()
  const made = await whileShowing(path, options, () =>
    // A second try would find the file of the first.
    server.call('storage.backup', { path }, { isRepeatable: false }),
  )
  const expected = resolve(keyPath(config.settings.store.path))
  if (isStoreNamed && made.key_file !== null && made.key_file !== expected) {
    const { url } = config.settings.client
    const text = `${made.path} is a backup of another store: the server at ${url} has the key file ${made.key_file}, not ${expected}; name the right server with --url`
    throw new FairleadError('InvalidState', text)
  }
  return { ...made, made_by: 'server' }
}

async function backupOfStopped(path: string, options: Options): Promise<Backup> {
  const { path: from } = options.config.settings.store
  if (!existsSync(from)) {
    const text = `no server answers at ${options.config.settings.client.url}, and there is no store ${from}; name one of them with --url or --store`
    throw new FairleadError('NotFound', text)
  }
  const version = olderSchema(from)
  if (version !== null) {
    const text = `${from} is of an earlier Fairlead (schema ${version}), and its server is stopped; copy the file and those of its log as they are`
    throw new FairleadError('InvalidState', text, { version })
  }
  if (existsSync(path)) throw misuse(`${path} exists already; name a file that does not`)
  const store = await openSqliteStore(from)
  try {
    const batch = await whileShowing(path, options, async () => {
      await catchUp(store)
      return store.backup(path)
    })
    const keyFile = resolve(keyPath(from))
    return {
      path,
      batch,
      bytes: statSync(path).size,
      key_file: existsSync(keyFile) ? keyFile : null,
      made_by: 'command',
    }
  } finally {
    await store.close()
  }
}

const SHOW_MS = 500

/** Shows how the file grows, if this machine has it. */
async function whileShowing<Value>(
  path: string,
  { progress }: Options,
  act: () => Promise<Value>,
): Promise<Value> {
  const show = (): void => {
    const bytes = statSync(path, { throwIfNoEntry: false })?.size
    progress(`Backing up …${bytes === undefined ? '' : ` ${sizeText(bytes)}`}`)
  }
  show()
  const timer = setInterval(show, SHOW_MS)
  try {
    return await act()
  } finally {
    clearInterval(timer)
  }
}
