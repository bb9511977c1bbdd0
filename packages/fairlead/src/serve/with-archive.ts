import type { Logger } from '@fairlead/server'
import type { SqliteStore } from '@fairlead/store/sqlite'
import type { Settings } from '../config/settings.ts'
import { ArchivedLog } from './archived-log.ts'
import { LogArchive } from './log-archive.ts'

/** The store, with a log that is archived where the settings name a folder for it. */
export function withArchive(
  store: SqliteStore,
  { archive: folder, archiveDays: days, archiveBytes: bytes }: Settings['store'],
  logger: Logger,
): Pick<SqliteStore, 'log' | 'tables' | 'read' | 'backup' | 'close'> {
  if (folder === null) return store
  const archive = new LogArchive({ folder, days, bytes })
  const { tables, read } = store
  const log = new ArchivedLog(store.log, { archive, logger })
  return {
    log,
    tables,
    read,
    backup: (to) => store.backup(to),
    close: async () => {
      await log.finish().catch((err: unknown) => logger.warn({ err }, 'the archive was not closed'))
      await store.close()
    },
  }
}
