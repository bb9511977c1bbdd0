import { copyFileSync } from 'node:fs'
import { makePrivate } from '../../../file-mode.ts'
import { JOB, ROW_TYPES } from '../../../rows/rows.ts'
import { type Database, openDatabase, openReadOnly, told } from '../../driver.ts'
import { addMigrations } from '../../migrate.ts'
import { refuseStrangers, startOf } from '../../tables/check-tables.ts'
import { renewSums } from '../../tables/renew-sums.ts'
import { marksIn } from '../../tables/store-row.ts'
import type { Progress } from '../bring-forward.ts'
import { refuseDamaged } from './old-sums.ts'

const PAGE_JOBS = 10_000

/** Copies a store of version 5 or later, and gives each row of the copy its sums. The log beside it fits both. */
export function addSums(path: string, made: string, progress: Progress, version: number): number {
  inspect(path)
  bringTogether(path)
  makePrivate(made)
  copyFileSync(path, made)
  const db = openDatabase(made)
  try {
    refuseDamaged(path, db, version)
    db.exec('BEGIN IMMEDIATE')
    addMigrations(db, version)
    for (const type of ROW_TYPES) if (type !== JOB) renewSums(db, type)
    addSumsOfJobs(db, progress)
    db.exec('COMMIT')
    // Its log stays, and tells of its own end.
    return 0
  } finally {
    db.close()
  }
}

/** The file and its write-ahead log may be of different times. SQLite would mix them. */
function inspect(path: string): void {
  const start = startOf(path)
  const db = openReadOnly(path)
  try {
    const marks = marksIn(
      Buffer.from(told(db, 'SELECT tell(marks) FROM store')[0]?.[0] as Uint8Array),
    )
    if (marks !== null) refuseStrangers(path, db, marks, start)
  } finally {
    db.close()
  }
}

/** Brings into the file what is in its write-ahead log. */
function bringTogether(path: string): void {
  const db = openDatabase(path)
  try {
    db.exec('PRAGMA journal_mode = DELETE')
  } finally {
    db.close()
  }
}

function addSumsOfJobs(db: Database, progress: Progress): void {
  const [total, first, last] = told(
    db,
    'SELECT tell(count(*), coalesce(min(seq), 1), coalesce(max(seq), 0)) FROM jobs',
  )[0] as [number, number, number]
  let done = 0
  for (let after = first - 1; after < last; after += PAGE_JOBS) {
    const upTo = after + PAGE_JOBS
    renewSums(db, JOB, { after, upTo })
    done += told(
      db,
      `SELECT tell(count(*)) FROM jobs WHERE seq > ${after} AND seq <= ${upTo}`,
    )[0]?.[0] as number
    progress(done, total)
  }
}
