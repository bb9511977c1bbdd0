import { callerOf, type JobId, type LeaseOffer, type Limit, type ProviderId } from '@fairlead/core'
import { type Engine, explanationText, openEngine } from '@fairlead/engine'
import { MemoryStore, TestClock } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualWorker } from './manual-worker.ts'
import { ATLAS, DIGEST, START } from './rig.ts'

const ACME = callerOf('acme')
const TPM: Limit = { key: 'tpm:llama', kind: 'fixed', capacity: 1_000, windowSecs: 60 }
const POLICY = {
  admit: [{ kind: 'ai', requirements: [{ key: 'tpm:{model}', amount: 'tokens' }] }],
}
/** The start of the next window. */
const NEXT = (Math.floor(START / 60_000) + 1) * 60_000

let store: MemoryStore
let clock: TestClock
let engine: Engine
let worker: ManualWorker

beforeEach(async () => {
  store = new MemoryStore()
  clock = new TestClock(START)
  await open()
  await engine.limiter.define(TPM)
})
afterEach(() => engine.close())

async function open(): Promise<void> {
  engine = await openEngine({ store, clock, policy: POLICY })
  const offer = { capabilities: new Set(['ai', 'task'] as const), models: new Set(['*']) }
  await engine.registerProvider(ATLAS, offer).catch(() => engine.updateProvider(ATLAS, offer))
  worker = await ManualWorker.connect(engine, ATLAS as ProviderId, {
    id: 'w-1',
    slots: 10,
    holds: null,
  })
}

/** A prompt of two bytes, so that so many tokens are asked for in all. */
async function ask(tokens: number): Promise<JobId> {
  const payload = { model: 'llama', prompt: '0x6869', max_tokens: tokens - 2 }
  const id = await engine.enqueue({ kind: 'ai', payload }, { caller: ACME })
  await clock.settle()
  return id
}

async function finish({ leaseId }: LeaseOffer, actualTokens?: number): Promise<void> {
  await engine.ack({ leaseId, by: ATLAS })
  const actual = actualTokens === undefined ? {} : { actualTokens }
  await engine.complete({ leaseId, by: ATLAS, digest: DIGEST, ...actual })
  await clock.settle()
}

const held = async () => (await engine.limiter.get(TPM.key))?.held
const statusOf = async (id: JobId) => (await engine.getJob(id)).status

