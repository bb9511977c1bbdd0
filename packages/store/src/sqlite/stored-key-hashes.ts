import { Bulk, findMany } from './bulk.ts'
import type { Columns, SqlValue } from './driver.ts'
import { type KnownKeys, partsOfHash } from './known-keys.ts'
import type { Statements } from './statements.ts'

/** In a list of cells: hash and number of the job. */
const COLUMNS = 2
/** In a piece: the hash in four bytes, and the number of the job behind it. */
const HASH_BYTES = 12
const JOB_AT = 4
/** Above all hashes. */
const END = 2 ** 31

/**
 * The key hashes that jobs in their tables are found by (SQL: names). They are as good as random, so those of a thousand jobs
 * would take some three thousand pages of a large table, which is most of what a transaction writes and syncs. They
 * wait beside it, in pieces in the file and in their order in memory, and move into the table from its first
 * page to its last, turn after turn: each transaction as many as it brings, all of them side by side.
 *
 * A hash that comes behind where a turn is waits for the next turn; so a piece can go when the turn after
 * its own is over.
 */
export class StoredKeyHashes {
  readonly #statements: Statements
  readonly #known: KnownKeys
  readonly #waitingMax: number
  readonly #table: Bulk
  readonly #waiting: Bulk
  /** About how many wait: some came twice, or were deleted. */
  #count = 0
  #turn = 0
  /** The first that did not move in this turn. */
  #at = 0

  /** `known` is told of the hashes that are written. About `waitingMax` of them wait. */
  constructor(statements: Statements, known: KnownKeys, waitingMax: number) {
    this.#statements = statements
    this.#known = known
    this.#waitingMax = waitingMax
    this.#table = new Bulk(statements, { one: 'insert-name', many: 'insert-names-20' })
    this.#waiting = new Bulk(statements, {
      one: 'insert-waiting-name',
      many: 'insert-waiting-names-20',
    })
    this.#lookAgain()
    this.#restore()
  }

  /** As many as should be in their table by now. */
  get overdue(): number {
    return Math.max(0, this.#count - this.#waitingMax)
  }

  /** Cells of hashes in their order. */
  write(cells: readonly number[]): void {
    const count = cells.length / COLUMNS
    if (count === 0) return
    for (let at = 0; at < cells.length; at += COLUMNS) {
      this.#known.add(partsOfHash(cells[at] as number))
    }
    // So many are side by side as they are.
    if (count > this.#waitingMax) return this.#table.write(cells, COLUMNS)
    this.#waiting.write(cells, COLUMNS)
    this.#run('append-names', this.#turn, this.#at, packed(cells))
    this.#count += count
  }

  /** Moves the next ones into their table. */
  move(count: number): void {
    if (count === 0) return
    const next = this.#statements.get('find-nth-waiting-name').get(this.#at, count)
    // Jobs of one hash go together.
    const end = next === undefined ? END : Math.max(next['name'] as number, this.#at + 1)
    this.#run('move-names', this.#at, end)
    this.#count -= this.#run('forget-waiting-names', this.#at, end)
    this.#at = end
    if (end === END) {
      this.#run('cut-names', this.#turn)
      this.#turn++
      this.#at = 0
      this.#countAgain()
    }
    this.#run('note-names', this.#turn, this.#at)
  }

  /** Of those of a job that is deleted nothing stays but in the pieces, where nobody looks for it. */
  prune(endedBefore: number): void {
    this.#run('prune-names', endedBefore)
    this.#run('prune-waiting-names', endedBefore)
  }

  /** To be called after each transaction. */
  afterTransaction({ didFail }: { readonly didFail: boolean }): void {
    if (didFail) this.#lookAgain()
  }

  #lookAgain(): void {
    const noted = this.#statements.get('find-names-turn').get() as Columns
    this.#turn = noted['names_turn'] as number
    this.#at = noted['names_at'] as number
    this.#countAgain()
  }

  #countAgain(): void {
    this.#count = this.#statements.get('count-waiting-names').get()?.['waiting'] as number
  }

  /** After a restart: those of the pieces that are not in the table, if their jobs are still there. */
  #restore(): void {
    for (const { turn, at, names } of this.#statements.get('all-new-names').iterate()) {
      const cells: SqlValue[] = []
      for (const { hash, job } of unpacked(names as Uint8Array)) {
        const isBehind = hash < (at as number)
        const isReached = hash < this.#at
        // Those ahead of it when it came moved in its own turn, the others in the next, as far as that is by now.
        const isMoved = turn === this.#turn ? isReached && !isBehind : isReached || !isBehind
        if (!isMoved) cells.push(hash, job)
      }
      findMany(this.#statements, 'restore-names-20', cells, COLUMNS)
    }
    this.#countAgain()
  }

  #run(name: string, ...params: readonly SqlValue[]): number {
    return Number(this.#statements.get(name).run(...params).changes)
  }
}

function packed(cells: readonly number[]): Uint8Array {
  const piece = Buffer.allocUnsafe((cells.length / COLUMNS) * HASH_BYTES)
  for (let i = 0, at = 0; i < cells.length; i += COLUMNS, at += HASH_BYTES) {
    piece.writeUInt32LE(cells[i] as number, at)
    piece.writeDoubleLE(cells[i + 1] as number, at + JOB_AT)
  }
  return piece
}

function* unpacked(piece: Uint8Array): Iterable<{ readonly hash: number; readonly job: number }> {
  const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length)
  for (let at = 0; at < bytes.length; at += HASH_BYTES) {
    yield { hash: bytes.readUInt32LE(at), job: bytes.readDoubleLE(at + JOB_AT) }
  }
}
