import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  anyContest,
  anyMarket,
  anySeed,
  CALLERS,
  IDLE_PROVIDER,
  jobNamed,
  PLAIN_JOB,
  providerNamed,
  type RealMarket,
  realMarket,
  realProvider,
  START,
  seedNamed,
} from '../../test/any-market.ts'
import { type PlainJob, PlainShares, plainUnits } from '../../test/plain-order.ts'
import {
  type PlainKindRound,
  type PlainMarket,
  type PlainProvider,
  plainRound,
} from '../../test/plain-round.ts'
import { addUnits, epochOf } from '../admit/quotas.ts'
import { type Caller, type JobId, type ProviderId, pairHash, type Seed } from '../encoding/ids.ts'
import type { KindName } from '../enqueue/kinds.ts'
import type { Job } from '../market/job.ts'
import { parsePolicy } from '../policy/policy.ts'
import type { Provider } from '../registry/provider.ts'
import { type KindRound, matchRound } from './match-round.ts'

/** `npm run test:long` takes more runs. */
const IS_LONG = Boolean(process.env['LONG_TESTS'])

const ZERO_SEED = `0x${'0'.repeat(64)}` as Seed

describe('against nested loops', () => {
  it('MATCH-1: a round is what the rules say, word for word', () => {
    fc.assert(
      fc.property(anyMarket(), (market) => {
        roundAsTheRulesSay(market)
      }),
      { numRuns: IS_LONG ? 3_000 : 1_000 },
    )
  })

  it('MATCH-8: contested ties end as the rules say, and so does what comes behind them', () => {
    fc.assert(
      fc.property(anyContest(), (market) => {
        roundAsTheRulesSay(market)
      }),
      { numRuns: IS_LONG ? 3_000 : 1_000 },
    )
  })

  it('MATCH-1: rounds go on from where the one before left off, through ends and retries', () => {
    fc.assert(
      fc.property(anyMarket({ jobs: 14, providers: 4 }), anyScript(), (market, script) => {
        const world = new World(market)
        for (const step of script) {
          world.pass(step.ms)
          for (const end of step.ends) world.endLease(end)
          for (const { nth, ms } of step.cooldowns) world.coolDown(nth, ms)
          world.round(step.seed)
        }
      }),
      { numRuns: IS_LONG ? 1_500 : 500 },
    )
  })

  it('MATCH-1: the result does not depend on the order in which jobs and providers came', () => {
    fc.assert(
      fc.property(anyMarket(), (market) => {
        const { jobs, providers } = market
        const turned = { ...market, jobs: jobs.toReversed(), providers: providers.toReversed() }
        const one = matchRound({ ...realMarket(market), ...terms(market) })
        const other = matchRound({ ...realMarket(turned), ...terms(turned) })
        expect(other.map(shownRound)).toEqual(one.map(shownRound))
      }),
      { numRuns: 300 },
    )
  })
})

