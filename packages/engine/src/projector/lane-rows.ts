import type { KeyedRow } from '@fairlead/core/internal'

/** Changed rows of lanes, the newest of each key. */
export class LaneRows {
  #rows = new Map<string, KeyedRow>()

  /** Null deletes the row. */
  put(lane: string, key: string, value: Uint8Array | null): void {
    this.#rows.set(`${lane} ${key}`, { lane, key, value })
  }

  /** Takes the rows that changed since the last call. */
  take(): readonly KeyedRow[] {
    if (this.#rows.size === 0) return NO_ROWS
    const rows = [...this.#rows.values()]
    this.#rows = new Map()
    return rows
  }
}

const NO_ROWS: readonly KeyedRow[] = []
