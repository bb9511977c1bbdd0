import type { Store } from '@fairlead/core'
import { NO_ROWS, type WriteBatch } from '@fairlead/core/internal'
import { catchUp } from '../log/recovery.ts'
import { AHEAD_MAX_MS } from '../open-engine.ts'
import { META } from '../state/meta.ts'
import { movedKeyedRow, movedProvider } from './moved-rows.ts'

/** A store that can move the times of jobs and leases together with the rows of a batch. */
export interface MovableStore extends Pick<Store, 'log' | 'tables'> {
  /**
   * Makes every time of a job, lease or result after `afterMs` earlier by `byMs`, in one transaction with the
   * batch.
   */
  moveTimes(
    move: { readonly afterMs: number; readonly byMs: number },
    batch: WriteBatch,
  ): Promise<void>
}

/** The last time that the store had seen, and its new time. */
export interface FixedClock {
  readonly before: number
  readonly after: number
}

/**
 * Repairs a store that was written by a clock far ahead, which no engine opens (CLOCK-1). Times after the right
 * one become earlier by as much as the store is ahead, deadlines and waits included. Openings of sessions and the
 * audit log stay; the log gets an entry. Null if the store is not ahead.
 */
export async function fixClock(store: MovableStore, wallMs: number): Promise<FixedClock | null> {
  const { providers, lanes, meta, lastEntry } = await catchUp(store)
  const before = Number(meta[META.beat] ?? wallMs)
  if (before <= wallMs + AHEAD_MAX_MS) return null
  const byMs = before - wallMs
  const move = (at: number): number => (at > wallMs ? at - byMs : at)
  const erasedBefore = meta[META.erasedBefore]
  await store.moveTimes(
    { afterMs: wallMs, byMs },
    {
      ...NO_ROWS,
      providers: providers.map((row) => movedProvider(row, move)),
      lanes: lanes.map((row) => movedKeyedRow(row, move)),
      journal: [
        {
          seq: lastEntry + 1,
          at: wallMs,
          actor: 'doctor',
          action: 'clockFixed',
          subject: 'clock',
          details: { subject: 'clock', before, after: wallMs },
          jobSeq: null,
        },
      ],
      meta: {
        [META.beat]: String(wallMs),
        ...(erasedBefore === undefined
          ? {}
          : { [META.erasedBefore]: String(move(Number(erasedBefore))) }),
      },
    },
  )
  return { before, after: wallMs }
}
