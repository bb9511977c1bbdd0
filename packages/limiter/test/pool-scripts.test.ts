import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type JobEstimate, type ModelLimits, SharedUsage } from '@fairlead/core/internal'
import { startRedis } from '@fairlead/testkit/servers'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { START } from '../src/conformance/limiter-conformance.ts'
import type { Allocation } from '../src/slots/pool-view.ts'
import {
  acquireScript,
  announceScript,
  beatScript,
  dropScript,
  NOT_A_MEMBER,
  type PoolContext,
  PoolKeys,
  type Registration,
  readAllocation,
  registerScript,
  releaseScript,
} from '../src/slots/redis/pool-scripts.ts'

const folder = mkdtempSync(join(tmpdir(), 'fairlead-pools-'))
let server: Awaited<ReturnType<typeof startRedis>>
let redis: Redis
beforeAll(async () => {
  server = await startRedis({ folder, keeps: 'none' })
  redis = new Redis(server.url)
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
  rmSync(folder, { recursive: true })
})

const NO_LIMITS: ModelLimits = { tpm: null, rpm: null, tpd: null, rpd: null, maxConcurrency: null }
const MINUTE = Math.floor(START / 60_000)
const DAY = Math.floor(START / 86_400_000)
const NOTHING = { minute: MINUTE, day: DAY, used: { tpm: 0, rpm: 0, tpd: 0, rpd: 0 } }
const job = (tokens: number, requests = 1): JobEstimate => ({ tokens, requests })

let names = 0
let keys: PoolKeys
let now: number
beforeEach(() => {
  keys = new PoolKeys(`test-${names++}`, 'gpt')
  now = START
})

const as = (instance: string, allocation: Allocation | null = null): PoolContext => ({
  redis,
  keys,
  instance,
  allocation,
  now,
})

function register(
  instance: string,
  limits: Partial<ModelLimits>,
  more: Partial<Registration> & { readonly allocation?: Allocation | null } = {},
) {
  return registerScript(as(instance, more.allocation ?? null), {
    ...{ limits: { ...NO_LIMITS, ...limits }, hasGuard: true },
    isFirst: Object.keys(limits).length > 0,
    ...{ own: NOTHING, made: null, inFlight: [], ended: [] },
    ...more,
  })
}

const acquire = (instance: string, estimate: JobEstimate, ...refs: string[]) =>
  acquireScript(as(instance), { estimate, refs })

/** What a member that registers once more is told: what remains at this moment. */
async function allocation(instance: string): Promise<Allocation> {
  return (await register(instance, {})).allocation as Allocation
}

describe('the shared acquire', () => {
  it('SLOT-5: checks the whole estimate over all instances, and holds nothing of what does not fit', async () => {
    await register('a', { tpm: 100, rpm: 3 })
    await register('b', {})
    expect(await acquire('a', job(60), 'a1', 'a2')).toMatchObject({ code: 1 })
    expect(await acquire('b', job(41), 'b1')).toMatchObject({ code: 0 })
    expect(await acquire('b', job(40), 'b1')).toMatchObject({ code: 1 })
    const { parts } = await allocation('a')
    expect(parts.tpm).toEqual({ limit: 100, share: 0, common: 0 })
    expect(parts.rpm).toEqual({ limit: 3, share: 0, common: 1 })
  })

  it('SLOT-5: the same reference again while it is in flight starts nothing more', async () => {
    await register('a', { maxConcurrency: 2 })
    await acquire('a', job(1), '1')
    const { version } = await acquire('a', job(1), '1')
    expect(version).toBe((await acquire('a', job(1), '1')).version)
    expect(await acquire('a', job(1), '1', '2', '3')).toMatchObject({ code: 2 })
  })

  it('SLOT-5, SLOT-7: random starts and ends are answered as the rules answer them', async () => {
    const limit = fc.option(fc.integer({ min: 0, max: 60 }))
    const anyLimits = fc.record({
      ...{ tpm: limit, rpm: limit, tpd: limit, rpd: limit, maxConcurrency: limit },
    })
    const anyJob = fc.record({
      tokens: fc.integer({ min: 0, max: 30 }),
      requests: fc.integer({ min: 0, max: 4 }),
    })
    const anyCall = fc.record({
      gap: fc.constantFrom(0, 1, 20_000, 60_000, 86_400_000),
      ref: fc.constantFrom('1', '2', '3', '4', '5'),
      ends: fc.boolean(),
      job: anyJob,
      isSaid: fc.boolean(),
    })
    const check = fc.asyncProperty(
      anyLimits,
      fc.array(anyCall, { minLength: 5, maxLength: 40 }),
      async (limits, calls) => {
        keys = new PoolKeys(`random-${names++}`, 'gpt')
        now = START
        await register('a', limits)
        const rules = new SharedUsage(limits)
        for (const { gap, ref, ends, job, isSaid } of calls) {
          now += gap
          // It would be dropped otherwise, after the longer gaps.
          await redis.zadd(keys.of('a')[1] as string, now, 'a')
          if (ends) {
            const actual = isSaid ? job : null
            rules.release(ref, actual, now)
            await releaseScript(as('a'), [{ ref, actual }])
          } else {
            const { code } = await acquire('a', job, ref)
            expect(code === 1).toBe(rules.acquire(ref, job, now).allowed)
          }
        }
        const { parts } = await allocation('a')
        const used = rules.used(now)
        for (const rate of ['tpm', 'rpm', 'tpd', 'rpd'] as const) {
          const left = limits[rate] === null ? null : Math.max(0, limits[rate] - used[rate])
          expect(parts[rate]?.share ?? null).toBe(left)
        }
      },
    )
    await fc.assert(check, { numRuns: 60 })
  })
})

