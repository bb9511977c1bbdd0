import {
  type AttemptLog,
  FairleadError,
  type JobId,
  type JobLogs,
  type LogLine,
} from '@fairlead/core'
import { makePrivate } from '../file-mode.ts'
import { type Database, openDatabase } from './driver.ts'

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS job_logs (
    job_id  TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    lines   TEXT NOT NULL,
    progress TEXT,
    PRIMARY KEY (job_id, attempt)
  ) STRICT, WITHOUT ROWID;
`

/**
 * Log lines in a file of their own (PROGRESS-3). It is no part of the store: a file that is lost or damaged costs
 * log lines and nothing else.
 */
export function openJobLogs(path: string): JobLogs {
  try {
    makePrivate(path)
    const db = openDatabase(path, 1_000)
    db.exec(SCHEMA)
    addProgress(db)
    return new SqliteJobLogs(db)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new FairleadError(
      'StoreUnavailable',
      `${path}: the log lines of jobs cannot be kept here (${why}); move the file away to begin a new one`,
      { path },
      { cause },
    )
  }
}

/** A file of an earlier Fairlead has no progress. */
function addProgress(db: Database): void {
  const columns = db.prepare("SELECT name FROM pragma_table_info('job_logs')")
  columns.setReturnArrays(true)
  if (columns.all().some(([name]) => name === 'progress')) return
  db.exec('ALTER TABLE job_logs ADD COLUMN progress TEXT')
}

class SqliteJobLogs implements JobLogs {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  save(logs: readonly AttemptLog[]): void {
    const put = this.#db.prepare(
      'INSERT OR REPLACE INTO job_logs (job_id, attempt, dropped, lines, progress) VALUES (?, ?, ?, ?, ?)',
    )
    this.#inOne(() => {
      for (const { jobId, attempt, dropped, lines, progress } of logs) {
        const said = JSON.stringify(lines.map(({ at, text }) => [at, text]))
        put.run(jobId, attempt, dropped, said, progress && JSON.stringify(progress))
      }
    })
  }

  read(jobId: JobId): AttemptLog[] {
    const select = this.#db.prepare(
      'SELECT attempt, dropped, lines, progress FROM job_logs WHERE job_id = ? ORDER BY attempt',
    )
    select.setReturnArrays(true)
    return select.all(jobId).map(([attempt, dropped, lines, progress]) => ({
      jobId,
      attempt: Number(attempt),
      dropped: Number(dropped),
      lines: (JSON.parse(String(lines)) as [number, string][]).map(
        ([at, text]): LogLine => ({ at, text }),
      ),
      progress: progress == null ? null : (JSON.parse(String(progress)) as AttemptLog['progress']),
    }))
  }

  jobsAfter(jobId: JobId | null, limit: number): JobId[] {
    const select = this.#db.prepare(
      'SELECT DISTINCT job_id FROM job_logs WHERE job_id > ? ORDER BY job_id LIMIT ?',
    )
    select.setReturnArrays(true)
    return select.all(jobId ?? '', limit).map(([id]) => id as JobId)
  }

  delete(jobIds: readonly JobId[]): void {
    const remove = this.#db.prepare('DELETE FROM job_logs WHERE job_id = ?')
    this.#inOne(() => {
      for (const id of jobIds) remove.run(id)
    })
  }

  close(): void {
    this.#db.close()
  }

  #inOne(act: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      act()
      this.#db.exec('COMMIT')
    } catch (error) {
      this.#db.exec('ROLLBACK')
      throw error
    }
  }
}
