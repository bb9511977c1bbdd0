import { changeBudget } from '../admit/dispatch-budget.ts'
import { IndexedHeap } from '../collections/indexed-heap.ts'
import { compareText } from '../encoding/text.ts'
import {
  type PlatformPolicy,
  type PlatformRows,
  platformPolicy,
} from '../policy/platform-policy.ts'
import { OrgDispatch, type OrgDispatchState } from './org-dispatch.ts'

/** `(provider, org_ref)` of the request: the budget that a registration uses (SESSION-1). */
export interface DispatchKey {
  readonly platform: string
  readonly orgRef: string
}

/**
 * All dispatch keys, and when to check each of them again. A key without events costs nothing, however many there
 * are.
 */
export class OrgTable {
  #rows: PlatformRows
  readonly #policies = new Map<string, PlatformPolicy>()
  /** By platform, then by org_ref. */
  readonly #orgs = new Map<string, Map<string, OrgDispatch>>()
  readonly #wakes = new IndexedHeap<OrgDispatch>((a, b) => a.wakeAt < b.wakeAt)
  /** Keys that changed since their wake time was computed. */
  readonly #stale = new Set<OrgDispatch>()
  /**
   * Keys that could send, but had no provider; time alone does not help them. If only some of their jobs were
   * passed over, the value is the time from which the other jobs may go.
   */
  readonly #unserved = new Map<OrgDispatch, number>()

  /** Keys with an `unservedSince`. */
  readonly #waiting = new Set<OrgDispatch>()

  constructor(rows: PlatformRows) {
    this.#rows = rows
  }

  /** Policies are cached only for platforms in use, because anyone may ask about any name. */
  policyOf(platform: string): PlatformPolicy {
    return this.#policies.get(platform) ?? platformPolicy(platform, this.#rows)
  }

  /** The dispatch key, if it is in use. */
  find(key: DispatchKey): OrgDispatch | undefined {
    return this.#orgs.get(key.platform)?.get(key.orgRef)
  }

  /** The dispatch key. A new one has a full bucket. */
  get(key: DispatchKey, nowMs: number): OrgDispatch {
    return this.find(key) ?? this.#add(key, nowMs)
  }

  restore(state: OrgDispatchState): OrgDispatch {
    const org = this.#add(state, state)
    if (org.unservedSince !== null) this.#waiting.add(org)
    return org
  }

  all(): OrgDispatch[] {
    return [...this.#orgs.values()].flatMap((orgs) => [...orgs.values()])
  }

  /** Forgets an idle key. If it is used again, it is a new one. */
  forget(org: OrgDispatch): void {
    const orgs = this.#orgs.get(org.platform)
    orgs?.delete(org.orgRef)
    if (orgs?.size === 0) {
      this.#orgs.delete(org.platform)
      this.#policies.delete(org.platform)
    }
    this.#wakes.remove(org)
    this.#stale.delete(org)
    this.#unserved.delete(org)
    this.#waiting.delete(org)
  }

  /** Call this after a change that its next send depends on. */
  changed(org: OrgDispatch): void {
    this.#stale.add(org)
    // The time given for its other jobs may now be too late.
    if (this.#unserved.get(org) !== Infinity) this.#unserved.delete(org)
  }

  /**
   * Marks a key that has a job to send but no provider. It is due again at every call, and its other jobs at
   * `othersAt`.
   */
  leaveUnserved(org: OrgDispatch, othersAt: number): void {
    this.#unserved.set(org, othersAt)
    this.#stale.add(org)
  }

  get hasUnserved(): boolean {
    return this.#unserved.size + this.#waiting.size > 0
  }

  /** When the first key may be able to send; infinite if only a new event can help. */
  nextWakeAt(): number {
    this.#refresh()
    return this.#wakes.top()?.wakeAt ?? Infinity
  }

  /**
   * Notes keys whose attempts no provider could make. They are next, in this order, after those that have waited
   * longer. Returns the keys that were not waiting before.
   */
  noteUnserved(orgs: readonly OrgDispatch[]): OrgDispatch[] {
    const fresh = orgs.filter(({ unservedSince }) => unservedSince === null)
    if (fresh.length === 0) return fresh
    // Counted from the keys that wait now: a number that depended on others would differ after a restart.
    let last = 0
    for (const { unservedSince } of this.#waiting) last = Math.max(last, unservedSince ?? 0)
    for (const org of fresh) {
      org.unservedSince = ++last
      this.#waiting.add(org)
    }
    return fresh
  }

  /** True if the key was waiting. */
  noteServed(org: OrgDispatch): boolean {
    org.unservedSince = null
    return this.#waiting.delete(org)
  }

  /**
   * Takes the keys that may be able to send. Unserved keys come first, the longest wait first of all. The others
   * follow in the byte order of their keys (DISPATCH-5).
   */
  takeDue(nowMs: number): OrgDispatch[] {
    this.#refresh()
    // Includes keys whose jobs have ended meanwhile: after a restart nothing distinguishes them from the others.
    const due = [...new Set([...this.#unserved.keys(), ...this.#waiting])]
    this.#unserved.clear()
    for (const org of due) this.#wakes.remove(org)
    for (let org = this.#wakes.top(); org !== undefined; org = this.#wakes.top()) {
      if (org.wakeAt > nowMs) break
      this.#wakes.remove(org)
      due.push(org)
    }
    for (const org of due) this.#stale.add(org)
    return due.sort(
      (a, b) =>
        compareWaits(a, b) ||
        compareText(a.platform, b.platform) ||
        compareText(a.orgRef, b.orgRef),
    )
  }

  changePolicies(rows: PlatformRows, nowMs: number): void {
    this.#rows = rows
    this.#policies.clear()
    for (const org of this.all()) {
      const to = this.policyOf(org.platform)
      this.#policies.set(org.platform, to)
      changeBudget(org.budget, { from: org.policy, to, nowMs })
      org.policy = to
      this.#stale.add(org)
    }
  }

  #refresh(): void {
    for (const org of this.#stale) {
      this.#wakes.remove(org)
      org.wakeAt = this.#unserved.get(org) ?? org.nextSendAt()
      if (org.wakeAt < Infinity) this.#wakes.add(org)
    }
    this.#stale.clear()
  }

  #add(key: DispatchKey, start: number | OrgDispatchState): OrgDispatch {
    const policy = this.policyOf(key.platform)
    this.#policies.set(key.platform, policy)
    const org = new OrgDispatch(key, policy, start)
    const orgs = this.#orgs.get(key.platform) ?? new Map<string, OrgDispatch>()
    this.#orgs.set(key.platform, orgs.set(key.orgRef, org))
    return org
  }
}

/** Keys that wait for a provider come first, longest wait first. */
function compareWaits(
  { unservedSince: a }: OrgDispatch,
  { unservedSince: b }: OrgDispatch,
): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  return a - b
}