describe('instances', () => {
  it('SLOT-13: nobody starts or ends anything before it has registered', async () => {
    expect(await acquire('a', job(1), '1')).toMatchObject({ code: NOT_A_MEMBER })
    await register('b', { rpm: 5 })
    expect(await acquire('a', job(1), '1')).toMatchObject({ code: NOT_A_MEMBER })
    expect(await releaseScript(as('a'), [])).toMatchObject({ code: NOT_A_MEMBER })
    expect(await beatScript(as('a'))).toMatchObject({ code: NOT_A_MEMBER })
  })

  it('SLOT-14: who is silent for 15 s is dropped: what it had in flight goes back, what it used stays', async () => {
    await register('a', { rpm: 10, maxConcurrency: 2 })
    await register('b', {})
    await acquire('a', job(1), '1', '2')
    now += 10_000
    await beatScript(as('b'))
    now += 4_999
    expect((await beatScript(as('b'))).silent).toEqual([])
    await dropScript(as('b'), 'a')
    expect(await acquire('b', job(1), '1')).toMatchObject({ code: 0 })
    now += 1
    expect((await beatScript(as('b'))).silent).toEqual(['a'])
    await dropScript(as('b'), 'a')
    expect(await acquire('b', job(1), '1')).toMatchObject({ code: 1 })
    const { instances, parts } = await allocation('b')
    expect(instances).toBe(1)
    expect(parts.rpm).toEqual({ limit: 10, share: 7, common: 0 })
  })

  it('SLOT-14: one that comes back registers anew, with what it still has in flight', async () => {
    await register('a', { maxConcurrency: 3 })
    await acquire('a', job(1), '1', '2')
    now += 15_000
    expect(await acquire('a', job(1), '3')).toMatchObject({ code: NOT_A_MEMBER })
    const start = { estimate: job(1), minute: MINUTE, day: DAY }
    await register('a', {}, { inFlight: [['2', start]] })
    expect(await acquire('a', job(1), '3', '4', '5')).toMatchObject({ code: 2 })
  })

  it('SLOT-7: an end whose answer was lost gives back once, though the instance registers anew', async () => {
    const { allocation: known } = await register('a', { tpm: 100 })
    await acquire('a', job(60), '1', '2')
    const ended = [{ ref: '1', actual: job(10) }]
    await releaseScript(as('a'), ended)
    const start = { estimate: job(60), minute: MINUTE, day: DAY }
    for (let i = 0; i < 2; i++) {
      await register('a', {}, { allocation: known, ended: [['1', start]] })
      await releaseScript(as('a'), ended)
    }
    expect((await allocation('a')).parts.tpm).toEqual({ limit: 100, share: 90, common: 0 })
    expect(await acquire('a', job(90), '3')).toMatchObject({ code: 1 })
  })

  it('SLOT-13: the limits of the latest to register for the first time hold for all', async () => {
    await register('a', { rpm: 10 })
    await register('b', { rpm: 20 })
    expect((await allocation('a')).parts.rpm?.limit).toBe(20)
    await register('a', { rpm: 10 }, { isFirst: false })
    expect((await allocation('a')).parts.rpm?.limit).toBe(20)
  })
})

