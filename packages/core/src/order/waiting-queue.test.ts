import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { callerNamed, jobNamed, realJob } from '../../test/any-market.ts'
import {
  isReady,
  type PlainBatch,
  type PlainJob,
  PlainShares,
  plainCost,
  plainScoreBatch,
  plainShareBatch,
  plainUnits,
  readyTs,
  sortedByScore,
  sortedByWait,
} from '../../test/plain-order.ts'
import type { Caller, JobId } from '../encoding/ids.ts'
import { enqueueJob } from '../enqueue/enqueue-job.ts'
import { aiDemand } from '../enqueue/kinds.ts'
import type { Job } from '../market/job.ts'
import { openMarket } from '../market/market.ts'
import { type Policy, parsePolicy } from '../policy/policy.ts'
import type { QueuedJob } from './queued-job.ts'
import { type Verdict, WaitingQueue } from './waiting-queue.ts'

/** `npm run test:long` takes more runs. */
const IS_LONG = Boolean(process.env['LONG_TESTS'])

const START = 1_760_000_000_500

describe('by score', () => {
  it('ORDER-4: the queue gives the order of a full sort, at any time, whatever happened before', () => {
    fc.assert(
      fc.property(anyStart(), anyPolicy('score'), anyActs('score'), (start, policy, acts) => {
        play(new World(start, policy), acts)
      }),
      { numRuns: IS_LONG ? 1_000 : 400 },
    )
  })

  it('ORDER-4: a long queue drains in the order of a full sort', () => {
    fc.assert(
      fc.property(
        anyPolicy('score'),
        fc.array(anyNewJob(), { minLength: 60, maxLength: 120, size: 'max' }),
        fc.array(anyStep(), { minLength: 1, maxLength: 4 }),
        (policy, jobs, steps) => {
          const world = new World(START, policy)
          for (const job of jobs) world.push(job)
          for (const ms of steps) {
            world.pass(ms)
            for (let n = 0; n < 10; n++) world.popBest()
          }
          world.drain()
        },
      ),
      { numRuns: 100 },
    )
  })

  it('ORDER-4: a young job passes an old one only when the old one is beyond the age horizon', () => {
    const world = new World(START, policyWith({ priority: { age_horizon_secs: 10 } }))
    const old = world.push({ ...PLAIN, fee: 0n, waitedMs: 8_000 })
    const young = world.push({ ...PLAIN, fee: 500_000n, waitedMs: 0 })
    // The fee term of 333,333 is worth 183,333,150 of static score, or 7 seconds and a third. The
    // old one is 8 seconds ahead until it is 10 seconds old, and after one more it is passed.
    expect(world.queue.peekBest(START + 2_000)?.id).toBe(old)
    expect(world.queue.peekBest(START + 2_499)?.id).toBe(old)
    expect(world.queue.peekBest(START + 2_500)?.id).toBe(young)
  })

  it('ORDER-3: of equal scores the earlier timestamp, then the lower number, then the lower id goes first', () => {
    const world = new World(START, policyWith({ match: { ties: 'arrival' } }))
    const last = world.push({ ...PLAIN, waitedMs: 100, seq: 2, id: 1 })
    const third = world.push({ ...PLAIN, waitedMs: 100, seq: 1, id: 9 })
    const second = world.push({ ...PLAIN, waitedMs: 100, seq: 1, id: 8 })
    const first = world.push({ ...PLAIN, waitedMs: 101, seq: 3, id: 7 })
    const order = [0, 1, 2, 3].map(() => world.queue.popBest(START)?.id)
    expect(order).toEqual([first, second, third, last])
  })

  it('ORDER-3: where the pair hash decides ties, the number of acceptance does not count', () => {
    const world = new World(START, policyWith({ match: { ties: 'pair_hash' } }))
    const second = world.push({ ...PLAIN, waitedMs: 100, seq: 2, id: 1 })
    const third = world.push({ ...PLAIN, waitedMs: 100, seq: 1, id: 9 })
    const first = world.push({ ...PLAIN, waitedMs: 101, seq: 3, id: 7 })
    const order = [0, 1, 2].map(() => world.queue.popBest(START)?.id)
    expect(order).toEqual([first, second, third])
  })

  it('ORDER-2: age counts in whole seconds of the clock, not in seconds since the job came', () => {
    const world = new World(1_000_000, policyWith({ priority: { weights: AGE_ONLY } }))
    // Enqueued 1 ms apart, but on both sides of a second.
    const before = world.push({ ...PLAIN, waitedMs: 1, id: 9 })
    const after = world.push({ ...PLAIN, waitedMs: 0, id: 1 })
    expect(world.queue.peekBest(1_000_000)?.id).toBe(before)
    expect(after).not.toBe(before)
    // One within the same second is not a second older, and here the id of the older one is higher.
    const same = new World(1_000_500, policyWith({ priority: { weights: AGE_ONLY } }))
    const rich = same.push({ ...PLAIN, waitedMs: 0, id: 5, seq: 0 })
    const older = same.push({ ...PLAIN, waitedMs: 500, id: 6, seq: 1 })
    expect(same.queue.popBest(1_000_500)?.id).toBe(older)
    expect(same.queue.popBest(1_000_500)?.id).toBe(rich)
  })

  it('ORDER-8: a job in backoff is not taken before its time, and then has its old place', () => {
    const world = new World(START, policyWith({}))
    const waiting = world.push({ ...PLAIN, waitedMs: 5_000, delayMs: 1_000 })
    const other = world.push({ ...PLAIN, waitedMs: 0 })
    expect(world.queue.nextReadyAt()).toBe(START + 1_000)
    expect(world.queue.peekBest(START + 999)?.id).toBe(other)
    expect(world.queue.readySize).toBe(1)
    expect(world.queue.peekBest(START + 1_000)?.id).toBe(waiting)
    expect(world.queue.readySize).toBe(2)
    expect(world.queue.nextReadyAt()).toBeNull()
  })

  it('ORDER-8: the longest wait is that of the earliest enqueue_ts, in backoff or not', () => {
    const world = new World(START, policyWith({}))
    expect(world.queue.oldestTs).toBeNull()
    world.push({ ...PLAIN, waitedMs: 5_000 })
    const oldest = world.real(world.push({ ...PLAIN, waitedMs: 7_000, delayMs: 1_000 }))
    expect(world.queue.oldestTs).toBe(START - 7_000)
    world.queue.remove(oldest)
    expect(world.queue.oldestTs).toBe(START - 5_000)
    world.queue.popBest(START)
    expect(world.queue.oldestTs).toBeNull()
  })

  it('ORDER-8: a job that is taken back from its backoff is gone', () => {
    const world = new World(START, policyWith({}))
    const waiting = world.real(world.push({ ...PLAIN, delayMs: 1_000 }))
    expect(world.queue.remove(waiting)).toBe(true)
    expect(world.queue.remove(waiting)).toBe(false)
    expect(world.queue.size).toBe(0)
    expect(world.queue.nextReadyAt()).toBeNull()
    expect(world.queue.peekBest(START + 2_000)).toBeUndefined()
  })

  it('MATCH-2: two jobs are of one group only if they are alike in all that matching looks at', () => {
    // Names that would run into each other if they were joined without care.
    const names = fc.constantFrom('A', 'B', 'BmC', 'B|C', 'C', '|', 'null', '["A"', '')
    const tiers = { A: 0, B: 0, 'A|B': 0, AmB: 0, FREE: 0 }
    const like = fc.record({
      caller: fc.constantFrom(callerNamed(1), callerNamed(1), callerNamed(2)),
      tier: fc.constantFrom(...Object.keys(tiers)),
      model: names,
      regions: fc.oneof(
        { weight: 3, arbitrary: fc.constant(null) },
        fc.constantFrom([], ['A'], ['A', 'B'], ['A,B']),
      ),
    })
    fc.assert(
      fc.property(fc.array(like, { minLength: 8, maxLength: 12 }), (likes) => {
        const policy = policyWith({ priority: { tiers } })
        const queue = new WaitingQueue(policy, START)
        const plain = likes.map((one, n) => ({ ...plainJob(START, PLAIN, jobNamed(n)), ...one }))
        const jobs = plain.map(realJob)
        for (const job of jobs) queue.push(job)
        for (const [i, one] of plain.entries()) {
          const { shape } = jobs[i] as QueuedJob
          expect({
            caller: shape.caller,
            tier: shape.tier,
            model: shape.model,
            regions: shape.regions,
          }).toEqual({ caller: one.caller, tier: one.tier, model: one.model, regions: one.regions })
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe('tiers', () => {
  it('ORDER-9: enqueuing a job of an unknown tier is refused and leaves nothing behind', () => {
    const market = openMarket({ policy: policyWith({}), nowMs: START })
    const plain = plainJob(START, PLAIN, jobNamed(1))
    const request = { ...plain, demand: aiDemand('m1', 100), ttlAbsSecs: null }
    for (const tier of ['GOLD', 'free', '', 'constructor', '__proto__']) {
      expect(() => enqueueJob(market, { ...request, tier })).toThrow(
        expect.objectContaining({
          code: 'InvalidParams',
          details: expect.objectContaining({ field: 'tier' }),
        }),
      )
    }
    expect(market.jobs.size).toBe(0)
    expect(market.queues.get('ai')?.size).toBe(0)
    enqueueJob(market, request)
    expect(market.queues.get('ai')?.peekBest(START)?.id).toBe(plain.id)
  })

  it('POLICY-8: a policy without the tier of a waiting job loses no job', () => {
    const queue = new WaitingQueue(policyWith({}), START)
    for (const [n, tier] of ['PRO', 'FREE', 'FREE'].entries()) {
      queue.push(realJob(plainJob(START, { ...PLAIN, tier }, jobNamed(n))))
    }
    queue.setPolicy(policyWith({ priority: { tiers: { FREE: 0 } } }), START)
    expect(queue.readySize).toBe(3)
    const { jobs } = queue.takeBatch(START, 3, () => 'take')
    expect(jobs.map(({ id }) => id).toSorted()).toEqual([0, 1, 2].map(jobNamed))
  })
})

describe('starvation picks', () => {
  it('ORDER-5: with g grants so far, place i is a pick when (g + i + 1) mod k = 0', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 60 }),
        fc.integer({ min: 1, max: 7 }),
        fc.integer({ min: 1, max: 12 }),
        (grants, k, size) => {
          const policy = policyWith({ queue: { starvation_k: k } })
          const queue = new WaitingQueue(policy, START, { grants, fair: NO_SHARES })
          for (let n = 0; n < 20; n++) {
            queue.push(realJob(plainJob(START, { ...PLAIN, waitedMs: n }, jobNamed(n))))
          }
          const { jobs, picks } = queue.takeBatch(START, size, () => 'take')
          const places = jobs.flatMap(({ id }, i) => (picks.has(id) ? [i] : []))
          const all = Array.from({ length: size }, (_, i) => i)
          expect(places).toEqual(all.filter((i) => (grants + i + 1) % k === 0))
        },
      ),
    )
  })

  it('ORDER-5: a pick is the job that has waited longest, the lower id of two, whatever its score', () => {
    const world = new World(START, policyWith({ queue: { starvation_k: 1 } }))
    world.push({ ...PLAIN, fee: 9_000_000n, waitedMs: 1, id: 1 })
    const second = world.push({ ...PLAIN, fee: 0n, waitedMs: 2, id: 3, seq: 0 })
    const first = world.push({ ...PLAIN, fee: 0n, waitedMs: 2, id: 2, seq: 1 })
    const { jobs, picks } = world.queue.takeBatch(START, 2, () => 'take')
    expect(jobs.map(({ id }) => id)).toEqual([first, second])
    expect([...picks]).toEqual([first, second])
  })

  it('ORDER-7: only jobs that were assigned add to the grants, over rounds and restarts', () => {
    const policy = policyWith({ queue: { starvation_k: 3 } })
    const queue = new WaitingQueue(policy, START)
    for (let n = 0; n < 9; n++) queue.push(realJob(plainJob(START, PLAIN, jobNamed(n))))
    const batch = queue.takeBatch(START, 5, () => 'take')
    queue.closeBatch(batch, batch.jobs.slice(1, 3))
    expect(queue.state().grants).toBe(2)
    expect(queue.size).toBe(7)
    const again = new WaitingQueue(policy, START, queue.state())
    again.push(realJob(plainJob(START, PLAIN, jobNamed(0))))
    expect(again.takeBatch(START, 1, () => 'take').picks.size).toBe(1)
  })
})

describe('by fair shares', () => {
  it('FAIR-1: batches are those of a plain model, through bookings, ends, backoffs and restarts', () => {
    fc.assert(
      fc.property(anyStart(), anyPolicy('tenant'), anyActs('tenant'), (start, policy, acts) => {
        play(new World(start, policy), acts)
      }),
      { numRuns: IS_LONG ? 1_000 : 400 },
    )
  })

  it('FAIR-1: the fairness may be changed while jobs wait', () => {
    fc.assert(
      fc.property(anyPolicy(), anyActs(), (policy, acts) => {
        play(new World(START, policy), acts)
      }),
      { numRuns: 500 },
    )
  })

  it('FAIR-7: two tenants with work waiting stay within their largest job each', () => {
    const turn = fc.record({
      batch: fc.integer({ min: 1, max: 6 }),
      slots: fc.nat({ max: 6 }),
      leaves: fc.constantFrom(null, null, null, 0, 1, 2),
    })
    const sizes = fc.array(fc.constantFrom(1, 1, 100, 500, 900, 4_000), {
      minLength: 3,
      maxLength: 3,
    })
    const weights = fc.array(fc.constantFrom(1, 1, 2, 3, 7), { minLength: 3, maxLength: 3 })
    fc.assert(
      fc.property(
        sizes,
        weights,
        fc.array(turn, { minLength: 10, maxLength: 40, size: 'max' }),
        (tokens, given, turns) => {
          const tenants = [1, 2, 3].map(callerNamed)
          const tenant_weights = Object.fromEntries(tenants.map((c, i) => [c, given[i]]))
          const policy = policyWith({ match: { fairness: 'tenant', tenant_weights } })
          const queue = new WaitingQueue(policy, START)
          const backlog = new Backlog(queue, tokens)
          const largest = new Map(tenants.map((c) => [c, backlog.costOf(c, policy)]))
          /** Since when both have had work without a break: the difference of what they got. */
          const drift = new Map<string, Drift>()
          for (const { batch: size, slots, leaves } of turns) {
            const away = leaves === null ? undefined : tenants[leaves]
            backlog.fill(tenants.filter((caller) => caller !== away))
            for (const [pair] of drift) if (away && pair.includes(away)) drift.delete(pair)
            const batch = queue.takeBatch(START, size, () => 'take')
            const assigned = batch.jobs.slice(0, slots)
            queue.closeBatch(batch, assigned)
            for (const { id, caller } of assigned) {
              backlog.gone(id)
              for (const [a, b] of PAIRS) {
                const [one, other] = [tenants[a] as Caller, tenants[b] as Caller]
                if (one === away || other === away) continue
                const cost = largest.get(caller) ?? 0n
                const by = caller === one ? cost : caller === other ? -cost : 0n
                const bound = (largest.get(one) ?? 0n) + (largest.get(other) ?? 0n)
                const so = moved(drift.get(one + other), by)
                drift.set(one + other, so)
                expect(so.max - so.min).toBeLessThanOrEqual(bound)
              }
            }
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  it('FAIR-7: a backlog of a thousand jobs gets no more than one of ten', () => {
    const queue = new WaitingQueue(policyWith({ match: { fairness: 'tenant' } }), START)
    for (let n = 0; n < 1_010; n++) {
      const caller = n < 1_000 ? 1 : 2
      queue.push(realJob(plainJob(START, { ...PLAIN, caller, waitedMs: 1_010 - n }, jobNamed(n))))
    }
    const { jobs } = queue.takeBatch(START, 20, () => 'take')
    expect(jobs.filter(({ caller }) => caller === callerNamed(2))).toHaveLength(10)
  })

  it('FAIR-4: nothing is saved up while idle', () => {
    const queue = new WaitingQueue(policyWith({ match: { fairness: 'tenant' } }), START)
    const push = (n: number, caller: number) =>
      queue.push(realJob(plainJob(START, { ...PLAIN, caller }, jobNamed(n))))
    for (let n = 0; n < 30; n++) push(n, 2)
    const first = queue.takeBatch(START, 20, () => 'take')
    queue.closeBatch(first, first.jobs)
    // The first caller comes now. The second had 20 jobs meanwhile, and the last of them, which
    // started at V, is all that the first one gets ahead.
    for (let n = 30; n < 40; n++) push(n, 1)
    const { jobs } = queue.takeBatch(START, 6, () => 'take')
    expect(jobs.map(({ caller }) => caller)).toEqual([1, 1, 2, 1, 2, 1].map(callerNamed))
  })

  it('FAIR-5: a weight of its own counts before the weight of its tier', () => {
    const tenant_weights = { [callerNamed(1)]: 3 }
    const policy = policyWith({ match: { fairness: 'tenant', tenant_weights } })
    const queue = new WaitingQueue(policy, START)
    for (let n = 0; n < 60; n++) {
      const caller = 1 + (n % 3)
      const tier = caller === 2 ? 'FREE' : 'PREMIUM'
      queue.push(realJob(plainJob(START, { ...PLAIN, caller, tier }, jobNamed(n))))
    }
    const { jobs } = queue.takeBatch(START, 16, () => 'take')
    const shares = [1, 2, 3].map((n) => jobs.filter((job) => job.caller === callerNamed(n)).length)
    expect(shares).toEqual([6, 2, 8])
  })
})

// The model, and what can be done to it.

const AGE_ONLY = { fee: 0, age: 1, size: 0, tier: 0 }
const NO_SHARES = { virtual: 0n, finish: new Map<Caller, bigint>() }
const PAIRS = [
  [0, 1],
  [0, 2],
  [1, 2],
] as const

interface NewOne {
  readonly id?: number
  readonly caller: number
  readonly tier: string
  readonly fee: bigint
  readonly sizeBytes: number
  readonly waitedMs: number
  readonly seq: number
  readonly delayMs: number | null
  readonly priority: number
  readonly runInMs: number | null
  readonly model: string
  readonly maxTokens: number
}

const PLAIN: NewOne = {
  caller: 1,
  tier: 'FREE',
  fee: 0n,
  sizeBytes: 1_000,
  waitedMs: 0,
  seq: 0,
  delayMs: null,
  priority: 0,
  runInMs: null,
  model: 'm1',
  maxTokens: 100,
}

type Act =
  | { readonly act: 'push'; readonly job: NewOne }
  | { readonly act: 'pass'; readonly ms: number }
  | { readonly act: 'popBest' | 'popLongest' | 'restart' }
  | { readonly act: 'remove'; readonly nth: number }
  | { readonly act: 'batch'; readonly batch: AnyBatch }
  | {
      readonly act: 'comeBack'
      readonly nth: number
      readonly delayMs: number | null
      readonly actual: number
    }
  | { readonly act: 'policy'; readonly policy: Policy }

interface AnyBatch {
  readonly size: number
  /** Groups that fit nobody, as caller and model. */
  readonly passGroups: readonly (readonly [number, string])[]
  /** Jobs whose id ends in this digit fit nobody; null is none. */
  readonly passDigit: number | null
  /** Which places are assigned, in this order. */
  readonly assign: readonly number[]
}

/** A queue and a plain list of the same jobs, compared after every step. */
class World {
  now: number
  queue: WaitingQueue
  #policy: Policy
  #waiting: PlainJob[] = []
  #away: PlainJob[] = []
  #grants = 0
  readonly #shares = new PlainShares()
  #real = new Map<JobId, Job>()
  #count = 0

  constructor(now: number, policy: Policy) {
    this.now = now
    this.#policy = policy
    this.queue = new WaitingQueue(policy, now)
  }

  push(one: NewOne): JobId {
    // Ids are in no order, and no two are equal.
    const id = jobNamed(one.id ?? (this.#count * 7_919) % 10_007)
    this.#count++
    const plain = plainJob(this.now, one, id)
    this.#waiting.push(plain)
    const job = realJob(plain)
    this.#real.set(id, job)
    this.queue.push(job)
    return id
  }

  real(id: JobId): Job {
    return this.#real.get(id) as Job
  }

  pass(ms: number): void {
    this.now += ms
    this.queue.advance(this.now)
  }

  popBest(): void {
    if (this.#policy.match.fairness !== 'score') return
    const [best] = sortedByScore(this.#ready(), this.now, this.#policy)
    expect(this.queue.peekBest(this.now)?.id).toBe(best?.id)
    expect(this.queue.popBest(this.now)?.id).toBe(best?.id)
    if (best) this.#leave(best)
  }

  popLongest(): void {
    if (this.#policy.match.fairness !== 'score') return
    const [longest] = sortedByWait(this.#ready())
    expect(this.queue.popLongest(this.now)?.id).toBe(longest?.id)
    if (longest) this.#leave(longest)
  }

  /** A job ends while it waits; it never comes back. */
  remove(nth: number): void {
    const job = this.#waiting[nth % Math.max(1, this.#waiting.length)]
    if (job === undefined) return
    expect(this.queue.remove(this.real(job.id))).toBe(true)
    this.#waiting = this.#waiting.filter((one) => one !== job)
  }

  batch({ size, passGroups, passDigit, assign }: AnyBatch): void {
    const verdict = ({ caller, model, id }: Pick<PlainJob, 'caller' | 'model' | 'id'>): Verdict => {
      const isPassed = passGroups.some(([c, m]) => callerNamed(c) === caller && m === model)
      if (isPassed) return 'pass-group'
      return passDigit !== null && id.endsWith(String(passDigit)) ? 'pass-job' : 'take'
    }
    const takeable = this.#ready().filter((job) => verdict(job) === 'take')
    const options = { now: this.now, size, grants: this.#grants, policy: this.#policy }
    const want =
      this.#policy.match.fairness === 'tenant'
        ? plainShareBatch(takeable, this.#shares, options)
        : plainScoreBatch(takeable, options)
    const got = this.queue.takeBatch(this.now, size, ({ id, caller, shape }) =>
      verdict({ id, caller, model: shape.model }),
    )
    expect({ jobs: got.jobs.map(({ id }) => id), picks: [...got.picks] }).toEqual({
      jobs: want.jobs.map(({ id }) => id),
      picks: want.picks,
    })
    const assigned = this.#chosen(want, assign)
    const jobs = assigned.map(({ id }) => this.#real.get(id) as Job)
    this.queue.closeBatch(got, jobs)
    for (const job of assigned) {
      this.#leave(job)
      this.#grants++
      if (this.#policy.match.fairness === 'tenant') this.#shares.book(job, this.#policy)
    }
  }

  /** A lease ends: the job waits again, in its old place, perhaps after a while. */
  comeBack(nth: number, delayMs: number | null, actual: number): void {
    const job = this.#away[nth % Math.max(1, this.#away.length)]
    if (job === undefined) return
    this.#away = this.#away.filter((one) => one !== job)
    const real = this.#real.get(job.id) as Job
    this.queue.bookActualUnits(real, actual)
    if (this.#policy.match.fairness === 'tenant') this.#shares.settle(job, actual, this.#policy)
    const notBefore = delayMs === null ? null : this.now + delayMs
    this.#waiting.push({ ...job, notBefore })
    real.notBefore = notBefore
    this.queue.push(real)
  }

  setPolicy(policy: Policy): void {
    this.#policy = policy
    this.queue.setPolicy(policy, this.now)
  }

  /** A new queue from what a store keeps: the jobs, the grants, the shares. */
  restart(): void {
    this.queue = new WaitingQueue(this.#policy, this.now, this.queue.state())
    const away = this.#away.map((job) => [job.id, realJob(job)] as const)
    const waiting = this.#waiting.map((job) => [job.id, realJob(job)] as const)
    this.#real = new Map([...away, ...waiting])
    for (const [, job] of waiting) this.queue.push(job)
  }

  check(): void {
    const { queue, now } = this
    queue.advance(now)
    const delayed = this.#waiting.filter((job) => !isReady(job, now))
    const enqueued = this.#waiting
      .filter((job) => job.notBefore !== null || isReady(job, now))
      .map(readyTs)
    const soonest = Math.min(...delayed.map((job) => job.notBefore ?? job.runAt ?? 0))
    const byScore = this.#policy.match.fairness === 'score'
    const [best] = byScore ? sortedByScore(this.#ready(), now, this.#policy) : []
    expect({
      size: queue.size,
      oldestTs: queue.oldestTs,
      ready: queue.readySize,
      nextReadyAt: queue.nextReadyAt(),
      best: byScore ? queue.peekBest(now)?.id : undefined,
      ...queue.state(),
    }).toEqual({
      size: this.#waiting.length,
      oldestTs: enqueued.length === 0 ? null : Math.min(...enqueued),
      ready: this.#ready().length,
      nextReadyAt: delayed.length === 0 ? null : soonest,
      best: best?.id,
      grants: this.#grants,
      fair: this.#shares.state(),
    })
    this.#checkCounts()
  }

  /** The counts for display are those of the jobs that wait. */
  #checkCounts(): void {
    const count = <Key>(jobs: readonly PlainJob[], keyOf: (job: PlainJob) => Key) => {
      const counts = new Map<Key, number>()
      for (const job of jobs) counts.set(keyOf(job), (counts.get(keyOf(job)) ?? 0) + 1)
      return counts
    }
    const waiting = count(this.#waiting, ({ model }) => model)
    const ready = count(this.#ready(), ({ model }) => model)
    const named = [...this.queue.named()].filter((one) => one.waiting > 0)
    expect(new Map(named.map((one) => [one.name, one.waiting]))).toEqual(waiting)
    for (const one of named) expect(one.ready).toBe(ready.get(one.name) ?? 0)
    const callers = this.queue.readyCallers()
    const byCaller = [...callers.all()].map(({ caller, jobs, groups }) => {
      let inGroups = 0
      for (const group of groups()) inGroups += group.jobs
      expect(jobs ?? inGroups).toBe(inGroups)
      return [caller, inGroups] as const
    })
    expect(new Map(byCaller)).toEqual(count(this.#ready(), ({ caller }) => caller))
    expect(callers.size).toBe(byCaller.length)
  }

  /** Empties the queue. */
  drain(): void {
    while (this.#ready().length > 0) {
      if (this.#policy.match.fairness === 'score') this.popBest()
      else this.batch({ size: 3, passGroups: [], passDigit: null, assign: [0, 1, 2] })
    }
    expect(this.queue.readySize).toBe(0)
  }

  #ready(): PlainJob[] {
    return this.#waiting.filter((job) => isReady(job, this.now))
  }

  #leave(job: PlainJob): void {
    this.#waiting = this.#waiting.filter((one) => one !== job)
    this.#away.push(job)
  }

  #chosen({ jobs }: PlainBatch<PlainJob>, assign: readonly number[]): PlainJob[] {
    const places = new Set(assign.filter((place) => place < jobs.length))
    return [...places].map((place) => jobs[place] as PlainJob)
  }
}

function play(world: World, acts: readonly Act[]): void {
  for (const act of acts) {
    if (act.act === 'push') world.push(act.job)
    else if (act.act === 'pass') world.pass(act.ms)
    else if (act.act === 'popBest') world.popBest()
    else if (act.act === 'popLongest') world.popLongest()
    else if (act.act === 'remove') world.remove(act.nth)
    else if (act.act === 'batch') world.batch(act.batch)
    else if (act.act === 'comeBack') world.comeBack(act.nth, act.delayMs, act.actual)
    else if (act.act === 'policy') world.setPolicy(act.policy)
    else world.restart()
    world.check()
  }
  world.drain()
}

function anyActs(fairness?: 'score' | 'tenant'): fc.Arbitrary<Act[]> {
  const nth = fc.nat({ max: 30 })
  const act = <T extends Act['act']>(name: T) => fc.constant(name)
  const acts = fc.oneof(
    { weight: 10, arbitrary: fc.record({ act: act('push'), job: anyNewJob() }) },
    { weight: 5, arbitrary: fc.record({ act: act('pass'), ms: anyStep() }) },
    { weight: 3, arbitrary: fc.record({ act: fc.constantFrom('popBest', 'popLongest') }) },
    { weight: 2, arbitrary: fc.record({ act: act('remove'), nth }) },
    { weight: 6, arbitrary: fc.record({ act: act('batch'), batch: anyBatch() }) },
    {
      weight: 5,
      arbitrary: fc.record({
        act: act('comeBack'),
        nth,
        delayMs: fc.constantFrom(null, null, 0, 1, 1_000, 4_000),
        actual: fc.constantFrom(0, 0, 1, 2, 30),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.oneof(
        fc.record({ act: act('policy'), policy: anyPolicy(fairness) }),
        fc.record({ act: act('restart') }),
      ),
    },
  )
  return fc.array(acts as fc.Arbitrary<Act>, { minLength: 1, maxLength: 60, size: 'max' })
}

function anyBatch(): fc.Arbitrary<AnyBatch> {
  const group = fc.tuple(fc.integer({ min: 1, max: 3 }), fc.constantFrom('m1', 'm2'))
  return fc.record({
    size: fc.integer({ min: 1, max: 8 }),
    passGroups: fc.oneof(fc.constant([]), fc.array(group, { maxLength: 3 })),
    passDigit: fc.oneof(fc.constant(null), fc.nat({ max: 9 })),
    assign: fc.oneof(
      fc.constant([0, 1, 2, 3, 4, 5, 6, 7]),
      fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7]),
    ),
  })
}

function anyNewJob(): fc.Arbitrary<NewOne> {
  return fc.record({
    caller: fc.integer({ min: 1, max: 3 }),
    tier: fc.constantFrom('FREE', 'FREE', 'FREE', 'PRO', 'PREMIUM'),
    fee: fc.constantFrom(0n, 0n, 250_000n, 1_000_000n, 2n ** 64n - 1n),
    sizeBytes: fc.constantFrom(1_000, 1_000, 1_010, 200_000),
    waitedMs: fc.constantFrom(0, 0, 1, 500, 999, 1_000, 1_001, 2_000, 59_999, 60_001, 3_600_000),
    seq: fc.constantFrom(0, 0, 1),
    delayMs: fc.constantFrom(null, null, null, null, 0, 1, 999, 2_000),
    priority: fc.constantFrom(0, 0, 0, 0, 7, -1),
    runInMs: fc.constantFrom(null, null, null, null, -1, 0, 1, 2_000, 70_000),
    model: fc.constantFrom('m1', 'm2'),
    maxTokens: fc.constantFrom(1, 100, 101, 1_000),
  })
}

/** Small steps, steps over a horizon, and jumps that move the base of the keys (2^21 s). */
function anyStep(): fc.Arbitrary<number> {
  return fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(0, 1, 499, 500, 999, 1_000, 1_001, 2_000) },
    { weight: 3, arbitrary: fc.constantFrom(58_500, 60_000, 3_540_000, 3_600_000) },
    { weight: 1, arbitrary: fc.constantFrom(2 ** 21 * 1_000 + 700, 2 ** 22 * 1_000, 4e9, 2e10) },
  )
}

function anyStart(): fc.Arbitrary<number> {
  return fc.constantFrom(START, 0, 999, 4_102_444_800_000)
}

function anyPolicy(fairness?: 'score' | 'tenant'): fc.Arbitrary<Policy> {
  const priority = fc.record({
    age_horizon_secs: fc.constantFrom(3_600, 1, 2, 60, 4_000_000),
    weights: fc.constantFrom(
      { fee: 0.55, age: 0.25, size: 0.1, tier: 0.1 },
      { fee: 0.1, age: 0.9, size: 0, tier: 0 },
      AGE_ONLY,
      { fee: 0.999, age: 0.001, size: 0, tier: 0 },
      { fee: 0, age: 0, size: 0.5, tier: 0.5 },
    ),
    fee_half: fc.constantFrom(1_000_000, 1),
  })
  const match = fc.record({
    fairness: fairness === undefined ? fc.constantFrom('score', 'tenant') : fc.constant(fairness),
    ties: fc.constantFrom('pair_hash', 'arrival'),
    tenant_weights: fc.constantFrom({}, {}, { [callerNamed(2)]: 3 }),
    tier_weights: fc.constantFrom({ FREE: 1, PRO: 2, PREMIUM: 4 }, { FREE: 7, PRO: 3, PREMIUM: 1 }),
  })
  const queue = fc.record({ starvation_k: fc.constantFrom(20, 1, 2, 3, 5) })
  return fc.record({ priority, match, queue }).map(policyWith)
}

function policyWith(written: object): Policy {
  return parsePolicy(written, 'fund')
}

function plainJob(now: number, one: NewOne, id: JobId): PlainJob {
  return {
    id,
    kind: 'ai',
    caller: callerNamed(one.caller),
    tier: one.tier,
    fee: one.fee,
    sizeBytes: one.sizeBytes,
    enqueueTs: Math.max(0, now - one.waitedMs),
    enqueueSeq: one.seq,
    notBefore: one.delayMs === null ? null : now + one.delayMs,
    model: one.model,
    ...(one.priority === 0 ? {} : { priority: one.priority }),
    ...(one.runInMs === null ? {} : { runAt: Math.max(0, now + one.runInMs) }),
    maxTokens: one.maxTokens,
    shots: 0,
    depthHint: 0,
    regions: null,
    needs: null,
    denials: {},
  }
}

/** Keeps work waiting for some tenants, each with jobs of one size. */
class Backlog {
  readonly #queue: WaitingQueue
  readonly #tokens: readonly number[]
  readonly #waiting = new Map<JobId, Caller>()
  readonly #real = new Map<JobId, Job>()
  #count = 0

  constructor(queue: WaitingQueue, tokens: readonly number[]) {
    this.#queue = queue
    this.#tokens = tokens
  }

  /** Ten jobs for each of these tenants, none for the others. */
  fill(tenants: readonly Caller[]): void {
    for (const [id, caller] of this.#waiting) {
      if (tenants.includes(caller)) continue
      this.#queue.remove(this.#real.get(id) as Job)
      this.#waiting.delete(id)
    }
    for (const caller of tenants) {
      const own = [...this.#waiting.values()].filter((one) => one === caller).length
      for (let n = own; n < 10; n++) {
        const job = { ...this.#like(caller), id: jobNamed(this.#count++) }
        const real = realJob(job)
        this.#queue.push(real)
        this.#real.set(job.id, real)
        this.#waiting.set(job.id, caller)
      }
    }
  }

  gone(id: JobId): void {
    this.#waiting.delete(id)
  }

  costOf(caller: Caller, policy: Policy): bigint {
    const job = this.#like(caller)
    return plainCost(job, plainUnits(job), policy)
  }

  #like(caller: Caller): PlainJob {
    const nth = [1, 2, 3].map(callerNamed).indexOf(caller)
    const maxTokens = this.#tokens[nth] as number
    return { ...plainJob(START, { ...PLAIN, maxTokens }, jobNamed(0)), caller }
  }
}

/** How far a running difference has gone either way. */
interface Drift {
  readonly at: bigint
  readonly min: bigint
  readonly max: bigint
}

function moved(from: Drift = { at: 0n, min: 0n, max: 0n }, by: bigint): Drift {
  const at = from.at + by
  return { at, min: at < from.min ? at : from.min, max: at > from.max ? at : from.max }
}
