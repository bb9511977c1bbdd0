import { type CborMap, type CborValue, decodeCbor, encodeCbor, type Limit } from '@fairlead/core'
import {
  type ExactInt,
  type KeyedRow,
  type LimitChanges,
  type LimitLeaseState,
  type MarketLimitsState,
  type MeterState,
  readLimit,
  type Snapshot,
} from '@fairlead/core/internal'
import { META } from '../state/meta.ts'

/** The lanes of limits: each limit under its key, and each remembered lease id. */
const LIMIT = 'limit'
const LEASE = 'limit_lease'

/** The stored form of changed limits and lease ids (ADMIT-1). */
export function limitRows({ limits, leases }: LimitChanges): KeyedRow[] {
  const rows: KeyedRow[] = limits.map(([key, state]) => ({
    lane: LIMIT,
    key,
    value: state === null ? null : encodeCbor(meterCells(state)),
  }))
  for (const [id, state] of leases) {
    rows.push({
      lane: LEASE,
      key: id,
      value: state === null ? null : encodeCbor(leaseCells(state)),
    })
  }
  return rows
}

/** Restores limits from their rows. */
export function restoreLimits({ lanes, meta }: Snapshot, nowMs: number): MarketLimitsState {
  const of = (lane: string) => lanes.filter((row) => row.lane === lane)
  return {
    nowMs,
    anewFrom: Number(meta[META.limitsFrom] ?? 0),
    seq: Number(meta[META.limitSeq] ?? 0),
    limits: of(LIMIT).map(({ value }) => meterState(decodeCbor(value) as CborMap)),
    leases: of(LEASE).map(({ key, value }) => [key, leaseState(decodeCbor(value) as Cells)]),
  }
}

type Cells = readonly CborValue[]

function meterCells({ limit, waiting, holds, bucket, countsFrom }: MeterState): CborMap {
  return {
    limit: limitCells(limit),
    waiting: waiting === null ? null : limitCells(waiting),
    holds: holds.map(([end, amount]) => [end, exactCell(amount)]),
    bucket: bucket === null ? null : [exactCell(bucket.levelMicro), bucket.atMs],
    counts_from: countsFrom,
  }
}

function meterState({ limit, waiting, holds, bucket, counts_from = 0 }: CborMap): MeterState {
  const [level, atMs] = (bucket ?? [0, 0]) as readonly [ExactCell, number]
  return {
    limit: limitOf(limit as CborMap),
    waiting: waiting === null ? null : limitOf(waiting as CborMap),
    holds: (holds as readonly [number, ExactCell][]).map(([end, cell]) => [end, exactOf(cell)]),
    bucket: bucket === null ? null : { levelMicro: exactOf(level), atMs },
    // 0 for a limit that was stored before limits could be reset.
    countsFrom: counts_from as number,
  }
}

/** A value above 2^53 may also exceed 2^64, the maximum of a CBOR integer, so it is stored as text. */
type ExactCell = number | string

function exactCell(value: ExactInt): ExactCell {
  return typeof value === 'bigint' ? value.toString() : value
}

function exactOf(cell: ExactCell): ExactInt {
  return typeof cell === 'string' ? BigInt(cell) : cell
}

/** A rate has at most three decimals, so it is stored as a whole number of thousandths. */
function limitCells(limit: Limit): CborMap {
  if (limit.kind !== 'bucket') return { ...limit }
  return { ...limit, rate: Math.round(limit.rate * 1_000) }
}

function limitOf(cells: CborMap): Limit {
  const isBucket = cells['kind'] === 'bucket'
  return readLimit(isBucket ? { ...cells, rate: (cells['rate'] as number) / 1_000 } : cells)
}

function leaseCells({ seq, lease, tokenKeys }: LimitLeaseState): Cells {
  if (lease.state !== 'held') return [seq, lease.state, lease.forgetAt]
  const { state, forgetAt, reservedAt, endsAt, holds } = lease
  const held = holds.map(({ key, amount, end }) => [key, amount, end])
  return [seq, state, forgetAt, reservedAt, endsAt, held, tokenKeys]
}

function leaseState(cells: Cells): LimitLeaseState {
  const [seq, state, forgetAt, reservedAt, endsAt, held, tokenKeys = []] = cells as readonly [
    number,
    'held' | 'completed' | 'denied',
    number,
    number,
    number,
    readonly (readonly [string, number, number])[],
    string[]?,
  ]
  if (state !== 'held') return { seq, lease: { state, forgetAt }, tokenKeys }
  const holds = held.map(([key, amount, end]) => ({ key, amount, end }))
  return { seq, lease: { state, forgetAt, reservedAt, endsAt, holds }, tokenKeys }
}
