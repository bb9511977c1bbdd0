import type { Store } from '@fairlead/core'
import type { Logger } from '@fairlead/server'
import type { FileLog } from '@fairlead/store/sqlite'
import type { Settings } from '../config/settings.ts'
import { ArchivedLog } from './archived-log.ts'
import { LogArchive } from './log-archive.ts'

/** A store whose log tells its size. One in a file makes backups. */
export interface ArchivableStore extends Store {
  readonly log: FileLog
  readonly backup?: (to: string) => Promise<number>
  readonly path?: string | null
}

/** The store, with a log that is archived where the settings name a folder for it. */
export function withArchive(
  store: ArchivableStore,
  { archive: folder, archiveDays: days, archiveBytes: bytes }: Settings['store'],
  logger: Logger,
): ArchivableStore {
  if (folder === null) return store
  const archive = new LogArchive({ folder, days, bytes })
  const { tables, read } = store
  const log = new ArchivedLog(store.log, { archive, logger })
  return {
    log,
    tables,
    read,
    ...(store.backup === undefined ? {} : { backup: store.backup.bind(store) }),
    close: async () => {
      await log.finish().catch((err: unknown) => logger.warn({ err }, 'the archive was not closed'))
      await store.close()
    },
  }
}
