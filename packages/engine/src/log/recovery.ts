import { type Policy, type Preset, parsePolicy, type Store } from '@fairlead/core'
import type { Assigned, Log, Snapshot, Tables } from '@fairlead/core/internal'
import { EngineState } from '../state/engine-state.ts'
import { META } from '../state/meta.ts'
import type { LogEntry } from './batch.ts'
import { replayRefusal } from './replay-refusal.ts'
import { Replica } from './replica.ts'

/** The time from which requester windows need to know past assignments; null if there is no window. */
export function assignedSince(snapshot: Snapshot): number | null {
  const { requesterWindow } = storedPolicy(snapshot).queue.quotas
  return requesterWindow === null ? null : beatOf(snapshot) - 1_000 * requesterWindow.secs
}

/** Hears of a replay. */
export interface ReplayListener {
  /** Called after each command. */
  applied?(entry: LogEntry, state: EngineState): void
  /** Called after each batch, when the state is at its end. */
  replayed?(state: EngineState, batch: number): void
}

/** Builds the state: loads the tables, which reflect some batch, and replays the log after it (RECOVER-1). */
export async function recoverState(
  { tables, log }: { readonly tables: Tables; readonly log: Log },
  snapshot: Snapshot,
  listener: ReplayListener = {},
): Promise<EngineState> {
  const since = assignedSince(snapshot)
  const assigned = since === null ? [] : await tables.read.assignmentsSince(since)
  const replica = new Replica(stateOf(snapshot, assigned))
  for await (const { batch, body } of log.read(snapshot.batch)) {
    replica.apply(batch, body, (entry) => listener.applied?.(entry, replica.state))
    listener.replayed?.(replica.state, batch)
  }
  return replica.state
}

/**
 * Replays what the tables lack into them, durably. Resolves with what they have then. A replay that differs is refused as at a start
 * (REPLAY-1).
 */
export async function catchUp({ tables, log }: Pick<Store, 'tables' | 'log'>): Promise<Snapshot> {
  const snapshot = await tables.load()
  if (snapshot.batch >= log.end.batch) return snapshot
  const applied: Promise<number>[] = []
  const state = await recoverState({ tables, log }, snapshot, {
    replayed: (current, batch) => {
      if (current.hasPruned) applied.push(tables.apply(current.takeRows(), batch))
    },
  }).catch((error: unknown) => {
    throw replayRefusal(error, snapshot)
  })
  applied.push(tables.apply(state.takeRows(), log.end.batch))
  await Promise.all(applied)
  // The log is trimmed by the next engine, which may archive it before.
  await tables.sync()
  return tables.load()
}

/** Restores the state as it was when its rows were written (ENGINE-4). */
export function stateOf(snapshot: Snapshot, assigned: readonly Assigned[]): EngineState {
  return new EngineState({ snapshot, policy: storedPolicy(snapshot), assigned })
}

function beatOf({ meta }: Snapshot): number {
  return Number(meta[META.beat])
}

function storedPolicy({ meta }: Snapshot): Policy {
  return parsePolicy(JSON.parse(meta[META.policy] ?? '{}'), meta[META.preset] as Preset)
}
