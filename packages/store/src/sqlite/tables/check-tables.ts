import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { unavailable } from '../../unavailable.ts'
import { type Database, told } from '../driver.ts'
import { marksIn, type StoreRow, storeRowOf } from './store-row.ts'

const QUERIES = new URL('../../../src/sqlite/queries/', import.meta.url)
const STORE_ROW = readFileSync(new URL('tell-store.sql', QUERIES), 'utf8')
const INDEX_SUMS = readFileSync(new URL('tell-index-sums.sql', QUERIES), 'utf8')
const COUNTS = readFileSync(new URL('tell-counts.sql', QUERIES), 'utf8')

/** The number of problems that are told. */
const TOLD_MAX = 5

/**
 * Checks a file before anything is written to it (STORE-13). One that was closed in order is taken at its word. Any other is read
 * as a whole: its pages have to be sound, and its tables as long as the row about the store says.
 */
export function checkTables(path: string, db: Database, start: Buffer): void {
  const row = storeRowIn(db)
  refuseStrangers(path, row, commitOfFile(db, start))
  if (row.isClean) return
  const problems = problemsIn(db, row)
  if (problems.length === 0) return
  throw unavailable(
    path,
    'damaged',
    `the file is damaged: ${problems.join('; ')}; keep a copy of it (and of its -wal) and ` +
      'go back to the last backup',
  )
}

/** The row about the store. */
export function storeRowIn(db: Database): StoreRow {
  const [cells = []] = told(db, STORE_ROW)
  return storeRowOf(cells)
}

/** The first problems of a file that is read as a whole. */
export function problemsIn(db: Database, row: StoreRow): string[] {
  const problems = [...brokenPages(db), ...wrongCounts(db, row), ...wrongIndexes(db)]
  return problems.slice(0, TOLD_MAX)
}

/**
 * The first pages of a file, without what its write-ahead log has. To be read before SQLite opens the file: closing
 * another handle releases its locks.
 */
export function startOf(path: string): Buffer {
  const start = Buffer.alloc(START_BYTES)
  const file = openSync(path, 'r')
  try {
    return start.subarray(0, readSync(file, start, 0, START_BYTES, 0))
  } finally {
    closeSync(file)
  }
}

/** The tables are made before their rows, so all of them begin on the first pages. */
const START_BYTES = 1_048_576

/** A file and a write-ahead log of different times (see `Marks`). */
function refuseStrangers(path: string, { marks }: StoreRow, inFile: number): void {
  if (inFile >= marks.base && inFile <= marks.commit) return
  const older = inFile < marks.base ? 'the file' : 'its write-ahead log'
  throw unavailable(
    path,
    'mixed_files',
    `${older} is an old copy: the file and ${path}-wal do not belong together, and together they would give wrong rows; ` +
      'bring back both of one time',
    { details: { inFile, ...marks } },
  )
}

/** The commit that the file has without its write-ahead log; 0 before the first. */
function commitOfFile(db: Database, start: Buffer): number {
  const one = (query: string): number => told(db, query)[0]?.[0] as number
  const size = one('SELECT tell(page_size) FROM pragma_page_size')
  const from = size * (one("SELECT tell(rootpage) FROM sqlite_schema WHERE name = 'store'") - 1)
  return marksIn(start.subarray(from, from + size))?.commit ?? 0
}

function brokenPages(db: Database): string[] {
  const found = told(db, 'SELECT tell(quick_check) FROM pragma_quick_check')
  return found.map(([message]) => String(message)).filter((message) => message !== 'ok')
}

/** A look-up by an index that lacks an entry would not find the row. */
function wrongIndexes(db: Database): string[] {
  return told(db, INDEX_SUMS)
    .filter(([, byIndex, byTable]) => byIndex !== byTable)
    .map(([name]) => `its index ${String(name)} does not fit the table`)
}

function wrongCounts(db: Database, row: StoreRow): string[] {
  const [counts = []] = told(db, COUNTS)
  const [jobs, payloads, leases, results, entries, lastEntry] = counts as number[]
  const expected = {
    jobs: [row.jobs, jobs],
    payloads: [row.jobs, payloads],
    leases: [row.leases, leases],
    results: [row.results, results],
    'entries of the journal': [row.journalLast - row.journalFirst + 1, entries],
  }
  const problems = Object.entries(expected)
    .filter(([, [due, found]]) => due !== found)
    .map(([what, [due, found]]) => `it has ${found} of ${due} ${what}`)
  const isEndThere = (entries ?? 0) === 0 || lastEntry === row.journalLast
  return isEndThere
    ? problems
    : [...problems, `its last entry is ${lastEntry}, not ${row.journalLast}`]
}