describe('batches', () => {
  it('MATCH-2: jobs that nobody can take keep their place and fill none of the batch', () => {
    const lost = jobs(30, { model: 'nobody-has-it', fee: 9_000_000n })
    const market = marketWith({
      jobs: [...lost, job(99)],
      providers: [provider(0, { models: ['m1'] })],
    })
    const real = realMarket(market)
    const [round] = matchRound({ ...real, ...terms(market) })
    expect(round?.batch.jobs.map(({ id }) => id)).toEqual([jobNamed(99)])
    expect(pairsOf(round)).toEqual([[jobNamed(99), providerNamed(0)]])
    expect(real.queues.get('ai')?.peekBest(START)?.id).toBe(lost[0]?.id)
  })

  it('MATCH-2: what fits somebody at the start of the round fills the batch, assigned or not', () => {
    const market = marketWith({
      policy: { queue: { batch_size: 2 } },
      jobs: [job(1, { fee: 3n }), job(2, { fee: 2n }), job(3, { fee: 1n, model: 'm2' })],
      providers: [provider(0, { models: ['m1'], leasesMax: 1 }), provider(1, { models: ['m2'] })],
    })
    const [round] = matchRound({ ...realMarket(market), ...terms(market) })
    expect(round?.batch.jobs.map(({ id }) => id)).toEqual([jobNamed(1), jobNamed(2)])
    expect(pairsOf(round)).toEqual([[jobNamed(1), providerNamed(0)]])
  })

  it('MATCH-2: under fair shares no more jobs are looked at than there are free leases, if all get one', () => {
    const market = (leasesMax: number, jobs: readonly PlainJob[]) =>
      marketWith({
        policy: { match: { fairness: 'tenant' } },
        jobs,
        providers: [provider(0, { leasesMax, models: ['m1'] })],
      })
    const three = [1, 2, 3].map((n) => job(n, { model: 'm1' }))
    for (const leases of [0, 1, 2]) {
      const [round] = roundAsTheRulesSay(market(leases, three))
      expect(round?.batch.jobs.map(({ id }) => id)).toEqual([1, 2].slice(0, leases).map(jobNamed))
    }
    expect(roundAsTheRulesSay(market(5, three))[0]?.batch.jobs).toHaveLength(3)
  })

  it('MATCH-22: what one kind took is gone for the next, before its batch is made', () => {
    const market = marketWith({
      jobs: [job(1), job(2, { kind: 'task' })],
      providers: [provider(0, { leasesMax: 1 })],
    })
    const [ai, task] = matchRound({ ...realMarket(market), ...terms(market) })
    expect(pairsOf(ai)).toEqual([[jobNamed(1), providerNamed(0)]])
    expect(task?.kind).toBe('task')
    expect(task?.batch.jobs).toEqual([])
  })
})

