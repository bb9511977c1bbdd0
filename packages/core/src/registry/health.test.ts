import { describe, expect, it, test } from 'vitest'
import { providerNamed } from '../../test/any-market.ts'
import { WITH_HEARTBEATS, WITH_PROOF, WITHOUT_HEALTH, World } from '../../test/world.ts'
import type { WorkerId } from '../encoding/ids.ts'
import { giveBack } from '../lease/give-back.ts'
import type { Lease } from '../lease/lease.ts'
import { nextDueAt } from '../market/advance-market.ts'
import { explainWaiting } from '../match/explain-job.ts'
import { decideProof } from '../outcome/complete-lease.ts'
import { recordHeartbeat } from './health.ts'
import { newProvider } from './provider.ts'
import { registerProvider, setProviderStatus } from './provider-status.ts'
import { connectWorker, disconnectWorker } from './worker-calls.ts'

describe('what health costs and earns', () => {
  test.each([
    { charge: 'ACK_TIMEOUT', health: 950 },
    { charge: 'LEASE_EXPIRED', health: 850 },
    { charge: 'PROVIDER_FAIL', health: 900 },
    { charge: 'PROOF_INVALID', health: 700 },
  ])('HEALTH-1: $charge takes 1000 to $health and counts as a failure', ({ charge, health }) => {
    const world = new World(charge === 'PROOF_INVALID' ? WITH_PROOF : {})
    const lease = world.assign()
    if (charge !== 'ACK_TIMEOUT') world.ack(lease)
    if (charge === 'PROVIDER_FAIL') world.fail(lease)
    if (charge === 'PROOF_INVALID') {
      world.complete(lease)
      decideProof(world.market, lease.job, false)
    }
    world.at(600_000)
    expect(world.a).toMatchObject({ health, failures: 1 })
    expect(lease.job.retries).toBe(1)
  })

  test.each([
    { before: 900, after: 920 },
    { before: 980, after: 1_000 },
    { before: 981, after: 1_000 },
    { before: 1_000, after: 1_000 },
  ])('HEALTH-2: a completion takes $before to $after', ({ before, after }) => {
    const world = new World()
    world.a.health = before
    world.complete(world.assign())
    expect(world.a.health).toBe(after)
  })

  test.each([
    { before: 101, health: 1, status: 'ACTIVE' },
    { before: 100, health: 0, status: 'SUSPENDED' },
    { before: 99, health: 0, status: 'SUSPENDED' },
  ])('HEALTH-2: a failure takes $before to $health, $status', ({ before, health, status }) => {
    const world = new World()
    const [failed, other] = [world.assign(), world.assign()]
    world.a.health = before
    world.fail(failed)
    expect(world.a).toMatchObject({ health, status })
    const isSuspended = status === 'SUSPENDED'
    expect(other.status).toBe(isSuspended ? 'CANCELLED' : 'ACTIVE')
    expect(other.job).toMatchObject({ status: isSuspended ? 'QUEUED' : 'ASSIGNED', retries: 0 })
    expect(world.a.liveLeases).toBe(isSuspended ? 0 : 1)
    const told = world.events.filter(({ type }) => type === 'providerStatus')
    expect(told).toHaveLength(isSuspended ? 1 : 0)
  })

  it('HEALTH-2: health earned afterwards does not end the suspension, an operator does', () => {
    const world = new World(WITH_HEARTBEATS)
    world.a.health = 100
    world.fail(world.assign())
    recordHeartbeat(world.market, world.a)
    expect(world.a).toMatchObject({ health: 10, status: 'SUSPENDED' })
    setProviderStatus(world.market, world.a, 'ACTIVE')
    expect(world.a).toMatchObject({ health: 600, status: 'ACTIVE' })
  })

  test.each(['invalid_input', 'validation_error', 'sold_out', 'not_found', 'auth_error'])(
    'HEALTH-5: %s as a permanent error is charged to the job alone',
    (code) => {
      const world = new World()
      const lease = world.assign()
      world.fail(lease, { code, permanent: true })
      expect(lease.job).toMatchObject({ status: 'FAILED', retries: 1, reason: 'permanent_error' })
      expect(world.a).toMatchObject({ health: 1_000, failures: 0, cooldownUntil: null })

      world.fail(world.assign(), { code, permanent: false })
      expect(world.a).toMatchObject({ health: 900, failures: 1 })
    },
  )
})

