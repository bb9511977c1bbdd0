import { enqueueJob, type NewJob } from '../src/enqueue/enqueue-job.ts'
import {
  aiDemand,
  type Demand,
  type KindName,
  quantumDemand,
  taskDemand,
} from '../src/enqueue/kinds.ts'
import { issueLease } from '../src/lease/issue-lease.ts'
import type { Lease } from '../src/lease/lease.ts'
import {
  ackLease,
  declineLease,
  type LeaseCall,
  releaseLease,
  renewLease,
} from '../src/lease/lease-calls.ts'
import { advanceMarket, changePolicy } from '../src/market/advance-market.ts'
import type { Job } from '../src/market/job.ts'
import { type Market, type MarketEvent, openMarket } from '../src/market/market.ts'
import { dispatchRound } from '../src/match/dispatch-round.ts'
import { type Completion, completeLease } from '../src/outcome/complete-lease.ts'
import { type Failure, failLease } from '../src/outcome/fail-lease.ts'
import { type Policy, parsePolicy } from '../src/policy/policy.ts'
import { recordHeartbeat } from '../src/registry/health.ts'
import { newProvider, type Provider, type ProviderOffer } from '../src/registry/provider.ts'
import { registerProvider } from '../src/registry/provider-status.ts'
import { newWorkers } from '../src/registry/workers.ts'
import { callerNamed, jobNamed, providerNamed, seedNamed } from './any-market.ts'

export const OWNER = callerNamed(1)
export const STRANGER = callerNamed(2)
export const DIGEST = `0x${'d'.repeat(64)}`
export const WITH_PROOF = { queue: { completion: { ai_verification: 'proof' } } }
/** Heartbeats as the preset has them; without this they play no part in a world. */
export const WITH_HEARTBEATS = { registry: { heartbeat_timeout_ms: 180_000 } }

/** Providers as the preset `queue` has them: no health, and alive by their workers. */
export const WITHOUT_HEALTH = { registry: { health: 'off', liveness: 'worker' } }

const OFFER = {
  capabilities: new Set<KindName>(['ai', 'quantum', 'task']),
  models: new Set(['*']),
} as const

/** Settings as they are written, by section. */
export type Written = Readonly<Record<string, object>>

/**
 * A market from time 0 on, with the providers a, b and c, which take every job; c takes one at a
 * time. All that the tests of single rules do to a market, in few words.
 */
export class World {
  readonly events: MarketEvent[] = []
  readonly market: Market
  readonly a: Provider
  readonly b: Provider
  readonly c: Provider
  #jobs = 0
  #seeds = 0

  /** Served by workers, the providers get nothing until one of theirs is connected. */
  constructor(
    written: Written = {},
    { nowMs = 0, byWorkers = false }: { nowMs?: number; byWorkers?: boolean } = {},
  ) {
    const policy = policyOf(written)
    this.market = openMarket({ policy, nowMs, emit: (event) => this.events.push(event) })
    this.a = this.#register(0, {}, byWorkers)
    this.b = this.#register(1, {}, byWorkers)
    this.c = this.#register(2, { leasesMax: 1 }, byWorkers)
  }

  at = (nowMs: number): void => advanceMarket(this.market, nowMs)

  policy = (written: Written): void => changePolicy(this.market, policyOf(written))

  /** A job of kind ai and one unit, with nothing special about it but what is given. */
  enqueue = (given: Partial<NewJob> = {}): Job => {
    const { kind = 'ai' } = given
    return enqueueJob(this.market, {
      id: given.id ?? jobNamed(++this.#jobs),
      kind,
      caller: OWNER,
      tier: 'FREE',
      fee: 0n,
      sizeBytes: 1_000,
      demand: demandOf(kind),
      regions: null,
      ttlAbsSecs: null,
      enqueueSeq: 0,
      ...given,
    })
  }

  /** A lease of a new job for provider a, unless others are named. */
  assign = (to: { readonly job?: Job; readonly provider?: Provider } = {}): Lease => {
    const { job = this.enqueue(), provider = this.a } = to
    return issueLease(this.market, job, provider, seedNamed(++this.#seeds))
  }

  /** The same, and acked. */
  run(to: { readonly job?: Job; readonly provider?: Provider } = {}): Lease {
    return this.ack(this.assign(to))
  }

  /** The jobs that a round gives out now, first to last. */
  round(): Job[] {
    const { leases } = dispatchRound(this.market, seedNamed(++this.#seeds))
    return leases.map(({ job }) => job)
  }

  ack = (lease: Lease): Lease => ackLease(this.market, callOf(lease))

  renew = (lease: Lease): Lease => renewLease(this.market, callOf(lease))

  decline = (lease: Lease): Lease => declineLease(this.market, callOf(lease))

  release = (lease: Lease): Lease => releaseLease(this.market, callOf(lease))

  complete = (lease: Lease, given: Partial<Completion> = {}): Lease =>
    completeLease(this.market, { ...callOf(lease), digest: DIGEST, actualUnits: null, ...given })

  fail = (lease: Lease, given: Partial<Failure> = {}): Lease =>
    failLease(this.market, { ...callOf(lease), code: 'oom', permanent: false, ...given })

  /** A heartbeat of provider a at this time; its health after it. */
  beat(nowMs: number): number {
    this.at(nowMs)
    recordHeartbeat(this.market, this.a)
    return this.a.health
  }

  /** Units of kind ai that provider a has taken. */
  units(epoch = 0): number {
    return this.a.units.get('ai')?.get(epoch) ?? 0
  }

  #register(n: number, offer: Partial<ProviderOffer>, byWorkers: boolean): Provider {
    const lastHeartbeat = this.market.nowMs
    const id = providerNamed(n)
    const provider = newProvider({
      id,
      offer: { ...OFFER, ...offer },
      stake: 60_000n,
      lastHeartbeat,
      workers: byWorkers ? newWorkers() : null,
    })
    registerProvider(this.market, provider)
    return provider
  }
}

/** The holder of a lease, about it. */
export function callOf({ id, provider }: Lease): LeaseCall {
  return { leaseId: id, by: provider.id }
}

/** Without proofs, unless they are asked for. */
export function policyOf({ registry, queue = {}, ...written }: Written): Policy {
  const quiet = { heartbeat_timeout_ms: 31_536_000_000 }
  const { completion, ...rest } = queue as { readonly completion?: object }
  const unproved = { ai_verification: 'none', quantum_verification: 'none' }
  return parsePolicy(
    {
      ...written,
      queue: { ...rest, completion: { ...unproved, ...completion } },
      registry: { ...quiet, ...registry },
    },
    'fund',
  )
}

function demandOf(kind: KindName): Demand {
  if (kind === 'quantum') return quantumDemand(1_000, 0)
  return kind === 'task' ? taskDemand('t') : aiDemand('m', 100)
}
