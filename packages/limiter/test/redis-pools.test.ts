import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { TestClock } from '@fairlead/testkit'
import { freePort, startRedis } from '@fairlead/testkit/servers'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { START } from '../src/conformance/limiter-conformance.ts'
import {
  createModelLimiter,
  type ModelLimiter,
  type ModelLimiterOptions,
  type RedisOptions,
  redis,
} from '../src/index.ts'

let folder: string
let port: number
let server: Awaited<ReturnType<typeof startRedis>>
let clock: TestClock
let open: ModelLimiter[]
let direct: Redis
let running: (() => void)[]

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-pools-'))
  port = await freePort()
  server = await startRedis({ folder, keeps: 'none', port })
  direct = new Redis(server.url)
  direct.on('error', () => {})
  clock = new TestClock(START)
  open = []
  running = []
})
afterEach(async () => {
  for (const end of running) end()
  await Promise.all(open.map((limiter) => limiter.close()))
  direct.disconnect()
  await server.stop()
  rmSync(folder, { recursive: true })
})

/** Patient, so that how long Redis takes does not matter. */
const JOB_TYPES = { chat: { estimatedTokens: 100, maxWaitMs: 3_600_000 } }

/** One of several instances of an application; here they share a clock and a process. */
function instance(
  options: Partial<ModelLimiterOptions> = {},
  more: RedisOptions = {},
): ModelLimiter {
  const limiter = createModelLimiter({
    clock,
    backend: redis(server.url, { clock, ...more }),
    models: { gpt: { requestsPerMinute: 10 } },
    jobTypes: JOB_TYPES,
    ...options,
  })
  open.push(limiter)
  return limiter
}

async function instances(
  count: number,
  options: Partial<ModelLimiterOptions> = {},
  more: RedisOptions = {},
): Promise<ModelLimiter[]> {
  const all = Array.from({ length: count }, () => instance(options, more))
  await until(() => all.every((one) => one.stats().models['gpt']?.instances === count))
  return all
}

/** Moves the clock on in small steps until it is so. After each, Redis gets to answer what it was asked. */
async function until(isSo: () => boolean | Promise<boolean>, stepMs = 1): Promise<void> {
  while (!(await isSo())) {
    await clock.advance(stepMs)
    await answered()
  }
}

/** A call may cause another, and a message: a few round trips. */
async function answered(): Promise<void> {
  for (let i = 0; i < 4; i++) {
    await direct.ping().catch(() => undefined)
    await setImmediate()
  }
}

/** For a time in which nothing is to happen. */
async function pass(ms: number): Promise<void> {
  const end = clock.now() + ms
  await until(() => clock.now() >= end, ms / 10)
}

/** A job that runs until it is ended. */
function start(limiter: ModelLimiter, usage?: { inputTokens: number }, jobType = 'chat') {
  const state = { hasStarted: false, end: () => {} }
  const ended = new Promise<void>((resolve) => {
    state.end = resolve
    running.push(resolve)
  })
  const result = limiter.run({ jobType }, async () => {
    state.hasStarted = true
    await ended
    return { data: null, ...(usage === undefined ? {} : { usage }) }
  })
  result.catch(() => undefined)
  return Object.assign(state, { result })
}

/** The same numbers for the same seed, each below the one that is asked for. */
function dice(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * below)
  }
}

const restart = async (): Promise<void> => {
  await server.stop()
  server = await startRedis({ folder, keeps: 'none', port })
}