describe('assignment', () => {
  it('MATCH-7: each job in turn goes to the first provider in shuffled order that fits it', () => {
    const [a, b, c, d] = [0, 1, 2, 3].map(providerNamed) as [ProviderId, ...ProviderId[]]
    const market = marketWith({
      seed: ZERO_SEED, // By the example of MATCH-5 the order is d, b, a, c.
      jobs: inTurn(job(9), job(8, { model: 'm2' }), job(7), job(6), job(5, { model: 'm2' })),
      providers: [
        provider(0, { models: ['m1'], leasesMax: 1 }),
        provider(1, { models: ['m1'], leasesMax: 1 }),
        provider(2),
        provider(3, { models: ['m2'], leasesMax: 1 }),
      ],
    })
    const [round] = matchRound({ ...realMarket(market), ...terms(market) })
    expect(round?.providerOrder(4).map(({ id }) => id)).toEqual([d, b, a, c])
    expect(pairsOf(round)).toEqual([
      [jobNamed(9), b], // d has not the model
      [jobNamed(8), d],
      [jobNamed(7), a], // b is full by now
      [jobNamed(6), c],
      [jobNamed(5), c], // d is full, and a and b have not the model
    ])
  })

  it('MATCH-7: the units of a job count as taken for all that follows in the round', () => {
    const [a, b] = [providerNamed(0), providerNamed(1)]
    const market = marketWith({
      policy: { queue: { quotas: { ai_units_per_epoch: 3 } } },
      jobs: inTurn(
        job(9, { maxTokens: 200 }),
        job(8, { maxTokens: 200 }),
        job(7),
        job(6, { maxTokens: 200 }),
        job(5),
      ),
      providers: [provider(0), provider(1)],
    })
    const [round] = matchRound({ ...realMarket(market), ...terms(market) })
    const [first, second] = (round?.providerOrder(2) ?? []).map(({ id }) => id)
    expect([first, second].sort()).toEqual([a, b])
    expect(pairsOf(round)).toEqual([
      [jobNamed(9), first], // 2 of its 3 units
      [jobNamed(8), second], // the first has 1 left, and this one takes 2
      [jobNamed(7), first], // exactly its last unit
      [jobNamed(5), second], // for 6 nobody has 2 units left
    ])
  })

  it('MATCH-7: an assignment counts in the window of its caller for all that follows', () => {
    const [one, other] = CALLERS as [Caller, Caller]
    const market = marketWith({
      policy: { queue: { quotas: { requester_window: { jobs: 2, secs: 10 } } } },
      jobs: inTurn(...[9, 8, 7].map((n) => job(n, { caller: one })), job(6, { caller: other })),
      providers: [provider(0), provider(1)],
    })
    const [round] = matchRound({ ...realMarket(market), ...terms(market) })
    expect(round?.batch.jobs).toHaveLength(4)
    expect(pairsOf(round).map(([id]) => id)).toEqual([9, 8, 6].map(jobNamed))
  })

  it('MATCH-21: a job that nobody fits any more stays queued, and nothing is charged', () => {
    const market = marketWith({
      jobs: [job(1, { enqueueTs: START - 2_000 }), job(2)],
      providers: [provider(0, { leasesMax: 1 })],
    })
    const real = realMarket(market)
    matchRound({ ...real, ...terms(market) })
    expect(real.queues.get('ai')?.state().grants).toBe(1)
    expect(real.queues.get('ai')?.size).toBe(1)
    expect(real.queues.get('ai')?.peekBest(START)?.id).toBe(jobNamed(2))
  })

  it('MATCH-8: whoever grinds a low job id gains nothing in a contested tie', () => {
    // Over many seeds the lower id wins about half of the time; by id it would win always.
    let lower = 0
    for (let n = 0; n < 200; n++) {
      const market = marketWith({
        seed: seedNamed(n),
        jobs: jobs(2, {}),
        providers: [provider(0, { leasesMax: 1 })],
      })
      const [round] = matchRound({ ...realMarket(market), ...terms(market) })
      expect(pairsOf(round)).toHaveLength(1)
      if (pairsOf(round)[0]?.[0] === jobNamed(0)) lower++
    }
    expect(lower).toBeGreaterThan(60)
    expect(lower).toBeLessThan(140)
  })

  it('MATCH-8: what was learnt of the providers while a tie was tried is forgotten with it', () => {
    // Tried in order of id, the jobs for m2 fill the first provider and one for m1 the second, which
    // is then seen to be full. Contested, the first may take both for m1 and leave the second free.
    let free = 0
    for (let n = 0; n < 200; n++) {
      const market = marketWith({
        seed: seedNamed(n),
        jobs: [
          ...[1, 2].map((id) => job(id, { model: 'm2', fee: 1_000_000n })),
          ...[3, 4].map((id) => job(id, { model: 'm1', fee: 1_000_000n })),
          job(5, { model: 'm1' }),
        ],
        providers: [
          provider(0, { models: ['m1', 'm2'], leasesMax: 2 }),
          provider(1, { models: ['m1'], leasesMax: 1 }),
        ],
      })
      if (pairsOf(roundAsTheRulesSay(market)[0]).some(([id]) => id === jobNamed(5))) free++
    }
    expect(free).toBeGreaterThan(0)
  })

  it('MATCH-8: a tie that all fit is not contested: it goes in order of id', () => {
    const market = marketWith({ jobs: jobs(3, {}), providers: [provider(0, { leasesMax: 3 })] })
    const [round] = matchRound({ ...realMarket(market), ...terms(market) })
    expect(round?.assignments.map(({ job }) => job.id)).toEqual([0, 1, 2].map(jobNamed))
  })

  it('MATCH-11: a starvation pick is in no tie, and ends one', () => {
    // Places 0, 1, 2 of equal jobs, place 1 a pick: each stands alone, so the id decides.
    for (let n = 0; n < 20; n++) {
      const market = marketWith({
        seed: seedNamed(n),
        policy: { queue: { starvation_k: 2 } },
        jobs: jobs(3, {}),
        providers: [provider(0, { leasesMax: 2 })],
      })
      const [round] = matchRound({ ...realMarket(market), ...terms(market) })
      expect([...(round?.batch.picks ?? [])]).toEqual([jobNamed(1)])
      expect(round?.assignments.map(({ job }) => job.id)).toEqual([0, 1].map(jobNamed))
    }
  })

  it('MATCH-10: rotate goes round the providers; first-fit fills one after the other', () => {
    const spread = (order: string) => {
      const market = marketWith({
        policy: { match: { order } },
        jobs: jobs(6, {}).map((one, i) => ({ ...one, fee: BigInt(9 - i) * 100_000n })),
        providers: [provider(0), provider(1), provider(2)],
      })
      const [round] = matchRound({ ...realMarket(market), ...terms(market) })
      const ranks = round?.providerOrder(3).map(({ id }) => id) ?? []
      return round?.assignments.map((made) => ranks.indexOf(made.provider.id))
    }
    expect(spread('first-fit')).toEqual([0, 0, 0, 0, 0, 0])
    expect(spread('rotate')).toEqual([0, 1, 2, 0, 1, 2])
  })

  it('MATCH-9: score asks the highest stake·health first, exactly, beyond 2^53 too', () => {
    const stake = 2n ** 53n
    for (const [low, high] of [
      [
        { stake, health: 1_000 },
        { stake: stake + 1n, health: 1_000 },
      ],
      [
        { stake: 1_000n, health: 999 },
        { stake: 1_000n, health: 1_000 },
      ],
    ] as const) {
      const market = marketWith({
        policy: { match: { order: 'score' } },
        jobs: [job(1)],
        providers: [provider(0, low), provider(1, high)],
      })
      const [round] = matchRound({ ...realMarket(market), ...terms(market) })
      expect(pairsOf(round)).toEqual([[jobNamed(1), providerNamed(1)]])
    }
  })

  it('MATCH-20: in a contested tie under score, equal providers act as one', () => {
    // Four equal jobs, and one slot each at a and b, which are equal, and at c, which is lower.
    const firstTakers = new Set<ProviderId>()
    for (let n = 0; n < 40; n++) {
      const seed = seedNamed(n)
      const market = marketWith({
        seed,
        policy: { match: { order: 'score' } },
        jobs: jobs(4, {}),
        providers: [
          provider(0, { stake: 1_000n, health: 800, leasesMax: 1 }),
          provider(1, { stake: 800n, health: 1_000, leasesMax: 1 }),
          provider(2, { stake: 799n, health: 1_000, leasesMax: 1 }),
        ],
      })
      const all = pairsByHash(seed, 4, 3)
      const [a, b, c] = [0, 1, 2].map(providerNamed)
      const upper = all.filter(({ by }) => by === a || by === b)
      const first = upper[0]
      const second = upper.find(({ id, by }) => id !== first?.id && by !== first?.by)
      const third = all.find(({ id, by }) => by === c && id !== first?.id && id !== second?.id)
      const [round] = matchRound({ ...realMarket(market), ...terms(market) })
      expect(pairsOf(round)).toEqual([first, second, third].map((pair) => [pair?.id, pair?.by]))
      if (first !== undefined) firstTakers.add(first.by)
    }
    expect(firstTakers.size).toBe(2)
  })

  it('MATCH-20: a group goes on until no pair of it fits, before the next one is asked', () => {
    const market = marketWith({
      policy: { match: { order: 'score' } },
      jobs: jobs(5, {}),
      providers: [
        provider(0, { stake: 900n, leasesMax: 3 }),
        provider(1, { stake: 1_000n, leasesMax: 1 }),
      ],
    })
    const [round] = matchRound({ ...realMarket(market), ...terms(market) })
    expect(pairsOf(round).map(([, by]) => by)).toEqual([1, 0, 0, 0].map(providerNamed))
    const hashes = pairsOf(round).map(([id, by]) => pairHash(id, by, market.seed))
    expect(hashes.slice(1)).toEqual(hashes.slice(1).sort())
  })

  it('FAIR-6: under fair shares the total order decides within a caller: no picks, no ties', () => {
    // By score with k = 1 every place would be a pick, and with a larger k the two would be a tie.
    for (let n = 0; n < 20; n++) {
      const market = marketWith({
        seed: seedNamed(n),
        policy: { match: { fairness: 'tenant' }, queue: { starvation_k: 1 + (n % 2) * 19 } },
        jobs: [
          job(1, { enqueueTs: START - 9_000 }),
          job(2, { fee: 5_000_000n }),
          job(3, { fee: 5_000_000n }),
        ],
        providers: [provider(0, { leasesMax: 1 })],
      })
      const [round] = matchRound({ ...realMarket(market), ...terms(market) })
      expect(round?.batch.jobs.map(({ id }) => id)).toEqual([jobNamed(2)])
      expect(round?.batch.picks.size).toBe(0)
      expect(pairsOf(round)).toEqual([[jobNamed(2), providerNamed(0)]])
    }
  })
})

