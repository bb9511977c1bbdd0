import type { Caller } from '../encoding/ids.ts'
import type { KindName } from '../enqueue/kinds.ts'
import type { Policy } from '../policy/policy.ts'
import type { Provider } from '../registry/provider.ts'

/** The epoch of a time, counted from the Unix epoch (QUOTA-3). */
export function epochOf(nowMs: number, policy: Policy): number {
  return Math.floor(nowMs / (1_000 * policy.queue.quotas.epochSecs))
}

export function unitsUsed(provider: Provider, kind: KindName, epoch: number): number {
  return provider.units.get(kind)?.get(epoch) ?? 0
}

/** Takes units of an epoch, or returns some if `units` is negative. */
export function addUnits(provider: Provider, kind: KindName, epoch: number, units: number): void {
  let epochs = provider.units.get(kind)
  if (epochs === undefined) {
    epochs = new Map()
    provider.units.set(kind, epochs)
  }
  const total = (epochs.get(epoch) ?? 0) + units
  if (total === 0) epochs.delete(epoch)
  else epochs.set(epoch, total)
}

/** An assignment of work to a caller. */
export interface Assigned {
  readonly caller: Caller
  readonly at: number
}

/**
 * The assignment times of each caller. A caller gets at most `jobs` assignments in any span of `secs`; the window
 * slides and is exact (QUOTA-4). Memory holds only what the policy's window needs, and nothing without a window.
 * For a longer window, `restore` needs the earlier assignments.
 */
export class RequesterWindows {
  readonly #times = new Map<Caller, number[]>()

  /** Starts over with the known assignments, oldest first. */
  restore(assigned: readonly Assigned[], policy: Policy): void {
    this.#times.clear()
    for (const { caller, at } of assigned) this.record(caller, at, policy)
  }

  /** The assignments of the caller that count against its window now. */
  count(caller: Caller, nowMs: number, policy: Policy): number {
    const window = policy.queue.quotas.requesterWindow
    return window === null ? 0 : this.#recent(caller, nowMs, window.secs).length
  }

  record(caller: Caller, nowMs: number, policy: Policy): void {
    const window = policy.queue.quotas.requesterWindow
    if (window === null) return
    const times = this.#recent(caller, nowMs, window.secs)
    times.push(nowMs)
    // Moved to the end, so that the callers that have been idle for longest come first.
    this.#times.delete(caller)
    this.#times.set(caller, times)
    this.#forgetIdle(nowMs, window.secs)
  }

  /** When a caller over its window may get its next job; null if it may now, or never. */
  freeAt(caller: Caller, nowMs: number, policy: Policy): number | null {
    const window = policy.queue.quotas.requesterWindow
    if (window === null) return null
    const times = this.#recent(caller, nowMs, window.secs)
    const oldest = times[times.length - window.jobs]
    return window.jobs === 0 || oldest === undefined ? null : oldest + 1_000 * window.secs
  }

  /** Each new assignment removes up to two idle callers. */
  #forgetIdle(nowMs: number, secs: number): void {
    let looked = 0
    for (const [caller, times] of this.#times) {
      if (looked++ === 2 || nowMs - (times.at(-1) ?? 0) < 1_000 * secs) return
      this.#times.delete(caller)
    }
  }

  /** The assignments that still count. Older ones are dropped. */
  #recent(caller: Caller, nowMs: number, secs: number): number[] {
    const times = this.#times.get(caller)
    if (times === undefined) return []
    let gone = 0
    while (gone < times.length && nowMs - (times[gone] as number) >= 1_000 * secs) gone++
    if (gone > 0) times.splice(0, gone)
    if (times.length === 0) this.#times.delete(caller)
    return times
  }
}
