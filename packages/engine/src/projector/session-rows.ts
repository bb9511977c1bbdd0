import {
  type Caller,
  type CborValue,
  decodeCbor,
  encodeCbor,
  type JobId,
  type JobRow,
  type Market,
  type SessionKey,
} from '@fairlead/core'
import type {
  DispatchJob,
  DispatchJobState,
  KeyedRow,
  OpenGroup,
  OrgDispatch,
  OrgDispatchState,
  Seat,
  SessionDispatchState,
  SessionJob,
  SessionRecord,
  SessionTouch,
  Snapshot,
} from '@fairlead/core/internal'

/**
 * The state of registrations beside their jobs and leases (DISPATCH-7), each part in a lane:
 *
 * - `session`: when it opens
 * - `session.group`: the next rank of a group that has opened
 * - `session.ranks`: the jobs in line when it opened, in rank order, in a single row
 * - `session.job`: the entry of a live job and the state of its attempts
 * - `session.seat`: a user who has booked, or may have
 * - `session.org`: the budget of a dispatch key, its cursor, its last sends, and since when no worker serves it
 */
const LANE = {
  session: 'session',
  group: 'session.group',
  ranks: 'session.ranks',
  job: 'session.job',
  seat: 'session.seat',
  org: 'session.org',
} as const

type Key = readonly (string | number)[]

/** Collects changes and returns each changed row once. */
export class SessionRows {
  #jobs = new Set<DispatchJob>()
  #orgs = new Set<OrgDispatch>()
  /** Small rows that are final when their change is reported, in stored form. */
  #rows = new Map<string, KeyedRow>()

  readonly #touched: () => void

  /** `touched` is called with every change. */
  constructor(touched: () => void) {
    this.#touched = touched
  }

  readonly touch: SessionTouch = {
    job: (job) => {
      this.#jobs.add(job)
      this.#touched()
    },
    org: (org) => {
      this.#orgs.add(org)
      this.#touched()
    },
    opened: (jobs) => {
      this.#putUnranked(new Set(jobs))
      this.#putRanks(jobs)
      this.#touched()
    },
    group: (group) => {
      this.#put(LANE.group, groupKey(group), [group.nextRank])
      this.#touched()
    },
    record: (record) => {
      this.#put(LANE.session, sessionKey(record), [record.opensAt, record.isOperators])
      this.#touched()
    },
    seat: (taken) => {
      this.#put(LANE.seat, seatKey(taken), [taken.jobId])
      this.#touched()
    },
    released: (freed) => {
      this.#put(LANE.seat, seatKey(freed), null)
      this.#touched()
    },
  }

  /**
   * Forgets sessions that opened before `opensAt` and have no live job, with all their rows, and idle dispatch
   * keys.
   */
  forgetBefore({ seats, sessions }: Market, opensAt: number): void {
    const forgotten = seats.forgetBefore(opensAt)
    for (const { record, taken } of forgotten) {
      const key = sessionKey(record)
      this.#put(LANE.session, key, null)
      for (const seat of taken) this.#put(LANE.seat, seatKey(seat), null)
    }
    for (const group of sessions.forgetSessions(forgotten.map(({ record }) => record))) {
      this.#put(LANE.group, groupKey(group), null)
      this.#put(LANE.ranks, groupKey(group), null)
    }
    for (const org of sessions.forgetIdle(seats.hasKey())) {
      this.#orgs.delete(org)
      this.#put(LANE.org, [org.platform, org.orgRef], null)
    }
  }

  /** Everything that changed since the last call. */
  take({ sessions }: Market): KeyedRow[] {
    if (this.#jobs.size + this.#orgs.size + this.#rows.size === 0) return []
    for (const job of this.#jobs) {
      const { id } = job.entry
      this.#put(LANE.job, [id], sessions.job(id) === undefined ? null : jobCells(job))
    }
    for (const org of this.#orgs) this.#put(LANE.org, [org.platform, org.orgRef], orgCells(org))
    const rows = [...this.#rows.values()]
    this.#jobs.clear()
    this.#orgs.clear()
    this.#rows.clear()
    return rows
  }

  /**
   * Writes these jobs as they were before their group opened. Their ranks are in the row of the group, wherever
   * batches end.
   */
  #putUnranked(group: ReadonlySet<SessionJob>): void {
    for (const job of this.#jobs) {
      const { entry, ...state } = job
      if (!group.has(entry)) continue
      this.#jobs.delete(job)
      this.#put(
        LANE.job,
        [entry.id],
        jobCells({ ...state, entry: { ...entry, rank: null, sendAt: null } }),
      )
    }
  }

  /** Written at once: by the time that rows are taken, the group may already be forgotten. */
  #putRanks(group: readonly SessionJob[]): void {
    const [first, second] = group
    if (first === undefined) return
    const spacingMs = (second?.sendAt ?? 0) - (second === undefined ? 0 : (first.sendAt ?? 0))
    const seqs = group.map(({ seq = 0 }) => seq)
    this.#put(LANE.ranks, groupKey(first), [spacingMs, seqs])
  }

  #put(lane: string, key: Key, cells: readonly CborValue[] | null): void {
    const row = { lane, key: JSON.stringify(key), value: cells === null ? null : encodeCbor(cells) }
    this.#rows.set(`${lane} ${row.key}`, row)
  }
}

/** The state of the sessions, restored from their rows. */
export interface StoredSessions {
  readonly state: SessionDispatchState
  readonly records: readonly SessionRecord[]
  /** The seats of users who have booked, or may have. */
  readonly seats: readonly Seat[]
}

