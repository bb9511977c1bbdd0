import { Bulk, findMany } from './bulk.ts'
import type { SqlValue } from './driver.ts'
import { type KnownKeys, partsOfName } from './known-keys.ts'
import type { Statements } from './statements.ts'

/** In a list of cells: name and number of the job. */
const COLUMNS = 2
/** In a piece: the name in four bytes, and the number of the job behind it. */
const NAME_BYTES = 12
const JOB_AT = 4
/** Above all names. */
const END = 2 ** 31

/**
 * The names that jobs in their tables are found by. They are as good as random, so those of a thousand jobs
 * would take some three thousand pages of a large table, which is most of what a transaction writes and syncs. They
 * wait beside it, in pieces in the file and in their order in memory, and move into the table from its first
 * page to its last, again and again: each transaction as many as it brings, all of them side by side.
 */
export class StoredNames {
  readonly #statements: Statements
  readonly #known: KnownKeys
  readonly #waitingMax: number
  readonly #names: Bulk
  readonly #waiting: Bulk
  /** About how many wait: some came twice, or were deleted. */
  #count = 0
  /** In this turn those below it were moved. */
  #moved = 0
  #lastPiece = 0
  /** The last piece when this turn began: what is in it and in those before is in the table when the turn is over. */
  #began = 0

  /** `known` is told of the names that are written. About `waitingMax` of them wait. */
  constructor(statements: Statements, known: KnownKeys, waitingMax: number) {
    this.#statements = statements
    this.#known = known
    this.#waitingMax = waitingMax
    this.#names = new Bulk(statements, { one: 'insert-name', many: 'insert-names-20' })
    this.#waiting = new Bulk(statements, {
      one: 'insert-waiting-name',
      many: 'insert-waiting-names-20',
    })
    for (const { names } of statements.get('all-new-names').iterate()) {
      findMany(statements, 'restore-names-20', unpacked(names as Uint8Array), COLUMNS)
    }
    this.#lookAgain()
  }

  /** As many as should be in their table by now. */
  get overdue(): number {
    return Math.max(0, this.#count - this.#waitingMax)
  }

  /** Cells of names in their order. */
  write(cells: readonly number[]): void {
    const count = cells.length / COLUMNS
    if (count === 0) return
    for (let at = 0; at < cells.length; at += COLUMNS) {
      this.#known.add(partsOfName(cells[at] as number))
    }
    // So many are side by side as they are.
    if (count > this.#waitingMax) return this.#names.write(cells, COLUMNS)
    this.#waiting.write(cells, COLUMNS)
    this.#run('append-names', ++this.#lastPiece, packed(cells))
    this.#count += count
  }

  /** Moves the next ones into their table. */
  move(count: number): void {
    if (count === 0) return
    const next = this.#statements.get('find-nth-waiting-name').get(this.#moved, count)
    // Jobs of one name go together.
    const end = next === undefined ? END : Math.max(next['name'] as number, this.#moved + 1)
    this.#run('move-names', this.#moved, end)
    this.#count -= this.#run('forget-waiting-names', this.#moved, end)
    this.#moved = end
    if (end < END) return
    this.#run('cut-names', this.#began)
    this.#beginTurn()
  }

  /** Of those of a job that is deleted nothing stays but in the pieces, where nobody looks for it. */
  prune(endedBefore: number): void {
    this.#run('prune-names', endedBefore)
    this.#run('prune-waiting-names', endedBefore)
  }

  /** To be called after each transaction. */
  settle({ didFail }: { readonly didFail: boolean }): void {
    if (didFail) this.#lookAgain()
  }

  #lookAgain(): void {
    this.#lastPiece = (this.#statements.get('find-last-names').get()?.['no'] ?? 0) as number
    this.#beginTurn()
  }

  #beginTurn(): void {
    this.#moved = 0
    this.#began = this.#lastPiece
    this.#count = this.#statements.get('count-waiting-names').get()?.['waiting'] as number
  }

  #run(name: string, ...params: readonly SqlValue[]): number {
    return Number(this.#statements.get(name).run(...params).changes)
  }
}

function packed(cells: readonly number[]): Uint8Array {
  const piece = Buffer.allocUnsafe((cells.length / COLUMNS) * NAME_BYTES)
  for (let i = 0, at = 0; i < cells.length; i += COLUMNS, at += NAME_BYTES) {
    piece.writeUInt32LE(cells[i] as number, at)
    piece.writeDoubleLE(cells[i + 1] as number, at + JOB_AT)
  }
  return piece
}

function unpacked(piece: Uint8Array): number[] {
  const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length)
  const cells: number[] = []
  for (let at = 0; at < bytes.length; at += NAME_BYTES) {
    cells.push(bytes.readUInt32LE(at), bytes.readDoubleLE(at + JOB_AT))
  }
  return cells
}
