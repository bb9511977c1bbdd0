import { FairleadError, PROVIDER_STATUSES } from '@fairlead/core'
import { MATCH_ORDERS, ROUNDS_KEPT } from '@fairlead/core/internal'
import type { BatchRows, RowAt } from './batch-codec.ts'
import { CellReader } from './cell-codec.ts'
import type { SqlValue } from './driver.ts'
import type { StoredRows } from './stored-rows.ts'

const reader = new CellReader()

/** Rows of the tables that stay small, by their names; of each what it has become in the end. */
export interface SmallTableRows {
  readonly providers: ReadonlyMap<string, RowAt>
  readonly shares: ReadonlyMap<string, RowAt>
  readonly meta: ReadonlyMap<string, RowAt>
}

/** The rows that wait for their tables and are not of a job; see `PendingRows`. */
export class PendingOthers {
  readonly #stored: StoredRows
  readonly #providers = new Map<string, RowAt>()
  readonly #shares = new Map<string, RowAt>()
  readonly #keyedRows = new Map<string, RowAt>()
  readonly #rounds = new Map<string, RowAt>()
  readonly #meta = new Map<string, RowAt>()

  constructor(stored: StoredRows) {
    this.#stored = stored
  }

  get isEmpty(): boolean {
    return this.#all.every(({ size }) => size === 0)
  }

  merge(batch: BatchRows): void {
    const { bytes } = batch
    for (const at of batch.providers) this.#setProvider({ bytes, at })
    for (const at of batch.rounds) this.#addRound({ bytes, at })
    for (const at of batch.shares) this.#shares.set(rowName(bytes, at, 2), { bytes, at })
    for (const at of batch.lanes) this.#keyedRows.set(rowName(bytes, at, 2), { bytes, at })
    for (const at of batch.meta) this.#meta.set(rowName(bytes, at, 1), { bytes, at })
  }

  get keyedRowCount(): number {
    return this.#keyedRows.size
  }

  /** The keyed rows that have waited longest, as they are by now, and they wait no more. */
  takeKeyedRows(most: number): RowAt[] {
    return takeFirst(this.#keyedRows, most)
  }

  get roundCount(): number {
    return this.#rounds.size
  }

  /** Rounds that so many newer ones wait with that they are not kept (STORE-10) never come into their table. */
  dropOldRounds(): void {
    const heights = new Set<number>()
    for (const name of this.#rounds.keys()) heights.add(heightIn(name))
    if (heights.size <= ROUNDS_KEPT) return
    const oldestKept = [...heights].sort((a, b) => b - a)[ROUNDS_KEPT - 1] as number
    for (const name of this.#rounds.keys()) {
      if (heightIn(name) < oldestKept) this.#rounds.delete(name)
    }
  }

  /** The rounds that have waited longest, and they wait no more. */
  takeRounds(most: number): RowAt[] {
    return takeFirst(this.#rounds, most)
  }

  /** The rows of the small tables, and they wait no more. */
  takeSmallTables(): SmallTableRows {
    const taken = {
      providers: new Map(this.#providers),
      shares: new Map(this.#shares),
      meta: new Map(this.#meta),
    }
    for (const rows of [this.#providers, this.#shares, this.#meta]) rows.clear()
    return taken
  }

  clear(): void {
    for (const rows of this.#all) rows.clear()
  }

  get #all(): readonly Map<string, RowAt>[] {
    return [this.#providers, this.#shares, this.#keyedRows, this.#rounds, this.#meta]
  }

  #setProvider(row: RowAt): void {
    const [id, status] = firstCells(row)
    checkWord('provider', PROVIDER_STATUSES, status)
    this.#providers.set(id as string, row)
  }

  #addRound(row: RowAt): void {
    const cells = firstCells(row, ROUND_ORDER_AT + 1)
    const [height, kind] = cells as [number, string]
    checkWord('round', MATCH_ORDERS, cells[ROUND_ORDER_AT])
    const name = `${height} ${kind}`
    if (this.#rounds.has(name) || this.#stored.hasRound(height, kind)) {
      throw refused(`round ${height} of ${kind} is there already`)
    }
    this.#rounds.set(name, row)
  }
}

/** Of the name of a round: what stands before the kind. */
function heightIn(name: string): number {
  return Number.parseInt(name, 10)
}

function takeFirst(rows: Map<string, RowAt>, most: number): RowAt[] {
  const taken: RowAt[] = []
  for (const [name, row] of rows) {
    if (taken.length === most) break
    taken.push(row)
    rows.delete(name)
  }
  return taken
}

function checkWord(what: string, words: readonly string[], given: SqlValue | undefined): void {
  if (!words.includes(given as string)) throw refused(`a ${what} cannot be ${String(given)}`)
}

/** What a batch may not do is refused before it is logged. */
export function refused(why: string): FairleadError {
  return new FairleadError('InvalidState', why)
}

export function isRefusal(error: unknown): boolean {
  return error instanceof FairleadError && error.code === 'InvalidState'
}

/** Where `match_order` stands among the cells of a round. */
const ROUND_ORDER_AT = 6

function firstCells({ bytes, at }: RowAt, count = 2): readonly SqlValue[] {
  const cells: SqlValue[] = []
  reader.seek(bytes, at).cellsTo(cells, count)
  return cells
}

/** The first cells of a row, as they are encoded: the same for the same name, and no other. */
function rowName(bytes: Buffer, at: number, cells: number): string {
  reader.seek(bytes, at)
  for (let i = 0; i < cells; i++) reader.cell()
  return bytes.toString('latin1', at, reader.at)
}