export function restoreSessions({ lanes, jobs }: Snapshot, nowMs: number): StoredSessions {
  const rows = (name: string) =>
    lanes
      .filter(({ lane }) => lane === name)
      .map(({ key, value }) => ({
        key: JSON.parse(key) as string[],
        cells: decodeCbor(value) as unknown[],
      }))
  const registrations = jobs.filter(({ kind }) => kind === 'registration')
  const seqs = new Map<string | undefined, number>(registrations.map(({ id, seq }) => [id, seq]))
  const entries = new Map(
    rows(LANE.job).map(({ key, cells }) => [key[0], jobOf(key, cells, seqs.get(key[0]))]),
  )
  const bySeq = new Map(registrations.map((row) => [row.seq, entries.get(row.id)?.entry]))
  for (const { key, cells } of rows(LANE.ranks)) giveRanks(bySeq, Number(key[3]), cells)
  return {
    state: {
      nowMs,
      orgs: rows(LANE.org).map(({ key, cells }) => orgOf(key, cells)),
      groups: rows(LANE.group).map(({ key, cells }) => ({
        ...keyOf(key),
        scheduledTime: Number(key[3]),
        nextRank: cells[0] as number,
      })),
      // In the order of joining.
      jobs: registrations.flatMap((row) => storedEntryOf(entries, row)),
    },
    records: rows(LANE.session).map(({ key, cells }) => ({
      ...keyOf(key),
      opensAt: cells[0] as number,
      // Older rows lack this cell.
      isOperators: cells[1] === true,
    })),
    seats: rows(LANE.seat).map(({ key, cells }) => ({
      ...keyOf(key),
      seat: key[3] as string,
      caller: (key[4] ?? null) as Caller | null,
      jobId: cells[0] as JobId,
    })),
  }
}

type StoredEntry = SessionDispatchState['jobs'][number]

function storedEntryOf(
  entries: ReadonlyMap<string | undefined, StoredEntry>,
  { id }: JobRow,
): StoredEntry[] {
  const stored = entries.get(id)
  return stored === undefined ? [] : [stored]
}

/** Jobs that were not touched since their group opened get their rank from the group's row. */
function giveRanks(
  bySeq: ReadonlyMap<number, SessionJob | undefined>,
  scheduledTime: number,
  [spacingMs, seqs]: readonly unknown[],
): void {
  for (const [rank, seq] of (seqs as number[]).entries()) {
    const entry = bySeq.get(seq)
    // A job that has lost this rank waits for another opening time (SESSION-11).
    if (entry === undefined || entry.rank !== null) continue
    if (entry.scheduledTime !== scheduledTime) continue
    entry.rank = rank
    entry.sendAt = scheduledTime + rank * (spacingMs as number)
  }
}

function jobCells({ entry, ...state }: DispatchJob): CborValue[] {
  const { platform, orgRef, eventId, scheduledTime, queuedAt, tieBreaker, seat, rank, sendAt } =
    entry
  const { attempts, firstSentAt, sentAt, retryAt, isUnknown, isCancelNoted, lookupUntil } = state
  return [
    [platform, orgRef, eventId, scheduledTime, queuedAt, tieBreaker, seat, rank, sendAt],
    [attempts, firstSentAt, sentAt, retryAt, isUnknown, isCancelNoted, lookupUntil],
  ]
}

function jobOf(
  key: readonly string[],
  cells: readonly unknown[],
  seq: number | undefined,
): StoredEntry {
  const [entry, state] = cells as [unknown[], unknown[]]
  const [platform, orgRef, eventId, scheduledTime, queuedAt, tieBreaker, seat, rank, sendAt] = entry
  const [attempts, firstSentAt, sentAt, retryAt, isUnknown, isCancelNoted, lookupUntil] = state
  return {
    entry: {
      ...{ id: key[0], seq, platform, orgRef, eventId, scheduledTime },
      ...{ queuedAt, tieBreaker, seat, rank, sendAt },
    } as SessionJob,
    state: {
      ...{ attempts, firstSentAt, sentAt, retryAt, isUnknown, isCancelNoted, lookupUntil },
      end: null,
    } as DispatchJobState,
  }
}

function orgCells(org: OrgDispatch): CborValue[] {
  const { budget, servedLast, lastSends, credits, unservedSince } = org.state()
  const { level, levelAt, rate, conc10, spacing10, pausedUntil, halvedAt, throttledAt } = budget
  return [
    [level, levelAt, rate, conc10, spacing10, pausedUntil, halvedAt, throttledAt],
    servedLast,
    lastSends.map(([eventId, at]) => [eventId, at]),
    credits.map(([eventId, credit]) => [eventId, credit]),
    unservedSince,
  ]
}

function orgOf([platform, orgRef]: readonly string[], cells: readonly unknown[]): OrgDispatchState {
  const [budget, servedLast, lastSends, credits, unservedSince] = cells
  const [level, levelAt, rate, conc10, spacing10, pausedUntil, halvedAt, throttledAt] =
    budget as number[]
  return {
    ...{ platform, orgRef, servedLast, lastSends, credits, unservedSince },
    budget: { level, levelAt, rate, conc10, spacing10, pausedUntil, halvedAt, throttledAt },
  } as OrgDispatchState
}

function sessionKey({ platform, orgRef, eventId }: SessionKey): string[] {
  return [platform, orgRef, eventId]
}

/** A seat without a caller keeps its old key, from before each caller had its own users. */
function seatKey({ seat, caller, ...session }: Seat): Key {
  return [...sessionKey(session), seat, ...(caller === null ? [] : [caller])]
}

function groupKey(group: Omit<OpenGroup, 'nextRank'>): Key {
  return [...sessionKey(group), group.scheduledTime]
}

function keyOf(key: readonly string[]): SessionKey {
  const [platform, orgRef, eventId] = key as [string, string, string]
  return { platform, orgRef, eventId }
}
