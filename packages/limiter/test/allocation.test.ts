import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { TestClock } from '@fairlead/testkit'
import { startRedis } from '@fairlead/testkit/servers'
import { describe, expect, it } from 'vitest'
import { type AllocationInfo, createModelLimiter, redis } from '../src/index.ts'

const START = 1_767_261_600_000
const NO_LIMITS = {
  tokensPerMinute: null,
  requestsPerMinute: null,
  tokensPerDay: null,
  requestsPerDay: null,
}

describe('in memory', () => {
  function rig() {
    const clock = new TestClock(START)
    const failures: object[] = []
    const limiter = createModelLimiter({
      clock,
      models: { gpt: { tokensPerMinute: 100, requestsPerDay: 20 }, free: {} },
      jobTypes: { chat: { estimatedUsedTokens: 10 } },
      onError: (failure) => failures.push(failure),
    })
    const told: AllocationInfo[] = []
    const stop = limiter.onAllocation((info) => told.push(info))
    const chat = (inputTokens: number) =>
      limiter.run({ jobType: 'chat' }, async () => ({ data: null, usage: { inputTokens } }))
    return { clock, limiter, told, stop, chat, failures }
  }
  const gpt = (info: AllocationInfo | undefined) => info?.pools['gpt']

  it('SLOT-21: a listener is told the allocation at once', () => {
    const { told } = rig()
    const whole = { ...NO_LIMITS, tokensPerMinute: 100, requestsPerDay: 20 }
    expect(told).toEqual([
      {
        instanceCount: 1,
        pools: { gpt: { totalSlots: 10, ...whole }, free: { totalSlots: null, ...NO_LIMITS } },
        dynamicLimits: { gpt: whole, free: NO_LIMITS },
      },
    ])
  })

  it('SLOT-21: it is told each change, and the same allocation only once', async () => {
    const { clock, told, chat } = rig()
    await chat(7)
    expect(told.slice(1).map(gpt)).toMatchObject([
      { totalSlots: 9, tokensPerMinute: 90, requestsPerDay: 19 },
      { totalSlots: 9, tokensPerMinute: 93, requestsPerDay: 19 },
    ])
    await clock.advance(59_999)
    expect(told).toHaveLength(3)
    await clock.advance(1)
    expect(told.slice(3).map(gpt)).toMatchObject([{ tokensPerMinute: 100, requestsPerDay: 19 }])
    await clock.advance(120_000)
    expect(told).toHaveLength(4)
  })

  it('SLOT-21: one that throws changes nothing for jobs and other listeners', async () => {
    const { limiter, told, chat, failures } = rig()
    const error = new Error('not now')
    limiter.onAllocation(() => {
      throw error
    })
    await expect(chat(10)).resolves.toMatchObject({ model: 'gpt' })
    expect(told).toHaveLength(2)
    expect(failures).toEqual([{ observer: 'onAllocation', error }])
  })

  it('SLOT-21: it is told nothing more after it has unsubscribed, or the limiter is closed', async () => {
    const { clock, limiter, told, stop, chat } = rig()
    const others: AllocationInfo[] = []
    limiter.onAllocation((info) => others.push(info))
    stop()
    stop()
    await chat(10)
    expect(told).toHaveLength(1)
    expect(others).toHaveLength(2)
    await limiter.close()
    await clock.advance(60_000)
    expect(others).toHaveLength(2)
    expect(() => limiter.onAllocation(null as never)).toThrow(/^listener: expected a function/)
  })
})

it('SLOT-21: instances on Redis are told when another joins, uses something, and leaves', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-allocation-'))
  const server = await startRedis({ folder, keeps: 'none' })
  const clock = new TestClock(START)
  const instance = () => {
    const limiter = createModelLimiter({
      clock,
      backend: redis(server.url, { clock }),
      models: { gpt: { tokensPerMinute: 1_000, maxConcurrentRequests: 11 } },
      jobTypes: { chat: { estimatedUsedTokens: 100, maxWaitMs: 3_600_000 } },
    })
    const told: AllocationInfo[] = []
    limiter.onAllocation((info) => told.push(info))
    return { limiter, told }
  }
  const until = async (isSo: () => boolean) => {
    while (!isSo()) {
      await clock.advance(1)
      await setImmediate()
    }
  }
  const share = (instanceCount: number, remaining: number, totalSlots: number) => {
    const tokensPerMinute = Math.floor(remaining / instanceCount)
    return {
      instanceCount,
      pools: { gpt: { ...NO_LIMITS, tokensPerMinute, totalSlots } },
      dynamicLimits: { gpt: { ...NO_LIMITS, tokensPerMinute: remaining } },
    }
  }

  const a = instance()
  // Nothing is known before Redis has answered.
  expect(a.told).toEqual([])
  await until(() => a.told.length > 0)
  expect(a.told).toEqual([share(1, 1_000, 10)])
  const b = instance()
  await until(() => a.told.length > 1 && b.told.length > 0)
  expect(a.told.at(-1)).toEqual(share(2, 1_000, 5))
  expect(b.told.at(-1)).toEqual(share(2, 1_000, 5))

  const usage = { inputTokens: 301 }
  const used = b.limiter.run({ jobType: 'chat' }, async () => ({ data: null, usage }))
  await until(() => [a, b].every(({ told }) => told.at(-1)?.pools['gpt']?.tokensPerMinute === 349))
  await used
  expect(a.told.at(-1)).toEqual(share(2, 699, 3))
  expect(b.told.at(-1)).toEqual(share(2, 699, 3))

  await b.limiter.close()
  await until(() => a.told.at(-1)?.instanceCount === 1)
  expect(a.told.at(-1)).toEqual(share(1, 699, 6))
  await a.limiter.close()
  await server.stop()
  rmSync(folder, { recursive: true })
})
