import type { ProviderId } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { MemoryStore, TestClock } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualWorker } from './manual-worker.ts'
import { START } from './rig.ts'

const BOREA = 'provider:borea' as ProviderId
const OFFER = { capabilities: new Set(['ai'] as const), models: new Set(['*']) }

let engine: Awaited<ReturnType<typeof openEngine>>
let clock: TestClock

beforeEach(async () => {
  clock = new TestClock(START)
  engine = await openEngine({ store: new MemoryStore(), clock, preset: 'fund' })
  await engine.registerProvider(BOREA, OFFER)
})
afterEach(() => engine.close())

describe('a worker whose provider gets no work', () => {
  it('WORKER-15: learns it when it connects: a stake below the minimum', async () => {
    const worker = await ManualWorker.connect(engine, BOREA)
    expect(worker.notices).toMatchObject([{ reason: 'provider_not_active' }])
    expect(worker.notices[0]?.message).toContain('its stake is 0, and what it offers needs 10000')
  })

  it('WORKER-15: hears when that is mended, and when it is suspended, once each', async () => {
    const worker = await ManualWorker.connect(engine, BOREA)
    await engine.stake(BOREA, 10_000n)
    await clock.settle()
    expect(worker.notices.at(-1)).toBeNull()
    await engine.setProviderStatus(BOREA, 'SUSPENDED')
    await engine.heartbeat(BOREA)
    await engine.heartbeat(BOREA)
    await clock.settle()
    expect(worker.notices.slice(2)).toMatchObject([{ reason: 'provider_not_active' }])
    expect(worker.notices.at(-1)?.message).toContain('fairlead providers set-status')
  })

  it('WORKER-15: hears of a policy under which it gets none', async () => {
    await engine.stake(BOREA, 10_000n)
    const worker = await ManualWorker.connect(engine, BOREA)
    expect(worker.notices).toEqual([null])
    await engine.setPolicy({ registry: { min_stake: { ai: 20_000 } } }, 'fund')
    await clock.settle()
    expect(worker.notices.at(-1)).toMatchObject({ reason: 'stake_below_minimum' })
  })
})

describe('settings that nothing can satisfy', () => {
  it.each([
    ['registry.attestation_required.ai', { registry: { attestation_required: { ai: true } } }],
  ])('ENGINE-12: %s is refused by its name, and nothing changes', async (name, policy) => {
    await expect(engine.setPolicy(policy, 'fund')).rejects.toThrow(name)
    await expect(openEngine({ store: new MemoryStore(), clock, policy })).rejects.toMatchObject({
      code: 'InvalidParams',
    })
    expect(engine.view.policy.registry.attestationRequired.ai).toBe(false)
  })
})
