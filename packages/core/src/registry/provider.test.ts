import { describe, expect, it, test } from 'vitest'
import { callerNamed, providerNamed } from '../../test/any-market.ts'
import { refusal } from '../../test/refusal.ts'
import { World } from '../../test/world.ts'
import type { Caller } from '../encoding/ids.ts'
import { type KindName, quantumDemand } from '../enqueue/kinds.ts'
import type { Lease } from '../lease/lease.ts'
import type { Market, MarketEvent } from '../market/market.ts'
import { refusalOf } from '../match/eligibility.ts'
import { parsePolicy } from '../policy/policy.ts'
import { classKey, leaseCap, newProvider, type Provider, stakeNeeded } from './provider.ts'
import { setProviderStatus } from './provider-status.ts'
import { standingOf } from './standing/standing.ts'
import { PROVIDER_STATUSES, type ProviderStatus } from './standing/status.ts'

/** The status after a word of an operator; a word that is missing is refused. A pause waits behind jail and suspension. */
// biome-ignore format: a table
const AFTER: Readonly<Record<ProviderStatus, Readonly<Partial<Record<ProviderStatus, ProviderStatus>>>>> = {
  REGISTERED: { ACTIVE: 'ACTIVE', JAILED: 'JAILED', SUSPENDED: 'SUSPENDED', RETIRED: 'RETIRED', PAUSED: 'PAUSED' },
  ACTIVE:     { ACTIVE: 'ACTIVE', JAILED: 'JAILED', SUSPENDED: 'SUSPENDED', RETIRED: 'RETIRED', PAUSED: 'PAUSED' },
  JAILED:     { ACTIVE: 'ACTIVE', JAILED: 'JAILED', SUSPENDED: 'SUSPENDED', RETIRED: 'RETIRED', PAUSED: 'JAILED' },
  SUSPENDED:  { ACTIVE: 'ACTIVE', JAILED: 'JAILED', SUSPENDED: 'SUSPENDED', RETIRED: 'RETIRED', PAUSED: 'SUSPENDED' },
  RETIRED:    {},
  PAUSED:     { ACTIVE: 'ACTIVE', JAILED: 'JAILED', SUSPENDED: 'SUSPENDED', RETIRED: 'RETIRED', PAUSED: 'PAUSED' },
}
const ALL_KINDS: ReadonlySet<KindName> = new Set(['ai', 'quantum', 'task'])
const PAIRS = PROVIDER_STATUSES.flatMap((from) =>
  PROVIDER_STATUSES.map((to) => [from, to] as const),
)

describe('the word of an operator', () => {
  test.each(PAIRS)('REGISTRY-1: a provider that is %s, set to %s', (from, to) => {
    const { market, provider, lease, events } = leased({ status: from, health: 100 })
    const after = AFTER[from][to]
    const before = structuredClone({ ...provider, lease: lease.status, job: lease.job.status })

    if (after === undefined) {
      expect(refusal(() => setProviderStatus(market, provider, to))).toBe('InvalidState')
      expect({ ...provider, lease: lease.status, job: lease.job.status }).toEqual(before)
      expect(events).toEqual([])
      return
    }
    setProviderStatus(market, provider, to)
    expect(provider.status).toBe(after)
    expect(provider.health).toBe(to === 'ACTIVE' ? 600 : 100)
    expect(events.filter(({ type }) => type === 'providerStatus')).toEqual(
      from === after
        ? []
        : [{ type: 'providerStatus', at: 0, providerId: provider.id, status: after }],
    )
  })

  test.each(['JAILED', 'SUSPENDED', 'RETIRED'] as const)(
    'LEASE-7: a provider that becomes %s loses its leases, and nobody is charged',
    (status) => {
      const { market, provider, lease } = leased({})
      setProviderStatus(market, provider, status)
      expect(lease.status).toBe('CANCELLED')
      expect(lease.job).toMatchObject({ status: 'QUEUED', retries: 0, notBefore: null })
      expect(provider).toMatchObject({ liveLeases: 0, failures: 0, health: 1_000 })
      expect([...(provider.units.get('ai')?.values() ?? [])].filter((n) => n > 0)).toEqual([])
    },
  )

  it('REGISTRY-3: setting ACTIVE once more keeps the leases, and lifts the health to min_health', () => {
    const { market, provider, lease, events } = leased({ health: 599 })
    setProviderStatus(market, provider, 'ACTIVE')
    expect({ health: provider.health, status: lease.status }).toEqual({
      health: 600,
      status: 'ACTIVE',
    })
    expect(events).toEqual([])
  })

  it('REGISTRY-1: ACTIVE never lowers the health', () => {
    const { market, provider } = leased({ status: 'SUSPENDED', health: 601 })
    setProviderStatus(market, provider, 'ACTIVE')
    expect(provider.health).toBe(601)
  })
})

it('REGISTRY-4: a new provider has full health, no run of failures, no cooldown and no leases', () => {
  expect(newProvider({ id: providerNamed(0), lastHeartbeat: 7 })).toMatchObject({
    status: 'ACTIVE',
    health: 1_000,
    failures: 0,
    cooldownUntil: null,
    liveLeases: 0,
    lastHeartbeat: 7,
    creditedAt: null,
  })
})

