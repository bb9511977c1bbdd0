import type { Caller, KindName, Market } from '@fairlead/core'
import { type Share, weightOf } from '@fairlead/core/internal'
import type { Hold } from './waiting/hold.ts'
import type { WaitingScan } from './waiting/scan.ts'

/** What a caller was given of late. */
export interface Served {
  readonly units: number
  readonly tier: string
}

export interface TenantFigures {
  readonly caller: Caller
  readonly weight: number
  /** `owed`: it has jobs that a provider would take; `limited`: all of its ready jobs are held up. */
  readonly state: 'no_demand' | 'limited' | 'owed'
  /** What holds the most of its ready jobs, if it is limited. */
  readonly hold: Hold | null
  readonly ready: number
  readonly units: number
  readonly sharePpm: number
  readonly entitledPpm: number
  /** How far it is behind the tenant that is furthest ahead, in its own units; null unless owed. */
  readonly lagUnits: number | null
  readonly boundUnits: number | null
}

export interface KindFairness {
  readonly kind: KindName
  readonly mode: 'tenant' | 'score'
  /** Jain's index of units per weight over all that were served or are owed; null if nobody was. */
  readonly index: number | null
  readonly units: number
  /** The one that is furthest behind first. */
  readonly tenants: readonly TenantFigures[]
}

const MILLION = 1_000_000
/** A unit of weight 1 in virtual time (FAIR-2). */
const UNIT_BITS = 20n

/**
 * Each tenant's part of the service against what it is entitled to. A tenant without a job that could go is entitled
 * to what it got. What is left is split among the owed ones by weight. The lag comes from the virtual times that
 * decide who is next (FAIR-2), so it is exact at every moment, and has a bound (FAIR-7).
 */
export function fairnessOf(
  market: Market,
  scan: WaitingScan,
  served: (kind: KindName) => ReadonlyMap<Caller, Served>,
): KindFairness[] {
  const ready = readyByTenant(scan)
  const figures: KindFairness[] = []
  for (const [kind, queue] of market.queues) {
    const tenants = new Map<Caller, Known>()
    const tenant = (caller: Caller, tier: string): Known => {
      let known = tenants.get(caller)
      if (known === undefined) {
        known = {
          caller,
          weight: weightOf({ caller, tier }, market.policy),
          units: 0,
          demand: null,
        }
        tenants.set(caller, known)
      }
      return known
    }
    for (const [caller, demand] of ready.get(kind) ?? [])
      tenant(caller, demand.tier).demand = demand
    for (const [caller, { units, tier }] of served(kind)) tenant(caller, tier).units = units
    if (tenants.size === 0) continue
    figures.push(
      kindFairness(kind, market, [...tenants.values()], queue.shares(), queue.counters().virtual),
    )
  }
  return figures
}

interface Demand {
  readonly tier: string
  ready: number
  takeable: number
  /** What holds the most of the jobs that cannot go. */
  hold: Hold | null
  held: number
}

interface Known {
  readonly caller: Caller
  readonly weight: number
  units: number
  demand: Demand | null
}

function readyByTenant({ held }: WaitingScan): Map<KindName, Map<Caller, Demand>> {
  const byKind = new Map<KindName, Map<Caller, Demand>>()
  for (const { kind, caller, tier, hold, jobs, until } of held) {
    // Jobs that wait for their time are no demand yet.
    if (caller === null || until !== null || hold.reason === 'dependencies') continue
    let tenants = byKind.get(kind)
    if (tenants === undefined) {
      tenants = new Map()
      byKind.set(kind, tenants)
    }
    let demand = tenants.get(caller)
    if (demand === undefined) {
      demand = { tier: tier ?? '', ready: 0, takeable: 0, hold: null, held: 0 }
      tenants.set(caller, demand)
    }
    demand.ready += jobs
    if (isTakeable(hold)) demand.takeable += jobs
    else if (jobs > demand.held) {
      demand.held = jobs
      demand.hold = hold
    }
  }
  return byKind
}

/** A busy slot is what tenants compete for, so a job that only lacks one is owed. */
function isTakeable({ reason, check, slots, limit, isWindowFull }: Hold): boolean {
  if (reason === 'ready') return true
  return check === 'lease_cap_reached' && slots > 0 && limit === null && !isWindowFull
}

function kindFairness(
  kind: KindName,
  { policy }: Market,
  tenants: readonly Known[],
  shares: Iterable<Share>,
  virtual: bigint,
): KindFairness {
  const mode = policy.match.fairness
  const byCaller = new Map<Caller, Share>()
  if (mode === 'tenant') for (const share of shares) byCaller.set(share.caller, share)
  const owed = tenants.filter(({ demand }) => (demand?.takeable ?? 0) > 0)
  const total = sum(tenants, ({ units }) => units)
  const left = sum(owed, ({ units }) => units)
  const weights = sum(owed, ({ weight }) => weight)
  const at = (caller: Caller): bigint => {
    const finish = byCaller.get(caller)?.finish ?? virtual
    return finish > virtual ? finish : virtual
  }
  let ahead = virtual
  let largest = 0n
  for (const { caller } of owed) {
    if (at(caller) <= ahead) continue
    ahead = at(caller)
    largest = byCaller.get(caller)?.largest ?? 0n
  }
  const rows = tenants.map((tenant): TenantFigures => {
    const { caller, weight, units, demand } = tenant
    const state =
      demand === null || demand.ready === 0 ? 'no_demand' : demand.takeable > 0 ? 'owed' : 'limited'
    const isOwed = state === 'owed'
    const entitled = isOwed && weights > 0 ? (left * weight) / weights : units
    const isTimed = isOwed && mode === 'tenant'
    const own = byCaller.get(caller)?.largest ?? 0n
    return {
      caller,
      weight,
      state,
      hold: state === 'limited' ? (demand?.hold ?? null) : null,
      ready: demand?.ready ?? 0,
      units,
      sharePpm: ppm(units, total),
      entitledPpm: ppm(entitled, total),
      lagUnits: isTimed ? unitsOf(ahead - at(caller), weight) : null,
      boundUnits: isTimed ? unitsOf(own + largest, weight) : null,
    }
  })
  rows.sort(byLag)
  return { kind, mode, index: jainIndex(tenants), units: total, tenants: rows }
}

const STATE_ORDER = { owed: 0, limited: 1, no_demand: 2 } as const

function byLag(a: TenantFigures, b: TenantFigures): number {
  const byState = STATE_ORDER[a.state] - STATE_ORDER[b.state]
  if (byState !== 0) return byState
  const lag = (b.lagUnits ?? 0) - (a.lagUnits ?? 0)
  const missing = b.entitledPpm - b.sharePpm - (a.entitledPpm - a.sharePpm)
  return lag || missing || b.ready - a.ready || (a.caller < b.caller ? -1 : 1)
}

/** 1 if all got the same for their weight, 1/n if one of n got everything. */
function jainIndex(tenants: readonly Known[]): number | null {
  const parts = tenants
    .filter(({ units, demand }) => units > 0 || (demand?.takeable ?? 0) > 0)
    .map(({ units, weight }) => units / weight)
  const squares = sum(parts, (part) => part * part)
  const all = sum(parts, (part) => part)
  return squares === 0 ? null : (all * all) / (parts.length * squares)
}

function unitsOf(virtual: bigint, weight: number): number {
  return Number((virtual * BigInt(weight)) >> UNIT_BITS)
}

function ppm(part: number, of: number): number {
  return of === 0 ? 0 : Math.min(MILLION, Math.round((part / of) * MILLION))
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}