describe('a run of failures', () => {
  it('HEALTH-3: from the third on it cools down for 30, 60, 120, 240, 480, 900, 900 s', () => {
    const world = new World()
    const cooldowns: (number | null)[] = []
    for (let i = 1; i <= 9; i++) {
      world.a.health = 1_000
      world.fail(world.assign())
      cooldowns.push(world.a.cooldownUntil)
    }
    const secs = [null, null, 30, 60, 120, 240, 480, 900, 900]
    expect(cooldowns).toEqual(secs.map((s) => (s === null ? null : 1_000 * s)))
    expect(world.a.failures).toBe(9)
  })

  it('HEALTH-3: a cooldown counts from the charge', () => {
    const world = new World()
    for (const now of [1_000, 2_000, 3_000]) {
      world.at(now)
      world.fail(world.assign())
    }
    expect(world.a.cooldownUntil).toBe(33_000)
  })

  it('HEALTH-3: a completion ends the run, not the cooldown', () => {
    const world = new World()
    const running = world.assign()
    for (let i = 0; i < 3; i++) world.fail(world.assign())
    world.complete(running)
    expect(world.a).toMatchObject({ failures: 0, cooldownUntil: 30_000 })
    for (let i = 0; i < 2; i++) world.fail(world.assign())
    expect(world.a).toMatchObject({ failures: 2, cooldownUntil: 30_000 })
  })

  it('HEALTH-3: a cooldown is never shortened', () => {
    const world = new World()
    const leases = Array.from({ length: 6 }, () => world.assign())
    for (const lease of leases.slice(0, 5)) world.fail(lease)
    expect(world.a.cooldownUntil).toBe(120_000)
    world.complete(leases[5] as Lease)
    world.at(1_000)
    for (let i = 0; i < 3; i++) world.fail(world.assign())
    expect(world.a).toMatchObject({ failures: 3, cooldownUntil: 120_000 })
  })

  test.each([1, 2, 5])(
    'HEALTH-3: with cooldown_after %i the run begins to count there',
    (after) => {
      const world = new World({ registry: { cooldown_after: after } })
      for (let i = 1; i < after; i++) world.fail(world.assign())
      expect(world.a.cooldownUntil).toBeNull()
      world.fail(world.assign())
      expect(world.a.cooldownUntil).toBe(30_000)
      world.fail(world.assign())
      expect(world.a.cooldownUntil).toBe(60_000)
    },
  )

  it('RETRY-5: a lease given back neither counts nor ends the run', () => {
    const world = new World()
    world.fail(world.assign())
    world.release(world.assign())
    expect(world.a.failures).toBe(1)
  })
})

