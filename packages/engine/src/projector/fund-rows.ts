import {
  type DueLine,
  decodeDue,
  type Fund,
  type FundPart,
  type FundRow,
  type KeyedRow,
  type Snapshot,
} from '@fairlead/core/internal'

/** Each part of the fund has a lane. Claim lines have one for each epoch, which a close clears as a whole. */
const PREFIX = 'fund.'
const LINE = `${PREFIX}line.`
export const BALANCE_LANE = `${PREFIX}balance`

/** The stored form of the pieces that changed (FUND-1). */
export function fundRows(fund: Fund): {
  readonly rows: readonly KeyedRow[]
  readonly clearedLanes: readonly string[]
} {
  const { rows, settledEpochs } = fund.takeChanges()
  return {
    rows: rows.map((row) => ({
      lane: row.part === 'line' ? `${LINE}${row.value?.epochId}` : PREFIX + row.part,
      key: row.key,
      value: row.value === null ? null : Buffer.from(JSON.stringify(row.value, withBigints)),
    })),
    clearedLanes: settledEpochs.map((epochId) => LINE + epochId),
  }
}

/** Restores the pieces of a fund. */
export function restoreFund({ lanes, due }: Snapshot): {
  readonly rows: readonly FundRow[]
  readonly due: readonly DueLine[]
} {
  const rows = lanes
    .filter(({ lane }) => lane.startsWith(PREFIX))
    .map(({ lane, key, value }): FundRow => {
      const part = lane.startsWith(LINE) ? 'line' : (lane.slice(PREFIX.length) as FundPart)
      const json = Buffer.from(value).toString('utf8')
      return { part, key, value: JSON.parse(json, toBigints) } as FundRow
    })
  return { rows, due: decodeDue(due) }
}

/** JSON has no integers beyond doubles. */
const BIGINT = '$n'

function withBigints(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? { [BIGINT]: value.toString() } : value
}

function toBigints(_: string, value: unknown): unknown {
  const digits = (value as Readonly<Record<string, unknown>> | null)?.[BIGINT]
  return typeof digits === 'string' ? BigInt(digits) : value
}
