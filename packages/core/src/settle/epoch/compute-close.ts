import type { Closing } from '../fund/fund-rows.ts'
import { type CloseInput, closeEpoch } from './close-epoch.ts'
import type { CloseEffect } from './epochs.ts'
import { type SettlementRow, settlementRow } from './settlement-row.ts'

/** A computed close: its effect on the books, and its row if it has a batch. */
export interface ComputedClose {
  readonly effect: CloseEffect
  readonly row: SettlementRow | null
}

/** Computes a close here and now. The leader does it in another thread if there is much (SETTLE-15). */
export function computeClose(input: CloseInput & Closing): ComputedClose {
  const close = closeEpoch(input)
  return { effect: close, row: close.batch === null ? null : settlementRow(close, input) }
}