describe('versions', () => {
  it('SLOT-15: usage is broadcast once, 50 ms after it changed, by whoever changed it', async () => {
    await register('a', { rpm: 10 })
    now += 1_000
    const messages = await messagesOf(async () => {
      expect(await acquire('a', job(1), '1')).toMatchObject({ announceMs: 50 })
      expect(await acquire('a', job(1), '2')).toMatchObject({ announceMs: 0 })
      now += 49
      expect(await announceScript(as('a'))).toMatchObject({ announceMs: 1 })
      now += 1
      await announceScript(as('a'))
      await announceScript(as('a'))
    })
    expect(messages.map(({ parts }) => parts.rpm)).toEqual([{ limit: 10, share: 8, common: 0 }])
  })

  it('SLOT-15: what its announcer did not tell is told by the next call', async () => {
    await register('a', { rpm: 10 })
    now += 1_000
    const messages = await messagesOf(async () => {
      await acquire('a', job(1), '1')
      now += 60
      await acquire('a', job(1), '2')
    })
    expect(messages.map(({ parts }) => parts.rpm?.share)).toEqual([8])
  })

  it('SLOT-15: who comes and goes is broadcast at once, but not within 50 ms of another', async () => {
    await register('a', { rpm: 10 })
    now += 1_000
    const messages = await messagesOf(async () => {
      await register('b', {})
      expect(await register('c', {})).toMatchObject({ announceMs: 50 })
      now += 50
      await announceScript(as('c'))
    })
    expect(messages.map(({ instances }) => instances)).toEqual([2, 3])
  })

  it('SLOT-15: an instance that missed a broadcast learns it from its next call', async () => {
    const { allocation: known } = await register('a', { rpm: 10 })
    await register('b', {})
    now += 50
    await announceScript(as('b'))
    const call = () => acquireScript(as('a', known), { estimate: job(1), refs: ['1'] })
    expect((await call()).allocation).toMatchObject({ instances: 2 })
    const { allocation: latest } = await call()
    const again = await acquireScript(as('a', latest), { estimate: job(1), refs: ['1'] })
    expect(again.allocation).toBeNull()
  })

  /** What is broadcast meanwhile. */
  async function messagesOf(act: () => Promise<void>): Promise<Allocation[]> {
    const subscriber = redis.duplicate()
    await subscriber.subscribe(keys.state)
    const heard: Allocation[] = []
    const last = new Promise<void>((resolve) => {
      subscriber.on('message', (_, text) => {
        if (text === 'last') resolve()
        else heard.push(readAllocation(text))
      })
    })
    await act()
    await redis.publish(keys.state, 'last')
    await last
    subscriber.disconnect()
    return heard
  }
})

describe('a Redis that has forgotten everything', () => {
  const used = { tpm: 40, rpm: 2, tpd: 70, rpd: 5 }
  const lost = { birth: 'before', version: 9, instances: 1, minute: MINUTE, day: DAY } as const
  const known: Allocation = {
    ...lost,
    parts: { tpm: null, rpm: null, tpd: null, rpd: null, concurrency: null },
  }

  it('SLOT-17: hears what each instance used and has in flight, once', async () => {
    const start = { estimate: job(1), minute: MINUTE, day: DAY }
    const more: Parameters<typeof register>[2] = {
      ...{ allocation: known, hasGuard: false, isFirst: false },
      ...{ own: { ...NOTHING, used }, inFlight: [['1', start]], ended: [['2', start]] },
    }
    const limits = { tpm: 100, rpd: 10, maxConcurrency: 2 }
    await register('a', limits, more)
    await register('a', limits, more)
    const { parts } = await allocation('a')
    expect([parts.tpm?.share, parts.rpd?.share]).toEqual([60, 5])
    expect(await acquire('a', job(1), '3', '4')).toMatchObject({ code: 1 })
  })

  it('SLOT-17: holds up new starts to the end of the minute; in a day for 120 s at most', async () => {
    now += 20_000
    await register('a', { tpm: 100 }, { allocation: known, isFirst: false })
    now = START + 59_999
    await redis.zadd(keys.of('a')[1] as string, now, 'a')
    expect(await acquire('a', job(1), '1')).toMatchObject({ code: 0 })
    now += 1
    expect(await acquire('a', job(1), '1')).toMatchObject({ code: 1 })

    keys = new PoolKeys(`test-${names++}`, 'gpt')
    await register('a', { tpd: 100 }, { allocation: known, isFirst: false })
    now += 119_999
    await redis.zadd(keys.of('a')[1] as string, now, 'a')
    expect(await acquire('a', job(1), '1')).toMatchObject({ code: 0 })
    now += 1
    expect(await acquire('a', job(1), '1')).toMatchObject({ code: 1 })
  })

  it('SLOT-17: what was decided without Redis is counted once when it is back', async () => {
    await register('a', { tpm: 100 })
    const made = { ...NOTHING, used, id: 'while it was away' }
    await register('a', {}, { made })
    await register('a', {}, { made })
    expect((await allocation('a')).parts.tpm?.share).toBe(60)
  })
})
