import { type CborValue, decodeCbor, encodeCbor, type Pause } from '@fairlead/core'
import { type PauseKey, pauseId, type Snapshot } from '@fairlead/core/internal'
import type { LaneRows } from './lane-rows.ts'

/** The lane of pauses, each under its kind, name and caller. */
const LANE = 'pause'

/** The stored form of a pause that began, or has ended. */
export function putPause(rows: LaneRows, key: PauseKey, since: number | null): void {
  rows.put(LANE, pauseId(key), since === null ? null : encodeCbor([since]))
}

export function restorePauses({ lanes }: Pick<Snapshot, 'lanes'>): Pause[] {
  const rows = lanes.filter(({ lane }) => lane === LANE)
  return rows.map(({ key, value }) => {
    const [kind, name, caller] = JSON.parse(key) as [Pause['kind'], string | null, Pause['caller']]
    const [since] = decodeCbor(value) as readonly CborValue[]
    return { kind, name, caller, since: since as number }
  })
}
