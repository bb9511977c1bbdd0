import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  anyPolicy,
  anyProvider,
  IDLE_PROVIDER,
  providerNamed,
  realProvider,
  START,
} from '../../test/any-market.ts'
import { type PlainProvider, providerFault } from '../../test/plain-round.ts'
import type { ProviderId } from '../encoding/ids.ts'
import type { KindName } from '../enqueue/kinds.ts'
import { type Policy, parsePolicy } from '../policy/policy.ts'
import type { Provider } from '../registry/provider.ts'
import { ProviderPool } from './provider-pool.ts'

const KINDS: readonly KindName[] = ['ai', 'quantum', 'task', 'registration']

type Act =
  | { readonly act: 'pass'; readonly ms: number }
  | { readonly act: 'add'; readonly nth: number; readonly provider: Omit<PlainProvider, 'id'> }
  | { readonly act: 'change'; readonly nth: number; readonly change: Change }
  | { readonly act: 'policy'; readonly policy: Policy }

/** What may change in a provider that is there, with times relative to now. */
type Change =
  | Pick<PlainProvider, 'status'>
  | Pick<PlainProvider, 'stake'>
  | Pick<PlainProvider, 'health'>
  | { readonly heartbeat: true }
  | { readonly coolMs: number | null }
  | { readonly attested: readonly [number, number] | null }

describe('ProviderPool', () => {
  it('MATCH-12: after any changes and times the list is that of a fresh look at everybody', () => {
    fc.assert(
      fc.property(
        anyPolicy(),
        fc.array(anyAct(), { minLength: 5, maxLength: 50, size: 'max' }),
        fc.array(fc.boolean(), { minLength: 50, maxLength: 50 }),
        (policy, acts, looks) => {
          const world = new World(policy)
          for (const [n, act] of acts.entries()) {
            world.play(act)
            // Not after every step: a list that was made long ago must notice too.
            if (looks[n] === true) world.check()
          }
          world.check()
        },
      ),
      { numRuns: 700 },
    )
  })

  it('MATCH-13: the list changes at the very millisecond, by the mere passing of time', () => {
    const policy = parsePolicy({ registry: { min_stake: { ai: 0 } } }, 'fund')
    const pool = new ProviderPool(policy)
    const silent = someProvider(0, { lastHeartbeat: START })
    const cooling = someProvider(1, { lastHeartbeat: START + 500_000, cooldownUntil: START + 50 })
    pool.add(silent)
    pool.add(cooling)
    const passing = (ms: number) => pool.passing('ai', START + ms).map(({ id }) => id)
    expect(passing(0)).toEqual([silent.id])
    expect(passing(49)).toEqual([silent.id])
    expect(passing(50)).toEqual([silent.id, cooling.id])
    expect(passing(180_000)).toEqual([silent.id, cooling.id])
    expect(passing(180_001)).toEqual([cooling.id])
  })

  it('MATCH-6: while nothing changes, the list is not made anew', () => {
    const pool = new ProviderPool(parsePolicy({ registry: { min_stake: { ai: 0 } } }, 'fund'))
    const one = someProvider(0, { lastHeartbeat: START })
    pool.add(one)
    const list = pool.passing('ai', START)
    one.lastHeartbeat = START + 1_000
    pool.touch(one, START + 1_000)
    expect(pool.passing('ai', START + 1_000)).toBe(list)
  })

  it('MATCH-5: all providers stand in the order of the bytes of their ids', () => {
    const pool = new ProviderPool(parsePolicy({}, 'fund'))
    const names = ['b', 'a', 'a.', 'a-', 'a_', 'a0', 'aa', '10', '9']
    for (const name of names) {
      pool.add({ ...someProvider(0, {}), id: `provider:${name}` as ProviderId })
    }
    const bytes = names.map((name) => Buffer.from(`provider:${name}`)).sort(Buffer.compare)
    expect(pool.all().map(({ id }) => id)).toEqual(bytes.map(String))
  })
})

class World {
  #now = START
  #policy: Policy
  readonly #pool: ProviderPool
  readonly #plain = new Map<ProviderId, PlainProvider>()