describe('what an offer leaves out', () => {
  const NOTHING = {
    capabilities: new Set(),
    models: new Set(),
    platforms: new Set(),
    maxDepth: null,
    maxShots: null,
    maxWidth: null,
    gates: null,
    precision: null,
    region: null,
    allow: null,
    deny: new Set(),
    leasesMax: null,
  }

  it('REGISTRY-5: no kinds, no models, no region, nobody shut out, as many leases as policy gives', () => {
    const bare = newProvider({ id: providerNamed(0), lastHeartbeat: 0 })
    expect(bare.offer).toEqual(NOTHING)
    expect(leaseCap(bare, parsePolicy({}, 'fund'))).toBe(16)
  })

  it.each([
    { capabilities: new Set(['ai'] as const) },
    { models: new Set(['m']) },
    { platforms: new Set(['p']) },
    { maxDepth: 0 },
    { maxShots: 0 },
    { maxWidth: 0 },
    { gates: new Set(['h', 'cx']) },
    { precision: new Set(['fp8']) },
    { region: 'eu' },
    { allow: new Set<Caller>() },
    { deny: new Set([callerNamed(1)]) },
    { leasesMax: 0 },
  ])('REGISTRY-5: what it names counts as named, and the rest as left out: %o', (offer) => {
    const provider = newProvider({ id: providerNamed(0), lastHeartbeat: 0, offer })
    expect(provider.offer).toEqual({ ...NOTHING, ...offer })
  })

  it.each([
    { offer: {}, kind: 'task', refusal: 'capability_missing' },
    { offer: { capabilities: ALL_KINDS }, kind: 'task', refusal: 'model_unsupported' },
    { offer: { capabilities: ALL_KINDS }, kind: 'ai', refusal: 'model_unsupported' },
    { offer: { capabilities: ALL_KINDS }, kind: 'quantum', refusal: null },
    { offer: { capabilities: ALL_KINDS, models: new Set(['m']) }, kind: 'ai', refusal: null },
  ] as const)('REGISTRY-5: matching $kind with $offer gives $refusal', ({ offer, ...row }) => {
    const { market, enqueue } = new World()
    const demand = row.kind === 'quantum' ? quantumDemand(1_000_000, 2 ** 32 - 1) : undefined
    const job = enqueue({ kind: row.kind, ...(demand && { demand }) })
    const bare = newProvider({ id: providerNamed(0), lastHeartbeat: 0, offer, stake: 60_000n })
    const unlimited = { ...market.policy.queue.quotas, quantumUnitsPerEpoch: null }
    const policy = { ...market.policy, queue: { ...market.policy.queue, quotas: unlimited } }
    const terms = { nowMs: 0, policy, epoch: 0, isWindowFull: () => false, admit: null }
    expect(refusalOf(bare, job, terms)).toBe(row.refusal)
  })
})

it('REGISTRY-2: the minimum stake is added up over the kinds offered', () => {
  const policy = parsePolicy({}, 'fund')
  const needed = (...kinds: ('ai' | 'quantum' | 'task' | 'registration')[]): bigint =>
    stakeNeeded(
      newProvider({
        id: providerNamed(0),
        lastHeartbeat: 0,
        offer: { capabilities: new Set(kinds) },
      }),
      policy,
    )
  expect(needed()).toBe(0n)
  expect(needed('ai')).toBe(10_000n)
  expect(needed('quantum', 'ai')).toBe(60_000n)
  expect(needed('task', 'registration')).toBe(0n)
})

test.each([
  { policy: 16, declared: null, cap: 16 },
  { policy: 16, declared: 15, cap: 15 },
  { policy: 16, declared: 16, cap: 16 },
  { policy: 16, declared: 17, cap: 16 },
  { policy: 16, declared: 0, cap: 0 },
  { policy: 0, declared: null, cap: 0 },
])('QUOTA-1: of $policy and $declared the lower counts, null is no limit', (row) => {
  const written = { queue: { quotas: { leases_max_per_provider: row.policy } } }
  const offer = { leasesMax: row.declared }
  const provider = newProvider({ id: providerNamed(0), lastHeartbeat: 0, offer })
  expect(leaseCap(provider, parsePolicy(written, 'fund'))).toBe(row.cap)
})

it('RETRY-8: a class is a kind and a model', () => {
  const keys = [classKey('ai', 'm'), classKey('task', 'm'), classKey('ai', 'n')]
  expect(new Set([...keys, classKey('quantum', null)]).size).toBe(4)
  expect(classKey('ai', 'm')).toBe(classKey('ai', 'm'))
})

interface Leased {
  readonly market: Market
  readonly provider: Provider
  readonly lease: Lease
  readonly events: MarketEvent[]
}

/** A provider in that status, with one live lease. `events` are those from here on. */
function leased(given: { readonly status?: ProviderStatus; readonly health?: number }): Leased {
  const { assign, a: provider, market, events } = new World()
  const lease = assign()
  events.length = 0
  const { status } = given
  if (status !== undefined) provider.standing = standingOf(status)
  return { market, provider: Object.assign(provider, given), lease, events }
}
