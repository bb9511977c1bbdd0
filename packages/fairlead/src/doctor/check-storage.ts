import { statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { OpenReport } from '@fairlead/store/sqlite'
import { type StoreFiles, sizeText } from '../storage/store-files.ts'
import { type Finding, ok, warn } from './check.ts'

/** A log of so many bytes is not trimmed: something keeps the tables from becoming durable. */
const LARGE_LOG_BYTES = 512 * 1_048_576
/** A replay of so many batches takes minutes. */
const MANY_BATCHES = 100_000

/** The sizes of the files, and the room that is left for them. Files are measured before the store is opened. */
export function checkFiles(path: string, files: StoreFiles): Finding {
  const { tables, wal, log, logFiles } = files
  const parts = [
    `tables ${sizeText(tables)}`,
    `write-ahead log ${sizeText(wal)}`,
    `log ${sizeText(log)} in ${logFiles.length} files`,
  ]
  const { bavail, bsize } = statfsSync(dirname(resolve(path)))
  const free = bavail * bsize
  const text = `${parts.join(', ')}; ${sizeText(free)} are free.`
  if (log > LARGE_LOG_BYTES) {
    const advice =
      'The log is trimmed behind the tables: see fairlead_tables_behind_changes, and end programs that read the store.'
    return warn('files', text, advice)
  }
  if (free < tables + wal + log) {
    return warn('files', text, 'Less is free than the store takes: free some space, or move it.')
  }
  return ok('files', text)
}

/** How the last server ended, and what the next start has to do. */
export function checkReplay({
  isNew,
  wasClean,
  tablesBatch,
  logBatch,
  tornBytes,
}: OpenReport): Finding {
  if (isNew) return ok('log', 'It is new, and its log has no batches.')
  const batches = logBatch - tablesBatch
  const torn =
    tornBytes === 0
      ? ''
      : ` A crash tore ${tornBytes} bytes that nobody was told of; they were overwritten.`
  const ended = wasClean ? 'It was closed in order' : 'Its server did not close it in order'
  const replayed =
    batches === 0
      ? 'the next start replays nothing'
      : `the next start replays batches ${tablesBatch + 1} to ${logBatch}`
  const text = `${ended}; ${replayed}.${torn}`
  if (batches < MANY_BATCHES) return ok('log', text)
  return warn('log', text, 'The start takes minutes. fairlead log verify tells if it will succeed.')
}
