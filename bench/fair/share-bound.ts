import {
  advanceMarket,
  aiDemand,
  type Caller,
  completeLease,
  dispatchRound,
  enqueueJob,
  type Lease,
  type Market,
  newProvider,
  openMarket,
  parsePolicy,
  registerProvider,
  type Seed,
  taggedHashHex,
} from '@fairlead/core'
import { callerNumber, jobIdNumber, numbers, providerNumber } from '../fixtures.ts'

const TENANTS = 50
const WEIGHT_MAX = 100
const UNITS_MAX = 1_000
const TOKENS_PER_UNIT = 100
const PROVIDERS = 8
const SLOTS = 4
const START = 1_760_000_000_000
const ROUND_MS = 10
const DIGEST = `0x${'00'.repeat(32)}`

export interface BoundCheck {
  readonly grants: number
  /** Pairs of tenants, over all grants, that were further apart than they may be. */
  readonly broken: number
  /** The furthest that two were ever apart, as a share of what they may be. */
  readonly furthest: number
}

/**
 * FAIR-5, at every grant: two tenants with work waiting never differ in units/weight by more than their
 * largest job each, over any span in which both had work waiting. Tenants of random weights, jobs of
 * random sizes, and backlogs that grow, shrink and run dry, on the market that the engine runs.
 */
export function checkBound({ grants, seed }: { grants: number; seed: number }): BoundCheck {
  const random = numbers(seed)
  const tenants = Array.from({ length: TENANTS }, (_, i) => newTenant(i, random))
  const byCaller = new Map(tenants.map((tenant) => [tenant.caller, tenant]))
  const market = openTenantMarket(tenants)
  const pairs = new PairSpans(tenants)
  let jobs = 0
  let given = 0
  for (let round = 0; given < grants; round++) {
    advanceMarket(market, START + round * ROUND_MS)
    for (const tenant of tenants) {
      for (let n = arrivals(tenant, random); n > 0; n--) enqueue(market, tenant, jobs++, random)
    }
    const { leases } = dispatchRound(market, taggedHashHex('bench', round) as Seed)
    for (const { job } of leases) {
      pairs.grant(byCaller.get(job.caller) as Tenant, job.units)
      given++
    }
    completeSome(market, random)
  }
  return { grants: given, broken: pairs.broken, furthest: pairs.furthest }
}

interface Tenant {
  readonly place: number
  readonly caller: Caller
  readonly weight: number
  /** How large its jobs may be: some tenants have small ones only. */
  readonly unitsMax: number
  /** Its largest so far. */
  largest: number
  waiting: number
  served: number
}

function newTenant(place: number, random: (m: number) => number): Tenant {
  const weight = 1 + random(WEIGHT_MAX)
  const unitsMax = 1 + random(UNITS_MAX)
  return { place, caller: callerNumber(place), weight, unitsMax, largest: 0, waiting: 0, served: 0 }
}

function openTenantMarket(tenants: readonly Tenant[]): Market {
  const policy = parsePolicy({
    match: {
      fairness: 'tenant',
      tenant_weights: Object.fromEntries(tenants.map(({ caller, weight }) => [caller, weight])),
    },
    queue: { quotas: { leases_max_per_provider: SLOTS }, batch_size: 2 * PROVIDERS * SLOTS },
  })
  const market = openMarket({ policy, nowMs: START })
  for (let i = 0; i < PROVIDERS; i++) {
    const offer = { capabilities: new Set(['ai'] as const), models: new Set(['*']) }
    registerProvider(market, newProvider({ id: providerNumber(i), lastHeartbeat: START, offer }))
  }
  return market
}

/** Now and then a burst; one in five tenants has next to nothing, and so runs dry again and again. */
function arrivals(tenant: Tenant, random: (m: number) => number): number {
  if (tenant.waiting > 200) return 0
  const isSeldom = tenant.place % 5 === 0
  return random(isSeldom ? 60 : 10) === 0 ? 1 + random(isSeldom ? 2 : 20) : 0
}

function enqueue(market: Market, tenant: Tenant, n: number, random: (m: number) => number): void {
  const units = 1 + random(tenant.unitsMax)
  enqueueJob(market, {
    id: jobIdNumber(n),
    kind: 'ai',
    caller: tenant.caller,
    tier: 'FREE',
    fee: BigInt(random(1_000_000)),
    sizeBytes: 200,
    demand: aiDemand('llama3-8b', units * TOKENS_PER_UNIT),
    regions: null,
    ttlAbsSecs: null,
    enqueueSeq: n,
  })
  tenant.largest = Math.max(tenant.largest, units)
  tenant.waiting++
}

function completeSome(market: Market, random: (m: number) => number): void {
  const leases: Lease[] = [...market.leasesOf.values()].flatMap((held) => [...held.values()])
  for (const { id: leaseId, provider } of leases) {
    if (random(3) === 0) continue
    completeLease(market, { leaseId, by: provider.id, digest: DIGEST, actualUnits: null })
  }
}

/**
 * For each pair how far ahead the one has been of the other, at least and at most, since both have had
 * work waiting: the distance between the two is the most that any span can show. In units × weight ×
 * weight, so that it is exact.
 */
class PairSpans {
  broken = 0
  furthest = 0
  readonly #tenants: readonly Tenant[]
  readonly #least: Float64Array
  readonly #most: Float64Array
  /** Who had work waiting at the last grant. */
  readonly #wasWaiting: Set<Tenant> = new Set()

  constructor(tenants: readonly Tenant[]) {
    this.#tenants = tenants
    this.#least = new Float64Array(tenants.length ** 2)
    this.#most = new Float64Array(tenants.length ** 2)
  }

  grant(tenant: Tenant, units: number): void {
    for (const one of this.#tenants) this.#noteWaiting(one)
    tenant.served += units
    tenant.waiting--
    for (const other of this.#tenants) if (other.waiting > 0) this.#check(tenant, other)
    this.#noteWaiting(tenant)
  }

  /** A tenant that has work again after a while without: what was before counts no more. */
  #noteWaiting(tenant: Tenant): void {
    const isWaiting = tenant.waiting > 0
    if (isWaiting === this.#wasWaiting.has(tenant)) return
    if (!isWaiting) {
      this.#wasWaiting.delete(tenant)
      return
    }
    this.#wasWaiting.add(tenant)
    for (const other of this.#tenants) {
      const at = this.#index(tenant, other)
      this.#least[at] = this.#ahead(tenant, other)
      this.#most[at] = this.#ahead(tenant, other)
    }
  }

  #check(tenant: Tenant, other: Tenant): void {
    if (tenant === other) return
    const at = this.#index(tenant, other)
    const ahead = this.#ahead(tenant, other)
    const least = Math.min(this.#least[at] as number, ahead)
    const most = Math.max(this.#most[at] as number, ahead)
    this.#least[at] = least
    this.#most[at] = most
    const bound = tenant.largest * other.weight + other.largest * tenant.weight
    const span = Math.max(ahead - least, most - ahead)
    if (span > bound) this.broken++
    this.furthest = Math.max(this.furthest, span / bound)
  }

  #ahead(tenant: Tenant, other: Tenant): number {
    const [a, b] = tenant.place < other.place ? [tenant, other] : [other, tenant]
    return a.served * b.weight - b.served * a.weight
  }

  #index({ place: a }: Tenant, { place: b }: Tenant): number {
    return Math.min(a, b) * this.#tenants.length + Math.max(a, b)
  }
}
