import { closeSync, openSync, readSync } from 'node:fs'
import { unavailable } from '../../unavailable.ts'
import { type Database, told } from '../driver.ts'
import { wrongRows } from './check-rows.ts'
import { isAsNoted } from './file-sum.ts'
import { textOf } from './query-texts.ts'
import { type Marks, marksIn, type StoreRow, storeRowOf } from './store-row.ts'

const STORE_ROW = textOf('tell-store')
const INDEX_SUMS = textOf('tell-index-sums')
const COUNTS = textOf('tell-counts')
const WRONG_KEYS = textOf('tell-wrong-keys')

/** The number of problems that are told. */
const TOLD_MAX = 5

/** The facts about a file that are read before SQLite opens it: closing another handle releases its locks. */
export interface Unopened {
  readonly start: Buffer
  /** True if it is, byte for byte, as it was closed. */
  readonly isWhole: boolean
}

export function unopened(path: string): Unopened {
  return { start: startOf(path), isWhole: isAsNoted(path) }
}

/**
 * Checks a file before anything is written to it (STORE-13). If it is not as it was closed, it is read as a whole: its pages have to be
 * sound, its tables as long as the row about the store says, and each row where look-ups find it.
 */
export function checkTables(path: string, db: Database, { start, isWhole }: Unopened): void {
  const row = storeRowIn(db)
  refuseStrangers(path, db, row.marks, start)
  if (isWhole) return
  const problems = brokenParts(db, row)
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

/** The first problems of a file of which every value is read. */
export function problemsIn(db: Database, row: StoreRow): string[] {
  const parts = brokenParts(db, row)
  // A CHECK names no row.
  const isReadable = parts.every((problem) => problem.startsWith('CHECK constraint failed'))
  return [...(isReadable ? wrongRows(db, row, TOLD_MAX) : []), ...parts].slice(0, TOLD_MAX)
}

/** The first problems of pages, lengths and indexes. Values are checked when they are read. */
function brokenParts(db: Database, row: StoreRow): string[] {
  const problems = [...brokenPages(db), ...wrongCounts(db, row), ...wrongIndexes(db)]
  // On sound pages only, because these look rows up.
  return (problems.length > 0 ? problems : wrongKeys(db)).slice(0, TOLD_MAX)
}

/** The first pages of a file, without what its write-ahead log has. */
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
export function refuseStrangers(path: string, db: Database, marks: Marks, start: Buffer): void {
  const inFile = commitOfFile(db, start)
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

function wrongKeys(db: Database): string[] {
  return told(db, WRONG_KEYS).map(
    ([name, number]) => `a row of ${String(name)} is not under its number ${String(number)}`,
  )
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
