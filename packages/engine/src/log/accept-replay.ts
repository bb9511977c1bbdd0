import type { Store } from '@fairlead/core'
import type { WriteBatch } from '@fairlead/core/internal'
import { newIncarnation } from './incarnation.ts'
import { assignedSince, stateOf } from './recovery.ts'
import { replayRefusal } from './replay-refusal.ts'
import { type Difference, Replica } from './replica.ts'

/** A replay whose decisions were taken, or would be. */
export interface AcceptedReplay {
  /** The last batch that the tables had, and the last one of the log. */
  readonly from: number
  readonly to: number
  readonly commands: number
  /** Oldest first. Empty: the replay agrees with the log, and nothing was changed. */
  readonly differences: readonly Difference[]
}

/**
 * Replays what the tables lack, and takes the decisions of this version where the recorded ones differ (REPLAY-2). Commands that this
 * version refuses are left out. The rows are written under a new incarnation.
 */
export async function acceptReplay(
  { tables, log }: Pick<Store, 'tables' | 'log'>,
  {
    nowMs,
    incarnation,
    isTrial = false,
  }: {
    readonly nowMs: number
    /** 32 random bytes. */
    readonly incarnation: Uint8Array
    /** True: only tells the differences. */
    readonly isTrial?: boolean
  },
): Promise<AcceptedReplay> {
  const snapshot = await tables.load()
  const since = assignedSince(snapshot)
  const assigned = since === null ? [] : await tables.read.assignmentsSince(since)
  const differences: Difference[] = []
  const state = stateOf(snapshot, assigned)
  const replica = new Replica(state, { differs: (difference) => differences.push(difference) })
  const taken: { readonly rows: WriteBatch; readonly batch: number }[] = []
  let commands = 0
  try {
    for await (const { batch, body } of log.read(snapshot.batch)) {
      replica.apply(batch, body, () => {
        commands++
      })
      if (state.hasPruned) taken.push({ rows: state.takeRows(), batch })
    }
  } catch (error) {
    throw replayRefusal(error, snapshot)
  }
  const { batch: to } = log.end
  const found = { from: snapshot.batch, to, commands, differences }
  if (isTrial || differences.length === 0) return found
  const at = Math.max(nowMs, state.market.nowMs)
  const differing = new Set(differences.map(({ batch }) => batch)).size
  const begun = newIncarnation({
    lastEntry: state.journalSeq,
    at,
    incarnation,
    note: {
      ...{ type: 'replayAccepted', at, subject: 'store' },
      ...{ batches: to - snapshot.batch, differences: differing },
    },
  })
  taken.push({ rows: state.takeRows(), batch: to })
  // The incarnation comes first, so that no decision of this version is in the tables without it.
  for (const [i, { rows, batch }] of taken.entries()) {
    const meta = { ...rows.meta, ...begun.meta }
    const isLast = i === taken.length - 1
    const journal = isLast ? [...rows.journal, ...begun.journal] : rows.journal
    await tables.apply({ ...rows, meta, journal }, batch)
  }
  await log.trim(await tables.sync())
  return found
}
