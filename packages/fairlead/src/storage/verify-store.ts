import { FairleadError } from '@fairlead/core'
import { assignedSince, decodeBatch, Replica, replayRefusal, stateOf } from '@fairlead/engine'
import {
  checkBackup,
  type LogFinding,
  openSqliteStore,
  readLogFiles,
  type SqliteStore,
} from '@fairlead/store/sqlite'
import { refusePostgres } from './store-address.ts'
import { olderSchema, storeFiles } from './store-files.ts'

/** The findings of a check of a store and its log. */
export interface Verification {
  readonly store: string
  readonly ok: boolean
  /** Another process has the store open: its log was read, and not replayed. */
  readonly is_held: boolean
  /** Null: no log is beside the tables. */
  readonly log: LogSummary | null
  readonly tables: { readonly batch: number; readonly was_clean: boolean } | null
  readonly replayed: { readonly batches: number; readonly commands: number } | null
  /** What a crash explains, and what is wrong. */
  readonly findings: readonly LogFinding[]
  /** The first thing that is wrong, and what to do; null if all is right. */
  readonly problem: Problem | null
}

interface Problem {
  readonly text: string
  readonly file: string | null
  readonly offset: number | null
  readonly batch: number | null
}

interface LogSummary {
  readonly files: number
  readonly bytes: number
  readonly batches: number
  readonly first: BatchTime | null
  readonly last: BatchTime | null
}

interface BatchTime {
  readonly batch: number
  readonly at: number
}

type Progress = (text: string) => void

/**
 * Reads the log and the tables, and replays every record after the batch that the tables reflect (VERIFY-1). A log that a server
 * appends to is read, too; only a stopped store can be replayed.
 */
export async function verifyStore(path: string, progress: Progress): Promise<Verification> {
  refusePostgres(
    path,
    'pg_amcheck and its data checksums look for damage; the server compares every digest when it starts',
  )
  const { tables: bytes, logFiles } = storeFiles(path)
  if (bytes === 0 && logFiles.length === 0) {
    throw new FairleadError('NotFound', `there is no store ${path}; name it with --store`)
  }
  refuseOlder(path)
  if (logFiles.length === 0) return verifyAlone(path)
  const { log, findings, problem } = await readLog(path, progress)
  const read = { store: path, log, findings, is_held: false, tables: null, replayed: null }
  try {
    progress('Reading the tables …')
    const isRead = wasReadClosed(path)
    const store = await openSqliteStore(path)
    try {
      const { tablesBatch, wasClean } = store.report
      const tables = { batch: tablesBatch, was_clean: wasClean }
      const damage = isRead ? null : damageOf(path, await store.problems())
      const found = problem ?? damage ?? (await replay(path, store, progress))
      const isProblem = 'text' in found
      return {
        ...read,
        ok: !isProblem,
        tables,
        replayed: isProblem ? null : found,
        problem: isProblem ? found : null,
      }
    } finally {
      await store.close()
    }
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error
    const isHeld = error.details['reason'] === 'held'
    if (isHeld) return { ...read, is_held: true, ok: false, problem }
    return { ...read, ok: false, problem: problemOf(error, problem) }
  }
}

/** A store without a log, as a backup is one, is complete if it says so and every page is whole. */
function verifyAlone(path: string): Verification {
  const none = { store: path, is_held: false, log: null, findings: [], replayed: null }
  try {
    const { batch } = checkBackup(path)
    return { ...none, ok: true, tables: { batch, was_clean: true }, problem: null }
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error
    return { ...none, ok: false, tables: null, problem: problemOf(error, null) }
  }
}

/** A file that was closed in order is read as a whole before anything opens it. False for one that was not. */
function wasReadClosed(path: string): boolean {
  try {
    checkBackup(path)
    return true
  } catch (error) {
    const { reason } = (error as FairleadError).details
    if (reason === 'damaged') throw error
    return false
  }
}

function damageOf(path: string, problems: readonly string[]): Problem | null {
  const [first] = problems
  if (first === undefined) return null
  const text = `the tables are damaged: ${first}; keep a copy of the file and go back to the last backup`
  return { text, file: path, offset: null, batch: null }
}

async function readLog(
  path: string,
  progress: Progress,
): Promise<Pick<Verification, 'findings' | 'problem'> & { readonly log: LogSummary }> {
  const { log: bytes, logFiles } = storeFiles(path)
  const findings: LogFinding[] = []
  let first: BatchTime | null = null
  let last: BatchTime | null = null
  let problem: Problem | null = null
  let batches = 0
  for await (const item of readLogFiles(path)) {
    const { file, offset } = item
    if (item.kind === 'finding') {
      findings.push(item)
      if (item.isDamage) problem ??= { text: item.text, file, offset, batch: item.batch }
      continue
    }
    const { batch, body } = item.record
    batches++
    if (batches % PROGRESS_BATCHES === 0) progress(`Read ${batches} batches of the log …`)
    try {
      const { entries } = decodeBatch(body)
      first ??= { batch, at: entries[0]?.at ?? 0 }
      last = { batch, at: entries.at(-1)?.at ?? 0 }
    } catch (error) {
      const text = `batch ${batch}: its commands cannot be read (${(error as Error).message})`
      problem ??= { text, file, offset, batch }
    }
  }
  const log = { files: logFiles.length, bytes, batches, first, last }
  return { log, findings, problem }
}

const PROGRESS_BATCHES = 10_000

/** Nobody else can write while the store is open here, so the files are those that were opened. */
async function replay(
  path: string,
  store: SqliteStore,
  progress: Progress,
): Promise<{ readonly batches: number; readonly commands: number } | Problem> {
  const snapshot = await store.tables.load()
  let replica: Replica | null = null
  let batches = 0
  let commands = 0
  for await (const item of readLogFiles(path)) {
    if (item.kind !== 'record' || item.record.batch <= snapshot.batch) continue
    const { file, offset, record } = item
    if (replica === null) {
      const since = assignedSince(snapshot)
      const assigned = since === null ? [] : await store.read.assignmentsSince(since)
      replica = new Replica(stateOf(snapshot, assigned))
    }
    try {
      replica.apply(record.batch, record.body, () => {
        commands++
      })
    } catch (error) {
      const { message } = replayRefusal(error, snapshot) as Error
      return { text: message, file, offset, batch: record.batch }
    }
    // Rows that nobody takes would only fill the memory.
    replica.state.takeRows()
    batches++
    if (batches % PROGRESS_BATCHES === 0) progress(`Replayed ${batches} batches …`)
  }
  return { batches, commands }
}

function problemOf({ message, details }: FairleadError, found: Problem | null): Problem {
  const { file, offset, batch } = details
  const place = {
    file: typeof file === 'string' ? file : null,
    offset: typeof offset === 'number' ? offset : null,
    batch: typeof batch === 'number' ? batch : null,
  }
  // The place where the reading found it, and the advice of the store.
  return { ...place, ...found, text: message }
}

function refuseOlder(path: string): void {
  const version = olderSchema(path)
  if (version === null) return
  const text = `${path} is of an earlier Fairlead (schema ${version}); start the server on it once, which brings it forward`
  throw new FairleadError('InvalidState', text, { version })
}
