import type { Caller, JobId, KindName, Market, WaitReason } from '@fairlead/core'
import { opensAt, termsNow } from '@fairlead/core/internal'
import { blockerText, changeFor } from '../../explain/blocker-text.ts'
import type { Hold } from './hold.ts'
import { earlier, type HeldJobs, type WaitingScan } from './scan.ts'

/** All waiting jobs that one thing holds up. */
export interface HeldUp {
  readonly kind: KindName
  readonly hold: Hold
  readonly jobs: number
  /** Null: not counted. */
  readonly callers: number | null
  /** Those with the most jobs first. */
  readonly names: readonly { readonly name: string | null; readonly jobs: number }[]
  readonly first: JobId | null
  readonly since: number | null
  /** When the first of them can go; null if that is not known. */
  readonly until: number | null
}

export interface Blocker extends HeldUp {
  /** The same for the same thing in every scan. */
  readonly id: string
  readonly text: string
  readonly change: Change | null
}

/** A change that lets jobs go: in words, and as a call where a single one does it. */
export interface Change {
  readonly text: string
  readonly jobs: number
  readonly method: string | null
  readonly params: Readonly<Record<string, unknown>> | null
}

const NAMES_SHOWN = 5
/** Providers and blockers that are asked for the earliest time; for more of them it is not known. */
const ASKED_MAX = 200

/** Puts a scan together by what holds the jobs up, those with the most jobs first. */
export function blockersOf(market: Market, { held, at }: WaitingScan): Blocker[] {
  const byId = new Map<string, Gathered>()
  // Jobs of one hold are of one blocker, and there are few holds.
  const byHold = new Map<Hold, Map<KindName, Gathered>>()
  for (const one of held) {
    const known = byHold.get(one.hold)?.get(one.kind)
    if (known !== undefined) {
      known.add(one)
      continue
    }
    const id = blockerId(one)
    const same = byId.get(id)
    same?.add(one)
    const gathered = same ?? new Gathered(one)
    byId.set(id, gathered)
    const kinds = byHold.get(one.hold) ?? new Map<KindName, Gathered>()
    byHold.set(one.hold, kinds.set(one.kind, gathered))
  }
  const found = [...byId].map(([id, gathered]) => ({ id, ...gathered.sum() }))
  found.sort((a, b) => b.jobs - a.jobs || (a.id < b.id ? -1 : 1))
  return found.map((one, i) => {
    const until = i < ASKED_MAX ? untilOf(market, one) : one.until
    const sum = { ...one, until }
    return { ...sum, text: blockerText(sum, at), change: changeFor(sum, market.policy) }
  })
}

/** Reasons that are nobody's trouble: the jobs wait for their time, for one another, or for the next round. */
const EXPECTED: ReadonlySet<WaitReason> = new Set([
  'not_open',
  'scheduled',
  'dependencies',
  'pacing',
])

/** A wait that is shorter than this holds nothing up: the next moments may end it. */
export const PATIENCE_MS = 5_000

/** True if it holds up work that somebody expects to run by now. */
export function isHoldUp({ hold, since }: HeldUp, at: number): boolean {
  return !EXPECTED.has(hold.reason) && since !== null && at - since >= PATIENCE_MS
}

function blockerId({ kind, hold: { reason, check, limit, pause } }: HeldJobs): string {
  const paused = pause === null ? '' : `${pause.name ?? ''}|${pause.caller ?? ''}`
  return `${kind}|${reason}|${check ?? ''}|${limit?.key ?? ''}${paused}`
}

/** Nobody knows when a slot is free, a pause ends or an operator acts. */
function untilOf(market: Market, { hold, first, until }: HeldUp): number | null {
  const { reason, check, limit } = hold
  if (limit !== null && check !== 'lease_cap_reached') return limit.until
  if (reason !== 'no_provider' || check === null || first === null) return until
  const job = market.jobs.get(first)
  const providers = market.pool.all()
  if (job === undefined || providers.length > ASKED_MAX) return null
  const terms = termsNow(market)
  let at = Number.POSITIVE_INFINITY
  for (const provider of providers) {
    at = Math.min(at, opensAt({ provider, job, market, terms }))
  }
  return at > market.nowMs && at < Number.POSITIVE_INFINITY ? at : null
}

class Gathered {
  #largest: HeldJobs
  #jobs = 0
  #isEveryCallerKnown = true
  readonly #callers = new Set<Caller>()
  readonly #names = new Map<string | null, number>()
  #first: HeldJobs
  #until: number | null = null

  constructor(one: HeldJobs) {
    this.#largest = one
    this.#first = one
    this.add(one)
  }

  add(one: HeldJobs): void {
    const { jobs, caller, name, since, until } = one
    this.#jobs += jobs
    if (jobs > this.#largest.jobs) this.#largest = one
    if (caller === null) this.#isEveryCallerKnown = false
    else this.#callers.add(caller)
    this.#names.set(name, (this.#names.get(name) ?? 0) + jobs)
    if ((since ?? Infinity) < (this.#first.since ?? Infinity)) this.#first = one
    this.#until = earlier(this.#until, until)
  }

  sum(): HeldUp {
    const { kind, hold } = this.#largest
    const names = [...this.#names]
      .sort(([a, m], [b, n]) => n - m || ((a ?? '') < (b ?? '') ? -1 : 1))
      .slice(0, NAMES_SHOWN)
      .map(([name, jobs]) => ({ name, jobs }))
    return {
      kind,
      hold,
      jobs: this.#jobs,
      callers: this.#isEveryCallerKnown ? this.#callers.size : null,
      names: this.#isEveryCallerKnown ? names : [],
      first: this.#first.first,
      since: this.#first.since,
      until: this.#until,
    }
  }
}

/** The change that lets the most jobs go, of all that hold work up; null if there is none. */
export function bestChange(blockers: readonly Blocker[], at: number): Change | null {
  const changes = blockers.filter((one) => isHoldUp(one, at)).flatMap(({ change }) => change ?? [])
  return changes.reduce<Change | null>(
    (best, one) => (best === null || one.jobs > best.jobs ? one : best),
    null,
  )
}
