import { type Policy, type Preset, parsePolicy } from '@fairlead/core'
import type { Assigned, Snapshot } from '@fairlead/core/internal'
import { EngineState } from '../state/engine-state.ts'
import { META } from '../state/meta.ts'

/** The time from which requester windows need to know past assignments; null if there is no window. */
export function assignedSince(snapshot: Snapshot): number | null {
  const { requesterWindow } = storedPolicy(snapshot).queue.quotas
  return requesterWindow === null ? null : beatOf(snapshot) - 1_000 * requesterWindow.secs
}

/** Restores the state as it was when its rows were written (ENGINE-4). */
export function stateOf(snapshot: Snapshot, assigned: readonly Assigned[]): EngineState {
  const seed = snapshot.meta[META.installationSeed] as string
  const installationSeed = Buffer.from(seed.slice(2), 'hex')
  return new EngineState({ snapshot, policy: storedPolicy(snapshot), assigned, installationSeed })
}

function beatOf({ meta }: Snapshot): number {
  return Number(meta[META.beat])
}

function storedPolicy({ meta }: Snapshot): Policy {
  return parsePolicy(JSON.parse(meta[META.policy] ?? '{}'), meta[META.preset] as Preset)
}
