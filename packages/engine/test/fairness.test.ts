import { type Caller, callerOf, type KindName } from '@fairlead/core'
import { type Engine, type KindFairness, openEngine, type Served } from '@fairlead/engine'
import { MemoryStore, TestClock } from '@fairlead/testkit'
import fc from 'fast-check'
import { afterEach, expect, it } from 'vitest'
import { ManualWorker } from './manual-worker.ts'
import { ATLAS, DIGEST, START } from './rig.ts'

const [ACME, BIRCH, CEDAR] = ['acme', 'birch', 'cedar'].map(callerOf) as [Caller, Caller, Caller]
/** A prompt of two bytes and so many tokens beside: a unit for each hundred tokens begun. */
const prompt = (units: number) => ({ model: 'm', prompt: '0x6869', max_tokens: 100 * units - 2 })

let clock: TestClock
let engine: Engine
let worker: ManualWorker
afterEach(() => engine.close())

async function open(policy: object, slots = 1): Promise<void> {
  clock = new TestClock(START)
  engine = await openEngine({ store: new MemoryStore(), clock, policy })
  await engine.registerProvider(ATLAS, {
    capabilities: new Set(['ai'] as const),
    models: new Set(['*']),
  })
  worker = await ManualWorker.connect(engine, ATLAS, { id: 'w-1', slots, holds: null })
}

async function add(caller: Caller, units = 1, model = 'm'): Promise<void> {
  const payload = { ...prompt(units), model }
  await engine.enqueue({ kind: 'ai', payload }, { caller })
  await clock.settle()
}

/** Ends the newest lease, with as many units as were estimated. */
async function finish(): Promise<void> {
  const { leaseId } = worker.offered
  await engine.ack({ leaseId, by: ATLAS })
  await engine.complete({ leaseId, by: ATLAS, digest: DIGEST })
  await clock.settle()
}

function figures(served: readonly (readonly [Caller, number])[] = []): KindFairness {
  const units = new Map<Caller, Served>(
    served.map(([caller, given]) => [caller, { units: given, tier: 'FREE' }]),
  )
  const of = (kind: KindName) => (kind === 'ai' ? units : new Map<Caller, Served>())
  const waiting = engine.view.waiting(null, clock.now())
  return engine.view.fairness(waiting, of).find(({ kind }) => kind === 'ai') as KindFairness
}

const stateOf = (caller: Caller, { tenants }: KindFairness) =>
  tenants.find((one) => one.caller === caller)

it('FIGURE-7: no demand, limited, or owed', async () => {
  await open({
    admit: [{ kind: 'ai', caller: BIRCH, requirements: [{ key: 'none', amount: 1 }] }],
  })
  for (let i = 0; i < 3; i++) await add(ACME)
  await add(BIRCH)
  const found = figures([[CEDAR, 5]])
  expect(found.tenants.map(({ caller, state, ready }) => [caller, state, ready])).toEqual([
    [ACME, 'owed', 2],
    [BIRCH, 'limited', 1],
    [CEDAR, 'no_demand', 0],
  ])
  expect(stateOf(BIRCH, found)).toMatchObject({ hold: { limit: { key: 'none' } }, lagUnits: null })
})

it('FIGURE-7: who is not owed is entitled to what it got; the rest goes by weight', async () => {
  await open({ match: { tenant_weights: { [ACME]: 3, [BIRCH]: 1 } } })
  for (let i = 0; i < 4; i++) for (const caller of [ACME, BIRCH]) await add(caller)
  const found = figures([
    [ACME, 40],
    [BIRCH, 40],
    [CEDAR, 20],
  ])
  const parts = (caller: Caller) => {
    const { sharePpm, entitledPpm, weight } = stateOf(caller, found) as NonNullable<
      ReturnType<typeof stateOf>
    >
    return [weight, sharePpm, entitledPpm]
  }
  expect(parts(ACME)).toEqual([3, 400_000, 600_000])
  expect(parts(BIRCH)).toEqual([1, 400_000, 200_000])
  expect(parts(CEDAR)).toEqual([1, 200_000, 200_000])
})

it('FIGURE-7: an index of 1 where all got the same for their weight', async () => {
  await open({ match: { tenant_weights: { [ACME]: 3 } } })
  const indexOf = (...served: readonly (readonly [Caller, number])[]) => figures(served)?.index
  expect(indexOf()).toBeUndefined()
  expect(indexOf([ACME, 30], [BIRCH, 10])).toBe(1)
  expect(indexOf([ACME, 0], [BIRCH, 10], [CEDAR, 10])).toBe(1)
  expect(indexOf([BIRCH, 10], [CEDAR, 30])).toBeCloseTo(0.8)
})

it('FIGURE-7: by score no shares are kept, so there is no lag', async () => {
  await open({ match: { fairness: 'score' } })
  for (let i = 0; i < 2; i++) await add(ACME)
  expect(figures()).toMatchObject({ mode: 'score', tenants: [{ state: 'owed', lagUnits: null }] })
})

it('FIGURE-7: the lag of tenants that are owed is never above its bound', async () => {
  const callers = [ACME, BIRCH, CEDAR]
  const job = fc.record({ caller: fc.nat(2), units: fc.integer({ min: 1, max: 9 }) })
  const weights = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 3, maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(fc.array(job, { maxLength: 25 }), weights, async (jobs, given) => {
      const tenant_weights = Object.fromEntries(callers.map((one, i) => [one, given[i]]))
      await open({ match: { tenant_weights } })
      for (const { caller, units } of jobs) await add(callers[caller] as Caller, units)
      for (let i = 0; i < jobs.length; i++) {
        for (const { lagUnits, boundUnits, state } of figures([[ACME, 1]]).tenants) {
          if (state !== 'owed') expect(lagUnits).toBeNull()
          else expect(lagUnits).toBeLessThanOrEqual(boundUnits as number)
        }
        await finish()
      }
      await engine.close()
    }),
    { numRuns: 15 },
  )
})