describe('heartbeats', () => {
  it('HEALTH-4: the first earns at once, the next one after an interval', () => {
    const world = new World(WITH_HEARTBEATS)
    world.a.health = 900
    expect(world.beat(1)).toBe(910)
    expect(world.beat(60_000)).toBe(910)
    expect(world.beat(60_001)).toBe(920)
    expect(world.beat(60_002)).toBe(920)
    expect(world.beat(120_001)).toBe(930)
  })

  test.each([
    { gap: 179_999, health: 910 },
    { gap: 180_000, health: 910 },
    { gap: 180_001, health: 900 },
    { gap: 239_999, health: 900 },
    { gap: 240_000, health: 850 },
  ])(
    'HEALTH-4: the heartbeat after $gap ms of silence leaves 900 at $health',
    ({ gap, health }) => {
      const world = new World(WITH_HEARTBEATS)
      world.a.health = 900
      expect(world.beat(gap)).toBe(health)
      expect(world.a.lastHeartbeat).toBe(gap)
    },
  )

  it('HEALTH-4: a late heartbeat earns nothing, but the next one in time does', () => {
    const world = new World(WITH_HEARTBEATS)
    world.a.health = 900
    expect(world.beat(180_001)).toBe(900)
    expect(world.beat(180_002)).toBe(910)
  })

  it('HEALTH-4: silence costs 50 at 240 s, 300 s, 360 s …', () => {
    const world = new World(WITH_HEARTBEATS)
    const seen = [239_999, 240_000, 299_999, 300_000, 359_999, 360_000].map((now) => {
      world.at(now)
      return world.a.health
    })
    expect(seen).toEqual([1_000, 950, 950, 900, 900, 850])
  })

  it('HEALTH-4: noticed late, each step still counts, and at 0 the provider is SUSPENDED then', () => {
    const world = new World(WITH_HEARTBEATS)
    world.at(86_400_000)
    expect(world.a).toMatchObject({ health: 0, status: 'SUSPENDED' })
    const told = world.events.filter(({ type }) => type === 'providerStatus')
    const at = 180_000 + 20 * 60_000
    expect(told).toEqual(
      [world.a, world.b, world.c].map(({ id: providerId }) => {
        return { type: 'providerStatus', at, providerId, status: 'SUSPENDED' }
      }),
    )
  })

  it('HEALTH-4: a heartbeat begins the silence anew', () => {
    const world = new World(WITH_HEARTBEATS)
    world.at(300_000)
    expect(world.a.health).toBe(900)
    expect(world.beat(310_000)).toBe(900)
    world.at(549_999)
    expect(world.a.health).toBe(900)
    world.at(550_000)
    expect(world.a.health).toBe(850)
  })

  it('POLICY-8: timeout and interval are policy as it stands', () => {
    const world = new World(WITH_HEARTBEATS)
    world.at(5_000)
    const registry = { heartbeat_timeout_ms: 7_000, heartbeat_interval_ms: 2_000 }
    world.policy({ registry })
    world.at(8_999)
    expect(world.a.health).toBe(1_000)
    world.at(11_000)
    expect(world.a.health).toBe(900)
  })

  it('HEALTH-4: after a change to a longer interval a heartbeat still begins the silence anew', () => {
    const world = new World({
      registry: { heartbeat_timeout_ms: 3_000, heartbeat_interval_ms: 1_000 },
    })
    const other = newProvider({ id: providerNamed(3), lastHeartbeat: 12_000 })
    registerProvider(world.market, other)
    world.at(15_000)
    const registry = { heartbeat_timeout_ms: 3_000, heartbeat_interval_ms: 2_000 }
    world.policy({ registry })
    const health = world.beat(16_000)
    world.at(20_999)
    expect(world.a.health).toBe(health)
    world.at(21_000)
    expect(world.a.health).toBe(health - 50)
  })

  it('HEALTH-4, HEALTH-6: SUSPENDED, JAILED and RETIRED providers earn and lose like others', () => {
    const healthOf = (status: 'SUSPENDED' | 'JAILED' | 'RETIRED'): number[] => {
      const world = new World(WITH_HEARTBEATS)
      world.a.health = 900
      setProviderStatus(world.market, world.a, status)
      const afterBeat = world.beat(1_000)
      world.at(241_000)
      return [afterBeat, world.a.health]
    }
    expect(healthOf('SUSPENDED')).toEqual([910, 860])
    expect(healthOf('JAILED')).toEqual([910, 860])
    expect(healthOf('RETIRED')).toEqual([910, 860])
  })

  it('STATE-6: a time that goes back is no shorter silence', () => {
    const world = new World(WITH_HEARTBEATS)
    world.a.health = 900
    world.at(180_001)
    expect(world.beat(180_000)).toBe(900)
    expect(world.a.lastHeartbeat).toBe(180_001)
  })
})