describe('limits', () => {
  it('MATCH-17: nobody ends up over its leases, its units or its window', () => {
    fc.assert(
      fc.property(anyMarket({ jobs: 20, providers: 4 }), (market) => {
        const made = matchRound({ ...realMarket(market), ...terms(market) }).flatMap(
          ({ assignments }) => assignments,
        )
        const { quotas } = market.policy.queue
        const epoch = epochOf(market.now, market.policy)
        for (const p of market.providers) {
          const own = made.filter((a) => a.provider.id === p.id)
          if (own.length === 0) continue
          const cap = Math.min(p.leasesMax ?? Infinity, quotas.leasesMaxPerProvider)
          expect(p.leases + own.length).toBeLessThanOrEqual(cap)
          const ai = own.filter((a) => a.job.shape.kind === 'ai').map((a) => a.job.units)
          if (ai.length > 0) {
            const used = ai.reduce((sum, n) => sum + n, p.units[`ai@${epoch}`] ?? 0)
            expect(used).toBeLessThanOrEqual(quotas.aiUnitsPerEpoch ?? Infinity)
          }
        }
        const window = quotas.requesterWindow
        if (window === null) return
        for (const caller of CALLERS) {
          const own = made.filter((a) => a.job.caller === caller).length
          const recent = market.recent[caller] ?? []
          const before = recent.filter((t) => market.now - t < 1_000 * window.secs).length
          if (own > 0) expect(before + own).toBeLessThanOrEqual(window.jobs)
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe('cost', () => {
  it.each(['first-fit', 'rotate'])(
    'MATCH-6: %s over alike jobs asks each provider a few times, not each for each job',
    (order) => {
      const queue = { batch_size: 2_000, quotas: { leases_max_per_provider: 1 } }
      const market = marketWith({
        policy: { queue, match: { order } },
        jobs: jobs(2_000, {}).map((one, i) => ({ ...one, enqueueSeq: i })),
        providers: [],
      })
      const real = realMarket(market)
      let looks = 0
      for (let n = 0; n < 9_000; n++) {
        // A third is full and a third takes other models: a product would be 12 million questions.
        const given = [{}, { leases: 1 }, { models: ['m2'] }][n % 3] as Partial<PlainProvider>
        real.pool.add(watched(n, given, () => looks++))
      }
      real.pool.passing('ai', START)
      looks = 0
      const [round] = matchRound({ ...real, ...terms(market) })
      expect(round?.assignments).toHaveLength(2_000)
      expect(looks).toBeLessThan(10 * (2_000 + 9_000))
    },
  )

  it('MATCH-6: a round that is done after few providers has looked at few of 10,000', () => {
    const some = jobs(20, {}).map((one, i) => ({ ...one, enqueueSeq: i }))
    const market = marketWith({ jobs: some, providers: [] })
    const real = realMarket(market)
    const seen = new Set<number>()
    for (let n = 0; n < 10_000; n++) real.pool.add(watched(n, {}, () => seen.add(n)))
    real.pool.passing('ai', START)
    seen.clear()
    const [round] = matchRound({ ...real, ...terms(market) })
    expect(round?.assignments).toHaveLength(20)
    expect(seen.size).toBeLessThan(10)
    expect(seen.size).toBeGreaterThan(0)
  })
})

/** A real market and its plain twin, moved together and compared after every round. */
class World {
  #plain: PlainMarket
  readonly #real: RealMarket
  readonly #held: { job: PlainJob; provider: ProviderId; epoch: number }[] = []

  constructor(market: PlainMarket) {
    const shares = { ai: new PlainShares(), quantum: new PlainShares(), task: new PlainShares() }
    this.#plain = { ...market, shares }
    this.#real = realMarket(market)
  }

  pass(ms: number): void {
    this.#plain = { ...this.#plain, now: this.#plain.now + ms }
  }

  round(seed: Seed): void {
    this.#plain = { ...this.#plain, seed }
    const want = plainRound(this.#plain)
    const got = matchRound({ ...this.#real, ...terms(this.#plain) })
    expect(got.map(shownRound)).toEqual(want.map(shownPlain))
    for (const round of want) this.#commit(round)
    for (const [kind, queue] of this.#real.queues) {
      const { grants, fair } = queue.state()
      expect(grants).toBe(this.#plain.grants[kind])
      expect(fair).toEqual(this.#plain.shares[kind]?.state())
      expect(queue.size).toBe(this.#plain.jobs.filter((one) => one.kind === kind).length)
    }
  }

  #commit({ kind, assignments }: PlainKindRound): void {
    const { now, policy, grants } = this.#plain
    this.#plain = {
      ...this.#plain,
      grants: { ...grants, [kind]: (grants[kind] ?? 0) + assignments.length },
    }
    const epoch = epochOf(now, policy)
    for (const { job, provider } of assignments) {
      const { recent, jobs } = this.#plain
      this.#plain = {
        ...this.#plain,
        jobs: jobs.filter((one) => one !== job),
        recent: { ...recent, [job.caller]: [...(recent[job.caller] ?? []), now] },
      }
      if (policy.match.fairness === 'tenant') this.#plain.shares[kind]?.book(job, policy)
      this.#load(provider.id, kind, epoch, 1, plainUnits(job))
      this.#real.windows.record(job.caller, now, policy)
      this.#held.push({ job, provider: provider.id, epoch })
    }
  }

  /** A lease ends without completion: its job waits again, at times not for the same provider. */
  endLease({ nth, delayMs, denyMs }: AnyEnd): void {
    const held = this.#held.splice(nth % Math.max(1, this.#held.length), 1)[0]
    if (held === undefined) return
    const { now, policy } = this.#plain
    const { job, provider, epoch } = held
    this.#load(provider, job.kind, epoch, -1, -plainUnits(job))
    const notBefore = delayMs === null ? null : now + delayMs
    const denials = denyMs === null ? job.denials : { ...job.denials, [provider]: now + denyMs }
    this.#plain = { ...this.#plain, jobs: [...this.#plain.jobs, { ...job, notBefore, denials }] }
    if (policy.match.fairness === 'tenant') this.#plain.shares[job.kind]?.settle(job, 0, policy)

    const real = this.#real.jobs.get(job.id) as Job
    const queue = this.#real.queues.get(job.kind)
    queue?.bookActualUnits(real, 0)
    real.notBefore = notBefore
    real.denials = new Map(Object.entries(denials) as [ProviderId, number][])
    queue?.push(real)
  }

  coolDown(nth: number, ms: number): void {
    const { now, providers } = this.#plain
    const chosen = providers[nth % Math.max(1, providers.length)]
    if (chosen === undefined) return
    this.#change(chosen.id, { cooldownUntil: now + ms })
    const real = this.#provider(chosen.id)
    real.cooldownUntil = now + ms
    this.#real.pool.touch(real, now)
  }

  #load(id: ProviderId, kind: KindName, epoch: number, leases: number, units: number): void {
    const key = `${kind}@${epoch}`
    const plain = this.#plain.providers.find((p) => p.id === id)
    const used = (plain?.units[key] ?? 0) + units
    this.#change(id, {
      leases: (plain?.leases ?? 0) + leases,
      units: { ...plain?.units, [key]: used },
    })
    this.#provider(id).liveLeases += leases
    addUnits(this.#provider(id), kind, epoch, units)
  }

  #change(id: ProviderId, change: Partial<PlainProvider>): void {
    const providers = this.#plain.providers.map((p) => (p.id === id ? { ...p, ...change } : p))
    this.#plain = { ...this.#plain, providers }
  }

  #provider(id: ProviderId): Provider {
    return this.#real.pool.get(id) as Provider
  }
}

interface AnyEnd {
  readonly nth: number
  readonly delayMs: number | null
  readonly denyMs: number | null
}

function anyScript() {
  const ends = fc.record({
    nth: fc.nat({ max: 20 }),
    delayMs: fc.constantFrom(null, null, 0, 1, 1_000),
    denyMs: fc.constantFrom(null, null, 500, 1_000),
  })
  const cooldowns = fc.record({ nth: fc.nat({ max: 5 }), ms: fc.constantFrom(1, 700) })
  return fc.array(
    fc.record({
      ms: fc.constantFrom(0, 1, 499, 500, 1_000, 2_500),
      ends: fc.array(ends, { maxLength: 4 }),
      cooldowns: fc.oneof(
        { weight: 4, arbitrary: fc.constant([]) },
        fc.array(cooldowns, { maxLength: 1 }),
      ),
      seed: anySeed(),
    }),
    { minLength: 2, maxLength: 5 },
  )
}

/** A round, after it was compared with what the plain reading of the rules gives. */
function roundAsTheRulesSay(market: PlainMarket): KindRound[] {
  const rounds = matchRound({ ...realMarket(market), ...terms(market) })
  expect(rounds.map(shownRound)).toEqual(plainRound(market).map(shownPlain))
  return rounds
}

function terms({ now, seed, policy }: PlainMarket) {
  return { nowMs: now, seed, policy }
}

function shownRound({ kind, batch, assignments, providerOrder }: KindRound) {
  const pairs = assignments.map(({ job, provider }) => [job.id, provider.id] as const)
  return {
    kind,
    batch: decided(
      batch.jobs.map(({ id }) => id),
      pairs,
    ),
    picks: [...batch.picks].sort(),
    order: providerOrder(1_000).map(({ id }) => id),
    pairs,
  }
}

function shownPlain({ kind, batch, picks, order, assignments }: PlainKindRound) {
  const pairs = assignments.map(({ job, provider }) => [job.id, provider.id] as const)
  return { kind, batch: decided(batch, pairs), picks: [...picks].sort(), order, pairs }
}

/** Where the first jobs of a batch got all that there was, those behind them need not be in it (MATCH-2). */
function decided(batch: readonly JobId[], pairs: readonly (readonly [JobId, ProviderId])[]) {
  const isPrefix = pairs.every(([id], i) => id === batch[i])
  return isPrefix ? batch.slice(0, pairs.length) : batch
}

function pairsOf(round: KindRound | undefined): [JobId, ProviderId][] {
  return (round?.assignments ?? []).map(({ job, provider }) => [job.id, provider.id])
}

function marketWith(given: {
  readonly policy?: object
  readonly seed?: Seed
  readonly jobs: readonly PlainJob[]
  readonly providers: readonly PlainProvider[]
}): PlainMarket {
  const min_stake = { ai: 0, quantum: 0, task: 0 }
  return {
    now: START,
    seed: given.seed ?? seedNamed(1),
    policy: parsePolicy({ registry: { min_stake }, ...given.policy }, 'fund'),
    jobs: given.jobs,
    providers: given.providers,
    grants: {},
    shares: {},
    recent: {},
  }
}

function job(n: number, given: Partial<PlainJob> = {}): PlainJob {
  return { ...PLAIN_JOB, id: jobNamed(n), ...given }
}

function jobs(count: number, given: Partial<PlainJob>): PlainJob[] {
  return Array.from({ length: count }, (_, n) => job(n, given))
}

/** The same jobs with falling fees, so that they are taken in the order in which they stand. */
function inTurn(...some: readonly PlainJob[]): PlainJob[] {
  return some.map((one, i) => ({ ...one, fee: BigInt(some.length - i) * 1_000_000n }))
}

/** All pairs of so many jobs and providers, the lowest pair hash first. */
function pairsByHash(seed: Seed, jobCount: number, providerCount: number) {
  const pairs = jobs(jobCount, {}).flatMap(({ id }) =>
    Array.from({ length: providerCount }, (_, n) => {
      const by = providerNamed(n)
      return { id, by, hash: pairHash(id, by, seed) }
    }),
  )
  return pairs.sort((x, y) => (x.hash < y.hash ? -1 : 1))
}

function provider(n: number, given: Partial<PlainProvider> = {}): PlainProvider {
  return { ...IDLE_PROVIDER, id: providerNamed(n), ...given }
}

/** A provider that tells each time that its offer is looked at, which every question does. */
function watched(n: number, given: Partial<PlainProvider>, tell: () => void): Provider {
  const real = realProvider(provider(0, { id: `provider:${n}` as ProviderId, ...given }))
  const { offer } = real
  return Object.defineProperty(real, 'offer', {
    get: () => {
      tell()
      return offer
    },
  })
}
