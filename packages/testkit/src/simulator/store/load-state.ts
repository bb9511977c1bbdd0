import { assignedSince, type EngineState, stateOf } from '@fairlead/engine'
import type { SimDisk } from './sim-disk.ts'

/** The state that these tables hold, as a recovery builds it before it replays the log. */
export function loadState(disk: SimDisk, batch: number): EngineState {
  const snapshot = disk.snapshot(batch)
  const hasWindow = disk.meta.get('policy')?.includes('"requester_window":{') === true
  // A policy takes long to read, so this is asked only where there can be a window.
  const since = hasWindow ? assignedSince(snapshot) : null
  return stateOf(snapshot, since === null ? [] : disk.assignmentsSince(since))
}
