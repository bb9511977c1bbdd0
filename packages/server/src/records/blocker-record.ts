import type { Blocker, Change } from '@fairlead/engine'
import type { BlockerRecord, ChangeRecord } from '@fairlead/protocol'

/** `at`: the time that waits are counted up to. */
export function blockerRecord(blocker: Blocker, at: number): BlockerRecord {
  const { id, kind, hold, jobs, callers, names, since, until, first, text, change } = blocker
  return {
    id,
    kind,
    reason: hold.reason,
    check: hold.check,
    slots: hold.check === 'lease_cap_reached' ? hold.slots : null,
    limit: hold.limit?.key ?? null,
    jobs,
    callers,
    names: names.map(({ name, jobs: of }) => ({ name, jobs: of })),
    oldest_wait_ms: since === null ? null : Math.max(0, at - since),
    earliest_at: until,
    earliest_in_ms: until === null ? null : Math.max(0, until - at),
    example: first,
    text,
    change: change === null ? null : changeRecord(change),
  }
}

export function changeRecord({ text, jobs, method, params }: Change): ChangeRecord {
  return { text, jobs, method, params: params === null ? null : { ...params } }
}