describe('models shared through Redis', () => {
  it('SLOT-2: each instance has an equal part, and a larger one when another leaves', async () => {
    const [a, b] = (await instances(2)) as [ModelLimiter, ModelLimiter]
    expect(a.stats().models['gpt']?.pool.shares.rpm).toBe(5)
    await pass(100)
    await b.close()
    await until(() => a.stats().models['gpt']?.pool.shares.rpm === 10)
  })

  it.each([
    ['one request a minute', { requestsPerMinute: 1 }],
    ['the tokens of one job a minute', { tokensPerMinute: 100 }],
    ['one at a time', { maxConcurrentRequests: 1 }],
  ])('SLOT-3: %s and two instances: neither starves', async (_, gpt) => {
    const [a, b] = (await instances(2, { models: { gpt } })) as [ModelLimiter, ModelLimiter]
    const first = start(b)
    await until(() => first.hasStarted)
    const second = start(a)
    await pass(200)
    expect(second.hasStarted).toBe(false)
    first.end()
    await until(() => second.hasStarted, 50)
  })

  it('SLOT-10: a job that ends on one instance lets one start on another', async () => {
    const models = { gpt: { maxConcurrentRequests: 2 } }
    const [a, b] = (await instances(2, { models })) as [ModelLimiter, ModelLimiter]
    const jobs = [start(a), start(b), start(a), start(b)]
    const started = () => jobs.filter(({ hasStarted }) => hasStarted)
    await until(() => started().length === 2)
    await pass(200)
    expect(started()).toHaveLength(2)
    started()[0]?.end()
    await until(() => started().length === 3)
  })

  it('SLOT-7: what one did not use can be started by another, within the same minute', async () => {
    const models = { gpt: { tokensPerMinute: 200 } }
    const [a, b] = (await instances(2, { models })) as [ModelLimiter, ModelLimiter]
    const [one, two] = [start(a, { inputTokens: 10 }), start(b, { inputTokens: 90 })]
    await until(() => one.hasStarted && two.hasStarted)
    const third = start(b)
    await pass(200)
    expect(third.hasStarted).toBe(false)
    one.end()
    two.end()
    await until(() => third.hasStarted)
    expect(clock.now()).toBeLessThan(START + 60_000)
  })

  describe('what flooring leaves over', () => {
    const maxWaitMs = 3_600_000
    const hasStarted = (job: { readonly hasStarted: boolean }) => job.hasStarted

    it('SLOT-18: a pool of 5, ratios 0.5 and 0.5, 4 + 4 wanted: five run', async () => {
      const jobTypes = { a: { maxWaitMs }, b: { maxWaitMs } }
      const models = { gpt: { maxConcurrentRequests: 5 } }
      const [one] = (await instances(1, { models, jobTypes })) as [ModelLimiter]
      const jobs = ['a', 'b'].flatMap((type) =>
        Array.from({ length: 4 }, () => start(one, undefined, type)),
      )
      await until(() => jobs.filter(hasStarted).length === 5)
      await pass(200)
      expect(jobs.filter(hasStarted)).toHaveLength(5)
    })

    it('SLOT-18: 100,000 tokens a minute and three types of 20,000: all of them are used', async () => {
      const type = { estimatedTokens: 20_000, maxWaitMs }
      const models = { gpt: { tokensPerMinute: 100_000 } }
      const jobTypes = { a: type, b: type, c: type }
      const [one] = (await instances(1, { models, jobTypes })) as [ModelLimiter]
      const jobs = ['a', 'b', 'c'].flatMap((name) =>
        Array.from({ length: 5 }, () => start(one, undefined, name)),
      )
      await until(() => jobs.filter(hasStarted).length === 5)
      expect(one.stats().models['gpt']?.used.tpm).toBe(100_000)
    })

    it('SLOT-18: a release goes first to a type with a free slot of its own, though another has borrowed it', async () => {
      const jobTypes = { a: { maxWaitMs }, b: { maxWaitMs } }
      const models = { gpt: { maxConcurrentRequests: 4 } }
      const [one] = (await instances(1, { models, jobTypes })) as [ModelLimiter]
      const ofA = Array.from({ length: 6 }, () => start(one, undefined, 'a'))
      await until(() => ofA.filter(hasStarted).length === 4)
      const ofB = [start(one, undefined, 'b'), start(one, undefined, 'b')]
      for (const [i, job] of ofB.entries()) {
        ofA[i]?.end()
        await until(() => job.hasStarted)
      }
      await pass(200)
      expect(ofA.filter(hasStarted)).toHaveLength(4)
    })

    it.each([1, 2, 3])(
      'SLOT-18: over two instances never more than the limits start, and every job runs in the end (load %i)',
      async (seed) => {
        const next = dice(seed)
        const capacity = 3 + next(6)
        const type = { estimatedTokens: 10, maxWaitMs }
        const options = {
          models: { gpt: { maxConcurrentRequests: capacity, tokensPerMinute: 400 } },
          jobTypes: { a: type, b: type, c: type },
        }
        const both = await instances(2, options)
        const jobs = Array.from({ length: 60 }, () =>
          start(both[next(2)] as ModelLimiter, undefined, ['a', 'b', 'c'][next(3)]),
        )
        const ended = new Set<unknown>()
        const running = () => jobs.filter((job) => job.hasStarted && !ended.has(job))
        while (ended.size < jobs.length) {
          await until(() => running().length > 0, 50)
          await pass(10)
          expect(running().length).toBeLessThanOrEqual(capacity)
          const used = both.reduce(
            (sum, one) => sum + (one.stats().models['gpt']?.used.tpm ?? 0),
            0,
          )
          expect(used).toBeLessThanOrEqual(400)
          const job = running()[next(running().length)] as (typeof jobs)[number]
          ended.add(job)
          job.end()
          await job.result
        }
      },
    )
  })

  it('SLOT-16: no job type and no ratio reaches Redis; every key has a tag, and expires', async () => {
    const monitor = await direct.monitor()
    const said: string[] = []
    monitor.on('monitor', (_: string, args: string[]) => said.push(args.join(' ')))
    const jobTypes = {
      'type-of-a': { estimatedTokens: 100, ratio: { initial: 0.123457 } },
      chat: { estimatedTokens: 50, maxWaitMs: 3_600_000 },
    }
    const [a, b] = (await instances(2, { jobTypes })) as [ModelLimiter, ModelLimiter]
    await a.run({ jobType: 'type-of-a' }, async () => ({ data: null, usage: { inputTokens: 7 } }))
    const kept = start(b)
    await until(() => kept.hasStarted)
    await until(() => said.some((line) => line.startsWith('PUBLISH') || line.startsWith('publish')))
    const keys = await direct.keys('*')
    expect(keys).toHaveLength(3)
    for (const key of keys) {
      expect(key).toMatch(/^\{fairlead:default:gpt\}:/)
      expect(await direct.pttl(key)).toBeGreaterThan(0)
    }
    monitor.disconnect()
    const all = said.join('\n')
    expect(all).toContain('"instances":2')
    for (const word of ['type-of-a', 'chat', '123457', '876543']) expect(all).not.toContain(word)
  })
})

