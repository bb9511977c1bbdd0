import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { callerNamed } from '../../test/any-market.ts'
import { World } from '../../test/world.ts'
import type { ProviderId } from '../encoding/ids.ts'
import { aiDemand, KIND_NAMES, quantumDemand, taskDemand } from '../enqueue/kinds.ts'
import type { Job } from '../market/job.ts'
import { refusalOf } from '../match/eligibility.ts'
import { type Policy, parsePolicy } from '../policy/policy.ts'
import { newProvider } from '../registry/provider.ts'
import { addUnits, epochOf, RequesterWindows, unitsUsed } from './quotas.ts'

const CALLER = callerNamed(1)

describe('units', () => {
  it('QUOTA-2: an ai job is one unit for every 100 tokens begun', () => {
    const units = [1, 100, 101, 200, 201, 1_048_576].map((tokens) => aiDemand('m', tokens).units)
    expect(units).toEqual([1, 1, 2, 2, 3, 10_486])
  })

  it('QUOTA-2: a quantum job is one unit for every 10,000 shot layers begun; depth 0 counts as 1', () => {
    const units = (shots: number, depth: number) => quantumDemand(shots, depth).units
    expect([units(1, 0), units(10_000, 0), units(10_001, 0)]).toEqual([1, 1, 2])
    expect([units(10_000, 1), units(5_000, 2), units(5_001, 2)]).toEqual([1, 1, 2])
    expect(units(1_000_000, 2 ** 32 - 1)).toBe(429_496_729_500)
  })

  it('QUOTA-2: a task is one unit', () => {
    expect(taskDemand('resize').units).toBe(1)
  })

  it('QUOTA-6: units count by kind and epoch, and what is given back is gone', () => {
    const provider = newProvider({ id: 'provider:a' as ProviderId, lastHeartbeat: 0 })
    addUnits(provider, 'ai', 7, 3)
    addUnits(provider, 'ai', 7, 2)
    addUnits(provider, 'ai', 8, 1)
    addUnits(provider, 'quantum', 7, 9)
    addUnits(provider, 'ai', 7, -2)
    expect(unitsUsed(provider, 'ai', 7)).toBe(3)
    expect(unitsUsed(provider, 'ai', 8)).toBe(1)
    expect(unitsUsed(provider, 'quantum', 7)).toBe(9)
    expect(unitsUsed(provider, 'quantum', 8)).toBe(0)
    expect(unitsUsed(provider, 'task', 7)).toBe(0)
    addUnits(provider, 'ai', 7, -3)
    expect(unitsUsed(provider, 'ai', 7)).toBe(0)
    // A provider lives through many epochs: those without units leave nothing behind.
    expect(provider.units.get('ai')?.has(7)).toBe(false)
  })
})

describe('units of an epoch', () => {
  const fits = (world: World, job: Job): string | null => {
    const { nowMs, policy } = world.market
    const terms = {
      nowMs,
      policy,
      epoch: epochOf(nowMs, policy),
      isWindowFull: () => false,
      admit: null,
    }
    return refusalOf(world.a, job, terms)
  }

  it.each([
    { kind: 'ai', one: aiDemand('m', 100), two: aiDemand('m', 101), most: 100_000 },
    {
      kind: 'quantum',
      one: quantumDemand(1, 0),
      two: quantumDemand(10_001, 0),
      most: 10_000,
    },
  ] as const)('QUOTA-5: a provider takes $most units of kind $kind and no more', (row) => {
    const world = new World()
    const [one, two] = [row.one, row.two].map((demand) =>
      world.enqueue({ kind: row.kind, demand }),
    ) as [Job, Job]
    addUnits(world.a, row.kind, 0, row.most - 1)
    expect([fits(world, one), fits(world, two)]).toEqual([null, 'epoch_units_exhausted'])
    addUnits(world.a, row.kind, 0, 1)
    expect(fits(world, one)).toBe('epoch_units_exhausted')
    world.at(3_599_999)
    expect(fits(world, one)).toBe('epoch_units_exhausted')
    world.at(3_600_000)
    expect([fits(world, one), fits(world, two)]).toEqual([null, null])
  })

  it.each(['ai', 'quantum', 'task'] as const)(
    'QUOTA-5: for kind %s null is no limit, 0 admits nothing, and other kinds do not count',
    (kind) => {
      const limited = (units: number | null): World => {
        const quotas = { [`${kind}_units_per_epoch`]: units }
        return new World({ queue: { quotas } })
      }
      const free = limited(null)
      addUnits(free.a, kind, 0, 2 ** 50)
      expect(fits(free, free.enqueue({ kind }))).toBeNull()

      const closed = limited(0)
      expect(fits(closed, closed.enqueue({ kind }))).toBe('epoch_units_exhausted')

      const apart = limited(1)
      for (const other of KIND_NAMES) if (other !== kind) addUnits(apart.a, other, 0, 9_000)
      expect(fits(apart, apart.enqueue({ kind }))).toBeNull()
      addUnits(apart.a, kind, 0, 1)
      expect(fits(apart, apart.enqueue({ kind }))).toBe('epoch_units_exhausted')
    },
  )

  it('QUOTA-5: a task is admitted however many units were taken', () => {
    const world = new World()
    addUnits(world.a, 'task', 0, 2 ** 50)
    expect(fits(world, world.enqueue({ kind: 'task' }))).toBeNull()
  })
})

