import type { FairleadError } from '@fairlead/core/errors'

/** A row that waits for a relay. */
export interface WaitingRow {
  readonly id: string
  readonly key: string
  readonly request: string
}

/** The end of rows that were sent. One that is in neither list stays. */
export interface Moved {
  /** Answered by the server: they are removed. */
  readonly answered: readonly string[]
  /** Refused for good: they are marked, and skipped from now on. */
  readonly refused: readonly { readonly id: string; readonly error: FairleadError }[]
}

/** The table of the outbox, as a relay sees it. */
export interface RowSource {
  /**
   * Gives the oldest rows, by id, to `move`, and keeps what it says of them. Resolves with the number of rows, or with
   * null if it cannot look now.
   */
  turn(limit: number, move: (rows: readonly WaitingRow[]) => Promise<Moved>): Promise<number | null>
  /** No row waits, not with another relay either. */
  isEmpty(): Promise<boolean>
  /** Resolves when there may be new rows, at the latest after so long, or when the signal fires. */
  wait(ms: number, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** As it is stored and shown. */
export function refusalText({ code, message }: FairleadError): string {
  return `${code}: ${message}`
}
