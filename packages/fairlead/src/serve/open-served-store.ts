import type { Logger } from '@fairlead/server'
import type { Sealed } from '@fairlead/store/sqlite'
import { isPostgres } from '../storage/store-address.ts'
import { forwardProgress } from './forward-progress.ts'
import type { ArchivableStore } from './with-archive.ts'

/** A store as a server has it, whichever kind it is. */
export interface ServedStore extends ArchivableStore {
  sealed(): Promise<Sealed[]>
}

/** Opens the configured store. The driver of the other kind is not loaded. */
export async function openServedStore(path: string, logger: Logger): Promise<ServedStore> {
  if (isPostgres(path)) {
    const { openPostgresStore } = await import('@fairlead/store/postgres')
    const store = await openPostgresStore({ url: path })
    const { epoch, tablesBatch, logBatch } = store.report
    logger.info({ store: store.shown, epoch, tablesBatch, logBatch }, 'this node leads')
    return store
  }
  const { openSqliteStore } = await import('@fairlead/store/sqlite')
  const store = await openSqliteStore(path, { progress: forwardProgress(path, logger) })
  const { tornBytes } = store.report
  if (tornBytes > 0) {
    const fields = { bytes: tornBytes }
    logger.warn(fields, 'a crash tore the end of the log, which was never confirmed')
  }
  return store
}