describe('epochs', () => {
  it('QUOTA-3: an epoch begins at a multiple of its length since the Unix epoch', () => {
    const hourly = parsePolicy({}, 'fund')
    const short = parsePolicy({ queue: { quotas: { epoch_secs: 7 } } }, 'fund')
    expect([0, 3_599_999, 3_600_000].map((now) => epochOf(now, hourly))).toEqual([0, 0, 1])
    expect([6_999, 7_000, 13_999, 14_000].map((now) => epochOf(now, short))).toEqual([0, 1, 1, 2])
    expect(epochOf(1_760_000_000_500, hourly)).toBe(488_888)
  })
})

describe('the window of a requester', () => {
  it('QUOTA-4: an assignment counts while now − t < 1000·secs', () => {
    const policy = withWindow({ jobs: 1, secs: 10 })
    const windows = new RequesterWindows()
    windows.record(CALLER, 5_000, policy)
    expect(windows.count(CALLER, 5_000, policy)).toBe(1)
    expect(windows.count(CALLER, 14_999, policy)).toBe(1)
    expect(windows.freeAt(CALLER, 14_999, policy)).toBe(15_000)
    expect(windows.count(CALLER, 15_000, policy)).toBe(0)
    expect(windows.freeAt(CALLER, 15_000, policy)).toBeNull()
    expect(windows.count(callerNamed(2), 5_000, policy)).toBe(0)
  })

  it('QUOTA-4: it slides, and is exact at every time', () => {
    const step = fc.record({
      ms: fc.constantFrom(0, 1, 500, 999, 1_000, 1_001, 2_000),
      who: fc.integer({ min: 1, max: 2 }),
      take: fc.boolean(),
    })
    const window = fc.record({
      jobs: fc.integer({ min: 1, max: 4 }),
      secs: fc.integer({ min: 1, max: 3 }),
    })
    fc.assert(
      fc.property(window, fc.array(step, { maxLength: 40 }), (given, steps) => {
        const policy = withWindow(given)
        const windows = new RequesterWindows()
        const times: [number, number][] = []
        let now = 1_760_000_000_000
        const counted = (who: number, at: number) =>
          times.filter(([other, t]) => other === who && at - t < 1_000 * given.secs).length
        for (const { ms, who, take } of steps) {
          now += ms
          const caller = callerNamed(who)
          if (take) {
            windows.record(caller, now, policy)
            times.push([who, now])
          }
          expect(windows.count(caller, now, policy)).toBe(counted(who, now))
          const freeAt = windows.freeAt(caller, now, policy)
          expect(freeAt === null).toBe(counted(who, now) < given.jobs)
          if (freeAt === null) continue
          expect(counted(who, freeAt)).toBeLessThan(given.jobs)
          expect(counted(who, freeAt - 1)).toBeGreaterThanOrEqual(given.jobs)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('QUOTA-4: one that reaches further back counts what it is told of the past, and no more', () => {
    const short = withWindow({ jobs: 2, secs: 1 })
    const long = withWindow({ jobs: 2, secs: 10 })
    const windows = new RequesterWindows()
    for (const at of [1_000, 5_000]) windows.record(CALLER, at, short)
    const assigned = [1_000, 5_000].map((at) => ({ caller: CALLER, at }))
    windows.restore(assigned, long)
    expect(windows.count(CALLER, 6_000, long)).toBe(2)
    expect(windows.freeAt(CALLER, 6_000, long)).toBe(11_000)
    windows.restore([], long)
    expect(windows.count(CALLER, 6_000, long)).toBe(0)
  })

  it('QUOTA-4: without a window nothing counts', () => {
    const policy = parsePolicy({}, 'fund')
    const windows = new RequesterWindows()
    windows.record(CALLER, 1_000, policy)
    expect(windows.count(CALLER, 1_000, policy)).toBe(0)
    expect(windows.freeAt(CALLER, 1_000, policy)).toBeNull()
  })
})

function withWindow(requester_window: { jobs: number; secs: number }): Policy {
  return parsePolicy({ queue: { quotas: { requester_window } } }, 'fund')
}
