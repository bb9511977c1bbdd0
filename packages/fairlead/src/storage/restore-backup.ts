import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { FairleadError } from '@fairlead/core'
import { newIncarnation } from '@fairlead/engine'
import { restoreStore } from '@fairlead/store/sqlite'
import type { Config } from '../config/load-config.ts'
import { keyPath } from '../serve/seal-key.ts'
import { tokensPath } from '../tokens.ts'
import { refusePostgres } from './store-address.ts'

/** A store that was made of a backup. */
export interface RestoredStore {
  readonly store: string
  readonly batch: number
  readonly bytes: number
  /** The new path of the store that was there; null if there was none. */
  readonly moved_to: string | null
  /** Files that belong to the store and are not there. */
  readonly missing: readonly string[]
}

const INCARNATION_BYTES = 32

/** Makes the configured store of a backup, under a new incarnation (BACKUP-4, BACKUP-5). */
export function restoreBackup(
  from: string,
  { config, isForced }: { readonly config: Config; readonly isForced: boolean },
): RestoredStore {
  const { path } = config.settings.store
  refusePostgres(path, 'restore its schema with pg_restore, while no server runs')
  const { batch, bytes, aside } = refusing(() =>
    restoreStore(from, path, {
      movesAside: isForced,
      rows: (copy) => {
        const at = Date.now()
        return newIncarnation({
          lastEntry: copy.lastEntry,
          at,
          incarnation: randomBytes(INCARNATION_BYTES),
          note: { type: 'storeRestored', at, subject: 'store', batch: copy.batch },
        })
      },
    }),
  )
  const missing = [keyPath(path), tokensPath(config)].filter((file) => !existsSync(file))
  return { store: path, batch, bytes, moved_to: aside, missing }
}

/** The same command would be refused again: nothing about these is temporary. */
const LASTING = new Set<unknown>(['exists', 'no_backup', 'not_complete', 'older_schema', 'damaged'])

function refusing<Value>(act: () => Value): Value {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof FairleadError) || !LASTING.has(error.details['reason'])) throw error
    throw new FairleadError('InvalidState', error.message, error.details, { cause: error })
  }
}
