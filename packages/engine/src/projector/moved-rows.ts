import { type CborMap, type CborValue, decodeCbor, encodeCbor } from '@fairlead/core'
import { JAILED_FOR_GOOD, type ProviderRow, type Snapshot } from '@fairlead/core/internal'

/** Maps an old time to its new one. */
export type Move = (at: number) => number

type Cells = CborValue[]
type StoredRow = Snapshot['lanes'][number]

/** A provider with every time moved that the engine took from its clock. */
export function movedProvider(row: ProviderRow, move: Move): ProviderRow {
  const orNull = (at: number | null) => (at === null ? null : move(at))
  return {
    ...row,
    lastHeartbeat: move(row.lastHeartbeat),
    creditedAt: orNull(row.creditedAt),
    cooldownUntil: orNull(row.cooldownUntil),
    standing: { ...row.standing, jailedUntil: jail(row.standing.jailedUntil, move) },
    classCooldowns: row.classCooldowns.map((one) => ({ ...one, until: move(one.until) })),
    workers: row.workers?.map((one) => ({ ...one, goneSince: orNull(one.goneSince) })) ?? null,
  }
}

function jail(until: number | null, move: Move): number | null {
  return until === null || until === JAILED_FOR_GOOD ? until : move(until)
}

/** Moves the times of a keyed row. Openings stay, because people chose them. */
export function movedKeyedRow(row: StoredRow, move: Move): StoredRow {
  const inJson = MOVED_JSON[row.lane]
  if (inJson !== undefined) {
    const value: unknown = JSON.parse(Buffer.from(row.value).toString('utf8'))
    return { ...row, value: Buffer.from(JSON.stringify(inJson(value, move))) }
  }
  const moved = MOVED_BY_LANE[row.lane]
  if (moved === undefined) return row
  return { ...row, value: encodeCbor(moved(decodeCbor(row.value), move)) }
}

/** The times in the pieces of the fund. Epochs keep their numbers: they are closed when the clock comes to them again. */
const MOVED_JSON: Readonly<Record<string, (value: unknown, move: Move) => unknown>> = {
  'fund.await': (value, move) => {
    const { since, ...rest } = value as { readonly since: number }
    return { ...rest, since: move(since) }
  },
  'fund.challenge': (value, move) => {
    const { expiresAt, ...rest } = value as { readonly expiresAt: number }
    return { ...rest, expiresAt: move(expiresAt) }
  },
  'fund.unstaking': (value, move) =>
    (value as readonly { readonly maturesAt: number }[]).map((one) => ({
      ...one,
      maturesAt: move(one.maturesAt),
    })),
}

/** The layout by lane, as `limit-rows.ts` and `session-rows.ts` write it. */
const MOVED_BY_LANE: Readonly<Record<string, (value: CborValue, move: Move) => CborValue>> = {
  limit: (value, move) => {
    const { holds, bucket, counts_from: from, ...rest } = value as CborMap
    return {
      ...rest,
      holds: (holds as Cells[]).map(([end, amount]) => [time(end, move), amount ?? null]),
      bucket: bucket === null ? null : at(bucket as Cells, [1], move),
      ...(from === undefined ? {} : { counts_from: time(from, move) }),
    } as CborMap
  },
  limit_lease: (value, move) => {
    // seq, state, forgetAt, reservedAt, endsAt, holds
    const cells = at(value as Cells, [2, 3, 4], move)
    if (Array.isArray(cells[5])) cells[5] = (cells[5] as Cells[]).map((one) => at(one, [2], move))
    return cells
  },
  dependency: (value, move) => {
    const { ended_at: endedAt, ...rest } = value as CborMap
    return { ...rest, ended_at: time(endedAt, move) }
  },
  'session.job': (value, move) => {
    const [place, state] = value as [Cells, Cells]
    // queuedAt; then firstSentAt, sentAt, retryAt, lookupUntil
    return [at(place, [4], move), at(state, [1, 2, 3, 6], move)]
  },
  'session.org': (value, move) => {
    const [budget, servedLast, lastSends, credits, unservedSince] = value as Cells
    // levelAt, pausedUntil, halvedAt, throttledAt
    return [
      at(budget as Cells, [1, 5, 6, 7], move),
      servedLast ?? null,
      (lastSends as Cells[]).map((one) => at(one, [1], move)),
      credits ?? null,
      time(unservedSince, move),
    ]
  },
}

/** The cells, with those at the given indexes moved. */
function at(cells: Cells, places: readonly number[], move: Move): Cells {
  return cells.map((cell, i) => (places.includes(i) ? time(cell, move) : cell))
}

function time(cell: CborValue | undefined, move: Move): CborValue {
  return typeof cell === 'number' ? move(cell) : (cell ?? null)
}