describe('without health', () => {
  /** Everything that costs or earns health, or a status, where there is some. */
  const HAPPENINGS: Readonly<Record<string, (world: World) => unknown>> = {
    'an ack timeout': (world) => {
      world.assign()
      world.at(world.market.nowMs + 5_000)
    },
    'an expired lease': (world) => {
      world.run()
      world.at(world.market.nowMs + 600_000)
    },
    'a fail': (world) => world.fail(world.run()),
    'a permanent fail': (world) => world.fail(world.run(), { permanent: true }),
    'an invalid proof': (world) => {
      world.policy({ ...WITHOUT_HEALTH, ...WITH_PROOF })
      decideProof(world.market, world.complete(world.run()).job, false)
    },
    'a late renewal': (world) => {
      const lease = world.run()
      world.at(world.market.nowMs + 360_001)
      world.renew(lease)
    },
    'a completion': (world) => world.complete(world.run()),
    'a decline': (world) => world.decline(world.run()),
    'a lost worker': (world) => giveBack(world.market, world.run(), 'worker_lost'),
    'a heartbeat': (world) => recordHeartbeat(world.market, world.a),
    'silence for a day': (world) => world.at(world.market.nowMs + 86_400_000),
  }

  it.each(Object.keys(HAPPENINGS))(
    'HEALTH-7: %s touches neither health, failures, cooldowns nor status, however often',
    (name) => {
      const world = new World({
        registry: { ...WITHOUT_HEALTH.registry, heartbeat_timeout_ms: 180_000 },
      })
      Object.assign(world.a, { health: 90, failures: 2 })
      for (let i = 0; i < 10; i++) HAPPENINGS[name]?.(world)
      const { health, failures, cooldownUntil, status, classCooldowns } = world.a
      expect({
        health,
        failures,
        cooldownUntil,
        status,
        classCooldowns: classCooldowns.size,
      }).toEqual({
        ...{ health: 90, failures: 2, cooldownUntil: null, status: 'ACTIVE', classCooldowns: 0 },
      })
      const job = world.enqueue()
      expect(explainWaiting(world.market, job).providers[0]?.refusal).toBeNull()
    },
  )

  it('HEALTH-7: after an expired lease the provider may take the job again at once', () => {
    const world = new World(WITHOUT_HEALTH)
    const { job } = world.run()
    world.at(600_000)
    expect(job).toMatchObject({ status: 'QUEUED', retries: 1, denials: null })
    world.at(job.notBefore as number)
    expect(explainWaiting(world.market, job).providers[0]?.refusal).toBeNull()
  })

  it('HEALTH-7: an invalid proof denies the job to the provider as ever', () => {
    const world = new World({ ...WITHOUT_HEALTH, ...WITH_PROOF })
    const { job } = world.complete(world.run())
    decideProof(world.market, job, false)
    expect(job.denials).toEqual(new Map([[world.a.id, 60_000]]))
  })

  it('HEALTH-7: an operator still sets a status, and that counts', () => {
    const world = new World(WITHOUT_HEALTH)
    const lease = world.run()
    setProviderStatus(world.market, world.a, 'SUSPENDED')
    expect(lease.status).toBe('CANCELLED')
    const job = world.enqueue()
    expect(explainWaiting(world.market, job).providers[0]?.refusal).toBe('provider_not_active')
  })

  it('HEALTH-7: health that is turned off holds nobody back, and turned on again it is as it was', () => {
    const world = new World()
    for (let i = 0; i < 5; i++) world.fail(world.run())
    expect(world.a).toMatchObject({ health: 500, failures: 5, cooldownUntil: 120_000 })
    const job = world.enqueue()
    const refusal = () => explainWaiting(world.market, job).providers[0]?.refusal
    expect(refusal()).toBe('unhealthy')
    world.policy(WITHOUT_HEALTH)
    expect(refusal()).toBeNull()
    world.complete(world.run())
    world.policy({})
    expect(world.a).toMatchObject({ health: 500, failures: 5, cooldownUntil: 120_000 })
    expect(refusal()).toBe('unhealthy')
  })

  it('HEALTH-7: where heartbeats count, silence alone keeps work away, and passes with the next one', () => {
    const registry = { health: 'off', liveness: 'heartbeat', heartbeat_timeout_ms: 180_000 }
    const world = new World({ registry })
    const job = world.enqueue()
    const refusal = () => explainWaiting(world.market, job).providers[0]?.refusal
    world.at(180_000)
    expect(refusal()).toBeNull()
    world.at(1_000_000)
    expect(refusal()).toBe('heartbeat_stale')
    expect(world.beat(1_000_000)).toBe(1_000)
    expect(refusal()).toBeNull()
  })
})

describe('alive by its workers', () => {
  const BY_WORKERS = { registry: { liveness: 'worker', heartbeat_timeout_ms: 1_000 } }

  it('HEALTH-7: a provider that sends no heartbeat is not silent, and nothing falls due', () => {
    const world = new World(BY_WORKERS)
    expect(nextDueAt(world.market)).toBeNull()
    world.at(86_400_000)
    expect(world.a).toMatchObject({ health: 1_000, status: 'ACTIVE' })
    expect(world.round()).toEqual([])
    const job = world.enqueue()
    expect(world.round()).toEqual([job])
  })

  it('WORKER-1: without a connected worker it gets nothing, and with one it does', () => {
    const world = new World({ ...WITHOUT_HEALTH }, { byWorkers: true })
    const job = world.enqueue()
    expect(explainWaiting(world.market, job).providers[0]?.refusal).toBe('lease_cap_reached')
    expect(world.round()).toEqual([])
    const workerId = 'w' as WorkerId
    connectWorker(world.market, world.a, { workerId, slots: 1, holds: [] })
    world.at(86_400_000 - 1)
    expect(world.round()).toEqual([job])
    disconnectWorker(world.market, world.a, workerId)
    const next = world.enqueue()
    expect(explainWaiting(world.market, next).providers[0]?.refusal).toBe('lease_cap_reached')
  })

  it('HEALTH-7: once heartbeats count, its silence is measured from then on', () => {
    const world = new World(BY_WORKERS)
    world.at(86_400_000)
    world.policy(WITH_HEARTBEATS)
    expect(world.a).toMatchObject({ health: 1_000, status: 'ACTIVE' })
    world.at(86_400_000 + 180_000 + 60_000)
    expect(world.a.health).toBe(950)
  })

  it('HEALTH-7: a failure costs health all the same where there is some', () => {
    const world = new World(BY_WORKERS)
    world.fail(world.run())
    expect(world.a).toMatchObject({ health: 900, failures: 1 })
  })
})