describe('limits inside the queue', () => {
  it('ADMIT-3: a job goes with what it needs reserved, and the next one waits for its limit', async () => {
    const [first, second] = [await ask(700), await ask(400)]
    expect(await statusOf(first)).toBe('ASSIGNED')
    expect(await statusOf(second)).toBe('QUEUED')
    expect(await held()).toBe(700)
    expect(engine.view.waitReason(second)).toBe('budget')
    expect(engine.view.census().queues[0]).toMatchObject({ kind: 'ai', ready: 0, budget: 1 })
  })

  it('ADMIT-4: the engine wakes by itself when a limit has room again', async () => {
    await ask(700)
    await finish(worker.offered)
    const second = await ask(400)
    await clock.advance(NEXT - clock.now() - 1)
    expect(await statusOf(second)).toBe('QUEUED')
    await clock.advance(1)
    expect(await statusOf(second)).toBe('ASSIGNED')
  })

  it('ADMIT-5: less than was reserved lets the next job go at once', async () => {
    await ask(700)
    const second = await ask(400)
    await finish(worker.offered, 150)
    expect(await statusOf(second)).toBe('ASSIGNED')
    expect(await held()).toBe(550)
  })

  it('ADMIT-5: more than was reserved is held as debt', async () => {
    await ask(700)
    await finish(worker.offered, 1_100)
    expect(await held()).toBe(1_100)
    const second = await ask(10)
    expect(await statusOf(second)).toBe('QUEUED')
  })

  it('LIMIT-19: absurd actual tokens hold up others for a window, and the policy says how many count', async () => {
    await ask(700)
    await finish(worker.offered, 2 ** 53 - 1)
    expect(await held()).toBe(16 * 700)
    await engine.limiter.reset(TPM.key)
    await engine.setPolicy({ ...POLICY, limits: { actual_factor_max: 2 } })
    await ask(700)
    await finish(worker.offered, 2 ** 53 - 1)
    expect(await held()).toBe(2 * 700)
    const entries = await engine.view.read.journal(0, 1_000)
    expect(entries.filter(({ action }) => action === 'limitExcess')).toHaveLength(2)
  })

  it('LIMIT-20: a reset and a deletion are audited and survive a restart', async () => {
    const reserve = (leaseId: string, amount: number) =>
      engine.limiter.reserve({ leaseId, requirements: [{ key: TPM.key, amount }] })
    await reserve('before', 700)
    await engine.limiter.reset(TPM.key, { actor: 'token:o' })
    await reserve('after', 300)
    await engine.close()
    await open()
    await engine.limiter.complete({ leaseId: 'before', actuals: [{ key: TPM.key, amount: 0 }] })
    expect(await held()).toBe(300)
    await engine.limiter.complete({ leaseId: 'after', actuals: [{ key: TPM.key, amount: 0 }] })
    expect(await held()).toBe(0)
    await reserve('last', 300)
    await engine.limiter.delete(TPM.key, { actor: 'token:o' })
    await engine.close()
    await open()
    expect(await engine.limiter.list()).toEqual([])
    await engine.limiter.define({ ...TPM, capacity: 400 })
    await engine.limiter.complete({ leaseId: 'last' })
    expect(await reserve('new', 400)).toMatchObject({ allowed: true })
    const entries = await engine.view.read.journal(0, 1_000)
    const told = entries.filter(({ subject }) => subject === TPM.key)
    expect(told.map(({ action, actor }) => [action, actor])).toEqual([
      ['limitDefined', 'operator'],
      ['limitReset', 'token:o'],
      ['limitDeleted', 'token:o'],
      ['limitDefined', 'operator'],
    ])
  })

  it('ADMIT-5: actual tokens that are no count are refused by name', async () => {
    await ask(700)
    const { leaseId } = worker.offered
    await engine.ack({ leaseId, by: ATLAS })
    const completing = engine.complete({ leaseId, by: ATLAS, digest: DIGEST, actualTokens: -1 })
    await expect(completing).rejects.toMatchObject({
      code: 'InvalidParams',
      details: { field: 'actual_tokens' },
    })
  })

  it('ADMIT-1: after a restart a job still holds, still waits, and is completed with its tokens', async () => {
    await ask(700)
    const second = await ask(400)
    const { leaseId } = worker.offered
    await engine.close()
    await open()
    await clock.settle()
    expect(await statusOf(second)).toBe('QUEUED')
    expect(await held()).toBe(700)
    await engine.ack({ leaseId, by: ATLAS })
    await engine.complete({ leaseId, by: ATLAS, digest: DIGEST, actualTokens: 600 })
    await clock.settle()
    expect(await held()).toBe(1_000)
    expect(await statusOf(second)).toBe('ASSIGNED')
  })

  it('ADMIT-6: it is explained which limit, how much of it, and when', async () => {
    await ask(700)
    const [large, small, huge] = [await ask(400), await ask(290), await ask(1_001)]
    const text = async (id: JobId) => explanationText(await engine.explain(id))
    expect(await engine.explain(large)).toMatchObject({
      waitReason: 'budget',
      earliestAt: NEXT,
      providers: [
        {
          refusal: 'limit_exhausted',
          until: NEXT,
          limit: { key: 'tpm:llama', reason: 'exhausted', amount: 400, until: NEXT },
        },
      ],
    })
    expect(await text(large)).toMatch(
      /A limit holds it: it needs 400 of "tpm:llama", which has no room for that now; it will be looked at again 20/,
    )
    expect(await text(small)).toMatch(/290 of "tpm:llama", which has room, but a job ahead of it/)
    expect(await text(huge)).toMatch(/1,001 of "tpm:llama", which is smaller than that/)
    expect((await engine.explain(huge)) as { earliestAt?: unknown }).toMatchObject({
      earliestAt: null,
    })
  })

  it('ADMIT-2: a policy may name a limit before it is defined', async () => {
    const other = { admit: [{ kind: 'task', requirements: [{ key: 'later', amount: 1 }] }] }
    await engine.setPolicy(other)
    const payload = { name: 'resize', args: {} }
    const job = await engine.enqueue({ kind: 'task', payload }, { caller: ACME })
    await clock.settle()
    expect(explanationText(await engine.explain(job))).toMatch(/"later", which is not defined/)
    await engine.limiter.define({ key: 'later', kind: 'concurrency', capacity: 1, timeoutSecs: 60 })
    await clock.settle()
    expect(await statusOf(job)).toBe('ASSIGNED')
  })
})
