import { fc, test } from '@fast-check/vitest'
import { expect } from 'vitest'
import type { WorkerId } from '../src/encoding/ids.ts'
import { aiDemand, taskDemand } from '../src/enqueue/kinds.ts'
import type { Lease } from '../src/lease/lease.ts'
import { isLive } from '../src/lease/lease-table.ts'
import type { Job } from '../src/market/job.ts'
import { leaseCap } from '../src/registry/provider.ts'
import { connectWorker, disconnectWorker } from '../src/registry/worker-calls.ts'
import { CALLERS } from './any-market.ts'
import { World } from './world.ts'

/**
 * A job that fails, fails alone (HEALTH-7): whatever goes wrong with others, in any order, of any caller,
 * task and provider, a job that would succeed runs in the first round in which a worker has a free slot.
 */

/** All that can go wrong with an attempt, acked or not. */
const TROUBLES: Readonly<Record<string, (run: Run, lease: Lease) => void>> = {
  fail: ({ world }, lease) => world.fail(lease),
  'permanent fail': ({ world }, lease) => world.fail(lease, { permanent: true }),
  'fail with a wait': ({ world }, lease) => world.fail(lease, { retryAfterMs: 3_600_000 }),
  'fail with a code': ({ world }, lease) => world.fail(lease, { code: 'invalid_input' }),
  decline: ({ world }, lease) => world.decline(lease),
  release: ({ world }, lease) => world.release(lease),
  // An unacked one is an ack timeout by then.
  silence: ({ world }, lease) => world.at(lease.tDeadline),
  'late renewal': ({ world }, lease) => {
    world.at(lease.tStart + 500_000)
    if (isLive(lease.status) && lease.isAcked) world.renew(lease)
  },
  'worker lost': (run, lease) => {
    run.replaceWorker(lease)
    run.world.at(run.world.market.nowMs + 15_000)
  },
  'worker away': (run, lease) => run.replaceWorker(lease),
  disown: ({ world }, { provider, workerId }) => {
    if (workerId === null) return
    connectWorker(world.market, provider, { workerId, slots: 1, holds: [] })
  },
}

const anyJob = fc.record({
  kind: fc.constantFrom('task' as const, 'ai' as const),
  caller: fc.constantFrom(...CALLERS),
  name: fc.constantFrom('m', 'n'),
})
type SomeJob = typeof anyJob extends fc.Arbitrary<infer T> ? T : never

const anyStep = fc.record({
  bad: fc.array(anyJob, { maxLength: 3 }),
  good: anyJob,
  trouble: fc.constantFrom(...Object.keys(TROUBLES)),
  nth: fc.nat(9),
  isAcked: fc.boolean(),
  waitMs: fc.constantFrom(0, 0, 1, 6_000, 31_000),
})
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never

const anyPolicy = fc.record({
  fairness: fc.constantFrom('tenant', 'score'),
  ties: fc.constantFrom('arrival', 'pair_hash'),
  order: fc.constantFrom('first-fit', 'rotate', 'score'),
})

test.prop([anyPolicy, fc.array(anyStep, { minLength: 10, maxLength: 40 })], { numRuns: 150 })(
  'HEALTH-7: whatever fails, a job that would succeed runs as soon as a worker has a free slot',
  (match, steps) => {
    const run = new Run(match)
    for (const step of steps) run.step(step)
  },
)

class Run {
  readonly world: World
  #workers = 0

  constructor(match: object) {
    const registry = { health: 'off', liveness: 'worker', heartbeat_timeout_ms: 1_000 }
    const queue = { lease: { renewals_max: null }, ttl: { rel_max_secs: null } }
    this.world = new World({ match, registry, queue }, { byWorkers: true })
    for (const provider of [this.world.a, this.world.b]) {
      this.#connect(provider)
      this.#connect(provider)
    }
  }

  step({ bad, good, trouble, nth, isAcked, waitMs }: Step): void {
    const { world } = this
    for (const job of bad) this.#enqueue(job)
    this.#round()
    const live = this.#live()
    if (live.length > 0) {
      const lease = live[nth % live.length] as Lease
      if (isAcked) world.ack(lease)
      if (isLive(lease.status)) TROUBLES[trouble]?.(this, lease)
    }
    world.at(world.market.nowMs + waitMs)
    this.#expectNoMemory()

    const job = this.#enqueue(good)
    this.#round()
    if (job.status === 'QUEUED') {
      // Nobody has room. Jobs that were there before it took the slots, or leases of workers that are away.
      for (const provider of [world.a, world.b]) {
        expect(provider.liveLeases).toBeGreaterThanOrEqual(leaseCap(provider, world.market.policy))
      }
      // As soon as there is room, it goes: all that runs is done, so that only what waits is in its way.
      for (const lease of this.#live()) world.complete(lease)
      for (let i = 0; i < 200 && job.status === 'QUEUED'; i++) {
        expect(this.#round(), 'a round with room and a ready job assigns something').not.toEqual([])
        for (const lease of this.#live()) if (lease.job !== job) world.complete(lease)
      }
    }
    expect(job).toMatchObject({ status: 'ASSIGNED', retries: 0 })
    world.complete(job.leases?.at(-1) as Lease)
    this.#expectNoMemory()
  }

  /** The worker of a lease goes away with it, and another one comes at once. */
  replaceWorker({ provider, workerId }: Lease): void {
    if (workerId === null) return
    disconnectWorker(this.world.market, provider, workerId)
    this.#connect(provider)
  }

  #connect(provider: World['a']): void {
    const workerId = `w-${++this.#workers}` as WorkerId
    connectWorker(this.world.market, provider, { workerId, slots: 1, holds: [] })
  }

  #enqueue({ kind, caller, name }: SomeJob): Job {
    const demand = kind === 'ai' ? aiDemand(name, 100) : taskDemand(name)
    return this.world.enqueue({ kind, caller, demand })
  }

  #round(): Job[] {
    return this.world.round()
  }

  #live(): Lease[] {
    return [...this.world.market.leases.values()].filter(({ status }) => isLive(status))
  }

  /** Nothing that is a provider's own tells of failures. */
  #expectNoMemory(): void {
    for (const provider of [this.world.a, this.world.b]) {
      const { health, failures, cooldownUntil, status, classCooldowns } = provider
      expect({ health, failures, cooldownUntil, status, classes: classCooldowns.size }).toEqual({
        ...{ health: 1_000, failures: 0, cooldownUntil: null, status: 'ACTIVE', classes: 0 },
      })
    }
  }
}
