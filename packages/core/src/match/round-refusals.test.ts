import { test } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { anyContest, anyMarket, callerNamed, realMarket, seedNamed } from '../../test/any-market.ts'
import { type PlainMarket, plainRefusal, plainRound } from '../../test/plain-round.ts'
import { World } from '../../test/world.ts'
import { addUnits, epochOf } from '../admit/quotas.ts'
import { aiDemand } from '../enqueue/kinds.ts'
import type { Job } from '../market/job.ts'
import { dispatchRound } from './dispatch-round.ts'
import { matchRound } from './match-round.ts'
import { roundRefusals } from './round-refusals.ts'

describe('what a round keeps of its refusals', () => {
  it('EXPLAIN-3: who was full before it, and who filled up in it', () => {
    const world = new World({ queue: { quotas: { leases_max_per_provider: 2 } } })
    world.assign({ provider: world.c })
    const jobs = [1, 2, 3].map((enqueueSeq) => world.enqueue({ enqueueSeq }))
    const { lists, listOf } = refusalsAfter(world)
    expect(jobs.map(({ status }) => status)).toEqual(['ASSIGNED', 'ASSIGNED', 'ASSIGNED'])
    const [full] = [world.a, world.b].filter(({ liveLeases }) => liveLeases === 2)
    const reasons = [full?.id, world.c.id].map((id) => [id, 'lease_cap_reached'])
    expect(listOf).toEqual([0, 0, 0])
    expect(lists).toHaveLength(1)
    expect(Object.fromEntries(lists[0] ?? [])).toEqual(Object.fromEntries(reasons))
  })

  it('EXPLAIN-3: a check that failed before the round counts, though a cap was reached in it', () => {
    const world = new World()
    const { a, b, c } = world
    a.status = 'JAILED'
    world.market.pool.setOffer(b, { ...b.offer, models: new Set(['x']) })
    world.decline(world.run({ provider: c, job: world.enqueue({ demand: aiDemand('x', 100) }) }))
    const other = world.enqueue({ demand: aiDemand('y', 100) })
    const { lists, listOf, made } = refusalsAfter(world)
    // The other job took its only slot, but it would not have had this one anyway.
    expect(c.liveLeases).toBe(1)
    const own = listOf[made.findIndex((job) => job !== other)] as number
    expect(lists[own]).toEqual([[c.id, 'class_cooling_down']])
  })

  it('EXPLAIN-3: one list for jobs of one demand and size; a job with denials has its own', () => {
    const world = new World()
    const given = [
      {},
      { caller: callerNamed(3) },
      { demand: aiDemand('m', 200) },
      { demand: aiDemand('n', 100) },
      { tier: 'PRO' },
      {},
    ]
    const jobs = given.map((one, i) => world.enqueue({ fee: BigInt(100 - i) * 1_000n, ...one }))
    const [, , , , , denied] = jobs as [Job, Job, Job, Job, Job, Job]
    denied.denials = new Map([[world.a.id, 60_000]])
    const { lists, listOf, made } = refusalsAfter(world)
    const numbers = new Map(made.map((job, i) => [job, listOf[i]]))
    const [one, two, larger, other, third, own] = jobs.map((job) => numbers.get(job))
    expect([two, third]).toEqual([one, one])
    expect(new Set([one, larger, other, own]).size).toBe(4)
    expect(lists[own as number]).toContainEqual([world.a.id, 'denied_for_job'])
    expect(lists[one as number]).not.toContainEqual([world.a.id, 'denied_for_job'])
  })

  it('EXPLAIN-3: callers have lists of their own only where a provider keeps a list of them', () => {
    const world = new World()
    const [one, two] = [callerNamed(3), callerNamed(4)]
    const setup = () => [one, two].map((caller) => world.enqueue({ caller }))
    setup()
    expect(refusalsAfter(world).listOf).toEqual([0, 0])
    const { pool } = world.market
    pool.setOffer(world.a, { ...world.a.offer, deny: new Set([one]) })
    setup()
    const { lists, made, listOf } = refusalsAfter(world)
    const listOfOne = lists[listOf[made.findIndex(({ caller }) => caller === one)] as number]
    expect(new Set(listOf).size).toBe(2)
    expect(listOfOne).toContainEqual([world.a.id, 'requester_denied'])
  })

  it('EXPLAIN-3: eight lists are kept, jobs of further demands refer to none', () => {
    const world = new World()
    for (let n = 0; n < 10; n++) world.enqueue({ demand: aiDemand(`m${n}`, 100), enqueueSeq: n })
    const { lists, listOf } = refusalsAfter(world)
    expect(lists).toHaveLength(8)
    expect(listOf).toEqual([0, 1, 2, 3, 4, 5, 6, 7, null, null])
  })

  it('EXPLAIN-3: the window of a caller that is full by now refused none of those assigned', () => {
    const window = { requester_window: { jobs: 1, secs: 10 } }
    const world = new World({ queue: { quotas: window } })
    world.enqueue()
    expect(
      refusalsAfter(world)
        .lists.flat()
        .map(([, refusal]) => refusal),
    ).not.toContain('requester_rate_limited')
  })
})

describe('whoever did not fit a job when it was assigned', () => {
  test.prop([anyMarket()])('EXPLAIN-3: is in its list, with a check that failed then', refusedThen)
  test.prop([anyContest()])('EXPLAIN-3: in a contested tie too', refusedThen)
})

/** Asks every provider for every assigned job, as things stood right before its assignment. */
function refusedThen(plain: PlainMarket): void {
  const real = realMarket(plain)
  const { now: nowMs, policy, seed } = plain
  const rounds = matchRound({ ...real, nowMs, policy, seed })
  for (const { kind, assignments } of rounds) {
    for (const { job, provider } of assignments) {
      provider.liveLeases++
      addUnits(provider, kind, epochOf(nowMs, policy), job.units)
    }
  }
  const taken: ReturnType<typeof plainRound>[number]['assignments'][number][] = []
  for (const [k, { assignments }] of plainRound(plain).entries()) {
    const round = rounds[k]
    if (round === undefined) throw new Error('the plain round has as many kinds')
    const asked = round.providerOrder(1_000)
    const { lists, listOf } = roundRefusals({ ...real, nowMs, policy }, round, rounds, asked)
    for (const [i, { job, provider }] of assignments.entries()) {
      const list = listOf[i]
      if (list !== null) {
        const reasons = new Map(lists[list as number])
        for (const { id } of asked) {
          const one = plain.providers.find((p) => p.id === id)
          if (one === undefined || id === provider.id) continue
          const then = plainRefusal(one, job, plain, taken)
          const before = plainRefusal(one, job, plain, [])
          if (then !== null) expect(reasons.has(id)).toBe(true)
          if (then !== null && before !== null) expect(reasons.get(id)).toBe(before)
        }
      }
      taken.push({ job, provider })
    }
  }
}

function refusalsAfter({ market }: World) {
  const { rounds } = dispatchRound(market, seedNamed(99))
  const [round] = rounds
  if (round === undefined) throw new Error('nothing waited')
  const made = round.assignments.map(({ job }) => job)
  return { made, ...roundRefusals(market, round, rounds, round.providerOrder(20)) }
}