describe('without Redis', () => {
  /** One that keeps everything, also when it is killed. */
  async function startLogged(options: { readonly port?: number } = {}) {
    const logged = await startRedis({ folder, keeps: 'log', ...options })
    const client = new Redis(logged.url)
    await client.config('SET', 'appendfsync', 'always')
    client.disconnect()
    return logged
  }

  it('SLOT-17: nothing starts while it is away, and waiting jobs start when it is back', async () => {
    const logged = await startLogged()
    const backend = redis(logged.url, { clock })
    const jobTypes = { ...JOB_TYPES, hasty: { estimatedTokens: 1, maxWaitMs: 0 } }
    const [a] = (await instances(1, { backend, jobTypes })) as [ModelLimiter]
    await a.run({ jobType: 'chat' }, async () => ({ data: null }))
    await logged.stop()
    const job = start(a)
    await pass(1_000)
    expect(job.hasStarted).toBe(false)
    const hasty = a.run({ jobType: 'hasty' }, async () => ({ data: null }))
    await expect(hasty).rejects.toThrow(/gpt: Redis does not answer/)
    const back = await startLogged({ port: Number(new URL(logged.url).port) })
    await until(() => job.hasStarted, 100)
    job.end()
    await job.result
    // Of the day: how many minutes of this clock go by until Redis is connected again, nobody knows.
    expect(a.stats().models['gpt']?.used.rpd).toBe(2)
    await a.close()
    await back.stop()
  })

  it('SLOT-17: one that has forgotten everything hears it again, before anything more starts', async () => {
    const guarded = { coldStartGuard: false }
    const models = { gpt: { requestsPerDay: 5, maxConcurrentRequests: 3 } }
    const [a, b] = (await instances(2, { models }, guarded)) as [ModelLimiter, ModelLimiter]
    const jobs = [start(a), start(b)]
    await until(() => jobs.every(({ hasStarted }) => hasStarted))
    await restart()
    // Heartbeats find it out.
    await until(async () => (await direct.zcard('{fairlead:default:gpt}:instances')) === 2, 1_000)
    const more = [start(a), start(a), start(b), start(b)]
    await until(() => more.some(({ hasStarted }) => hasStarted), 100)
    await pass(500)
    // Two of three at one time were running already.
    expect(more.filter(({ hasStarted }) => hasStarted)).toHaveLength(1)
  })

  it('SLOT-17: with onBackendLoss local it goes on with an equal part, and tells Redis afterwards', async () => {
    const logged = await startLogged()
    const local = { clock, onBackendLoss: 'local', instances: 2 } as const
    const backend = redis(logged.url, local)
    const options = { backend, models: { gpt: { requestsPerDay: 8 } } }
    const [a] = (await instances(1, options)) as [ModelLimiter]
    const done = async () => ({ data: null })
    await a.run({ jobType: 'chat' }, done)
    await logged.stop()
    for (let i = 0; i < 3; i++) await a.run({ jobType: 'chat' }, done)
    const fifth = start(a)
    await pass(1_000)
    expect(fifth.hasStarted).toBe(false)
    const back = await startLogged({ port: Number(new URL(logged.url).port) })
    // 4 of 8 are used, as Redis knows now.
    await until(() => fifth.hasStarted, 100)
    const b = createModelLimiter({
      ...{ clock, jobTypes: JOB_TYPES, ...options },
    })
    open.push(b)
    await until(() => b.stats().models['gpt']?.pool.common.rpd === 1)
    expect(b.stats().models['gpt']?.pool.shares.rpd).toBe(1)
    fifth.end()
    await Promise.all([a.close(), b.close()])
    await back.stop()
  })
})