  constructor(policy: Policy) {
    this.#policy = policy
    this.#pool = new ProviderPool(policy)
  }

  play(act: Act): void {
    if (act.act === 'pass') this.#now += act.ms
    else if (act.act === 'policy') {
      this.#policy = act.policy
      this.#pool.setPolicy(act.policy)
    } else if (act.act === 'add') {
      const plain = { ...act.provider, id: providerNamed(act.nth) }
      if (this.#plain.has(plain.id)) return
      this.#plain.set(plain.id, plain)
      this.#pool.add(realProvider(plain))
    } else this.#change(providerNamed(act.nth), act.change)
  }

  check(): void {
    const all = [...this.#plain.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
    const terms = { now: this.#now, policy: this.#policy }
    expect(this.#pool.size).toBe(all.length)
    expect(this.#pool.all().map(({ id }) => id)).toEqual(all.map(({ id }) => id))
    for (const kind of KINDS) {
      const fresh = all.filter((p) => providerFault(p, kind, terms) === null)
      const got = this.#pool.passing(kind, this.#now).map(({ id }) => id)
      expect(got).toEqual(fresh.map(({ id }) => id))
    }
    for (const model of ['m1', 'm2', 'm3']) {
      const offers = all.some(
        (p) =>
          p.capabilities.includes('ai') && (p.models.includes(model) || p.models.includes('*')),
      )
      expect(this.#pool.isOffered('ai', model)).toBe(offers)
    }
    const quantum = all.some((p) => p.capabilities.includes('quantum'))
    expect(this.#pool.isOffered('quantum', null)).toBe(quantum)
    const lists = all.some((p) => p.allow !== null || p.deny.length > 0)
    expect(this.#pool.listsCallers).toBe(lists)
  }

  #change(id: ProviderId, change: Change): void {
    const plain = this.#plain.get(id)
    const real = this.#pool.get(id)
    if (plain === undefined || real === undefined) return
    const now = this.#now
    const fields: Partial<PlainProvider> =
      'heartbeat' in change
        ? { lastHeartbeat: now }
        : 'coolMs' in change
          ? { cooldownUntil: change.coolMs === null ? null : now + change.coolMs }
          : 'attested' in change
            ? { attestation: attested(change.attested, now) }
            : change
    this.#plain.set(id, { ...plain, ...fields })
    Object.assign(real, fields)
    this.#pool.touch(real, now)
  }
}

function attested(span: readonly [number, number] | null, now: number) {
  return span && { notBefore: now + span[0], notAfter: now + span[1] }
}

function anyAct(): fc.Arbitrary<Act> {
  const nth = fc.nat({ max: 5 })
  const change = fc.oneof(
    fc.record({ status: fc.constantFrom('ACTIVE', 'ACTIVE', 'JAILED', 'SUSPENDED') }),
    fc.record({ stake: fc.constantFrom(300n, 99n, 100n, 0n) }),
    fc.record({ health: fc.constantFrom(1_000, 600, 599, 0) }),
    fc.record({ heartbeat: fc.constant(true) }),
    fc.record({ heartbeat: fc.constant(true) }),
    fc.record({ coolMs: fc.constantFrom(null, 1, 500, 2_500) }),
    fc.record({ attested: fc.constantFrom(null, [-5, 1], [0, 700], [300, 900], [-9, 9_000]) }),
  )
  return fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        act: fc.constant('pass'),
        ms: fc.constantFrom(0, 1, 199, 500, 999, 1_000, 2_000, 2_001),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ act: fc.constant('add'), nth, provider: anyProvider(START) }),
    },
    { weight: 8, arbitrary: fc.record({ act: fc.constant('change'), nth, change }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('policy'), policy: anyPolicy() }) },
  ) as fc.Arbitrary<Act>
}

function someProvider(n: number, given: Partial<PlainProvider>): Provider {
  return realProvider({ ...IDLE_PROVIDER, id: providerNamed(n), capabilities: ['ai'], ...given })
}
