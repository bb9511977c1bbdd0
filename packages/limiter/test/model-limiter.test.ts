import { TestClock } from '@fairlead/testkit'
import { describe, expect, it } from 'vitest'
import { createModelLimiter, type ModelLimiterOptions, type RunOptions } from '../src/index.ts'

const START = 1_767_261_600_000
const NOTHING = async () => ({ data: null })

function rig(options: Partial<ModelLimiterOptions> = {}) {
  const clock = new TestClock(START)
  const limiter = createModelLimiter({
    clock,
    models: { gpt: { tokensPerMinute: 250_000, requestsPerMinute: 250 } },
    jobTypes: {
      summary: { estimatedTokens: 10_000, ratio: { initial: 0.3, flexible: false } },
      chat: { estimatedTokens: 10_000 },
    },
    ...options,
  })
  const started: { name: string; at: number; model: string }[] = []
  const run = (name: string, options: RunOptions) => {
    const result = limiter.run(options, async ({ model }) => {
      started.push({ name, at: clock.now(), model })
      return { data: name, usage: { inputTokens: 10_000 } }
    })
    result.catch(() => undefined)
    return result
  }
  return { clock, limiter, started, run }
}

describe('job types', () => {
  it('SLOT-6: 7 a minute, though all of them have finished; the 8th at the next minute, on the same model', async () => {
    const { clock, started, run } = rig({
      models: { gpt: { tokensPerMinute: 250_000, requestsPerMinute: 250 }, other: {} },
      jobTypes: {
        summary: { estimatedTokens: 10_000, ratio: { initial: 0.3, flexible: false } },
        // 7 of the one and 35 of the other leave 5,000 tokens over: too little for an 8th summary.
        chat: { estimatedTokens: 5_000 },
      },
    })
    const jobs = Array.from({ length: 8 }, (_, i) => run(`${i}`, { jobType: 'summary' }))
    await clock.advance(1_000)
    expect(started).toHaveLength(7)
    await clock.advance(58_999)
    expect(started).toHaveLength(7)
    await clock.advance(1)
    expect(started.at(-1)).toEqual({ name: '7', at: START + 60_000, model: 'gpt' })
    expect(await jobs[7]).toMatchObject({ model: 'gpt', waitedMs: 60_000 })
  })

  it('SLOT-10: a type without capacity holds up no other, and within a type the first come first', async () => {
    const { clock, started, run } = rig()
    for (let i = 0; i < 10; i++) void run(`s${i}`, { jobType: 'summary' })
    for (let i = 0; i < 3; i++) void run(`c${i}`, { jobType: 'chat' })
    await clock.settle()
    expect(started.map(({ name }) => name)).toEqual([
      ...['s0', 's1', 's2', 's3', 's4', 's5', 's6'],
      // What flooring leaves over goes to a summary once no chat waits.
      ...['c0', 'c1', 'c2', 's7'],
    ])
    await clock.advance(60_000)
    expect(started.slice(11).map(({ name }) => name)).toEqual(['s8', 's9'])
  })

  it('SLOT-6: what is in flight is given back, and wakes the next', async () => {
    const { clock, limiter } = rig({
      models: { gpt: { maxConcurrentRequests: 2 } },
      jobTypes: { chat: { estimatedTokens: 1 } },
    })
    const ends: (() => void)[] = []
    const job = () => new Promise<{ data: null }>((done) => ends.push(() => done({ data: null })))
    const jobs = Array.from({ length: 3 }, () => limiter.run({ jobType: 'chat' }, job))
    await clock.settle()
    expect(ends).toHaveLength(2)
    expect(limiter.stats().jobTypes['chat']?.models['gpt']).toMatchObject({
      inFlight: 2,
      waiting: 1,
    })
    ends[0]?.()
    await clock.settle()
    expect(ends).toHaveLength(3)
    for (const end of ends) end()
    await Promise.all(jobs)
    expect(limiter.stats()).toMatchObject({ activeJobs: [], models: { gpt: { inFlight: 0 } } })
  })

  it('SLOT-11: memory is one more limit on what runs at one time', async () => {
    const { clock, limiter } = rig({
      models: { gpt: {} },
      jobTypes: { chat: { estimatedTokens: 1, estimatedMemoryKB: 400 } },
      memoryKB: 1_000,
    })
    let running = 0
    const never = () => {
      running++
      return new Promise<{ data: null }>(() => {})
    }
    for (let i = 0; i < 5; i++) void limiter.run({ jobType: 'chat' }, never)
    await clock.settle()
    expect(running).toBe(2)
  })
})

describe('models', () => {
  const two = {
    models: { first: { requestsPerMinute: 1 }, second: { requestsPerMinute: 1 } },
    jobTypes: { chat: { estimatedTokens: 1, maxWaitMs: 0 } },
  }

  it('SLOT-12: each model is tried once in order, then the job is refused with the reasons', async () => {
    const { run } = rig(two)
    expect(await run('a', { jobType: 'chat' })).toMatchObject({ model: 'first' })
    expect(await run('b', { jobType: 'chat' })).toMatchObject({ model: 'second' })
    await expect(run('c', { jobType: 'chat' })).rejects.toMatchObject({
      code: 'RateLimited',
      details: { reasons: [{ model: 'first' }, { model: 'second' }] },
    })
    await expect(run('d', { jobType: 'chat', models: ['second'] })).rejects.toMatchObject({
      details: { reasons: [{ model: 'second' }] },
    })
  })

  it('SLOT-12: without a time of its own a job waits to the next minute and 5 s', async () => {
    const { clock, run } = rig({
      models: { gpt: { requestsPerDay: 1 } },
      jobTypes: { chat: { estimatedTokens: 1 } },
    })
    await run('a', { jobType: 'chat' })
    let error: unknown = null
    void run('b', { jobType: 'chat' }).catch((refused: unknown) => {
      error = refused
    })
    await clock.advance(64_999)
    expect(error).toBeNull()
    await clock.advance(1)
    expect(error).toMatchObject({ code: 'RateLimited', details: { waitedMs: 65_000 } })
  })

  it('SLOT-12: a job that rejects is charged for what it used, and may go on to the next model', async () => {
    const { limiter } = rig({
      ...two,
      models: { first: { pricing: { input: 2 } }, second: { pricing: { input: 4, output: 8 } } },
    })
    const result = await limiter.run({ jobType: 'chat' }, async ({ model, reject }) => {
      if (model === 'first') return reject({ inputTokens: 500_000 }, { delegate: true })
      return { data: model, usage: { inputTokens: 250_000, outputTokens: 250_000 } }
    })
    expect(result).toMatchObject({ data: 'second', model: 'second', cost: 4 })
    expect(limiter.stats().models['first']?.used.tpm).toBe(500_000)
    const failing = limiter.run({ jobType: 'chat' }, async ({ reject }) => reject({}))
    await expect(failing).rejects.toMatchObject({ name: 'JobRejected' })
  })

  it('SLOT-19: each attempt is reported with its cost, and named for the job', async () => {
    const told: object[] = []
    const { limiter } = rig({
      ...two,
      models: { first: { pricing: { input: 2 } }, second: { pricing: { input: 4 } } },
      onAttempt: (event) => told.push(event),
    })
    const seen: object[] = []
    const result = await limiter.run({ jobType: 'chat', jobId: 'mine' }, async (context) => {
      const { reject, ...named } = context
      seen.push(named)
      if (context.model === 'first') return reject({ inputTokens: 500_000 }, { delegate: true })
      return { data: 1, usage: { inputTokens: 250_000 } }
    })
    const [first, second] = result.attempts
    expect(result).toMatchObject({ jobId: 'mine', cost: 2 })
    expect(first).toMatchObject({ attempt: 1, model: 'first', state: 'delegated', cost: 1 })
    expect(second).toMatchObject({ attempt: 2, model: 'second', state: 'done', cost: 1 })
    expect(second?.usage).toEqual({ inputTokens: 250_000 })
    expect(told).toEqual(result.attempts.map((one) => ({ ...one, jobId: 'mine', jobType: 'chat' })))
    expect(seen).toEqual(
      result.attempts.map(({ attempt, leaseId, model }) => ({
        jobId: 'mine',
        attempt,
        leaseId,
        model,
      })),
    )
    expect(first?.leaseId).not.toBe(second?.leaseId)
  })

  it('SLOT-19: a refusal by every model, and a rejection, carry the attempts and their costs', async () => {
    const told: object[] = []
    const { limiter } = rig({
      ...two,
      models: {
        first: { pricing: { input: 2 } },
        full: { requestsPerMinute: 0 },
        second: { pricing: { input: 4 } },
      },
      onAttempt: (event) => told.push(event),
    })
    const all = limiter.run({ jobType: 'chat' }, async ({ reject }) =>
      reject({ inputTokens: 500_000 }, { delegate: true }),
    )
    await expect(all).rejects.toMatchObject({
      code: 'RateLimited',
      details: {
        cost: 3,
        attempts: [
          { attempt: 1, model: 'first', cost: 1, usage: { inputTokens: 500_000 } },
          { attempt: 2, model: 'second', cost: 2 },
        ],
        reasons: [{ model: 'first' }, { model: 'full' }, { model: 'second' }],
      },
    })
    const last = limiter.run({ jobType: 'chat' }, async ({ attempt, reject }) =>
      reject({ inputTokens: 500_000 }, { delegate: attempt === 1 }),
    )
    await expect(last).rejects.toMatchObject({
      name: 'JobRejected',
      cost: 3,
      attempts: [{ state: 'delegated' }, { state: 'failed' }],
    })
    told.length = 0
    const broken = limiter.run({ jobType: 'chat' }, () => Promise.reject(new Error('broken')))
    await expect(broken).rejects.toThrow('broken')
    expect(told).toMatchObject([{ state: 'failed', usage: null, cost: 0 }])
  })

  it('SLOT-1: a model with a limit on requests alone needs no estimate of tokens', async () => {
    const jobTypes = { chat: {} }
    const { limiter, run } = rig({ models: { gpt: { requestsPerMinute: 1 } }, jobTypes })
    expect(await run('a', { jobType: 'chat' })).toMatchObject({ data: 'a' })
    expect(limiter.stats().models['gpt']?.used.rpm).toBe(1)
    expect(() => rig({ models: { gpt: { tokensPerDay: 5 } }, jobTypes })).toThrow(
      /^jobTypes\.chat\.estimatedUsedTokens: expected a whole number/,
    )
  })

  it('LIMIT-16: a field that nobody reads is refused, and the message lists the right ones', async () => {
    const { limiter } = rig()
    const none = 'expected no such field; there are'
    const slip = { jobType: 'chat', model: 'gpt' } as never
    await expect(limiter.run(slip, NOTHING)).rejects.toThrow(
      `model: ${none} jobId, jobType, models, signal`,
    )
    const rejecting = limiter.run({ jobType: 'chat' }, async ({ reject }) =>
      reject({}, { delegated: true } as never),
    )
    await expect(rejecting).rejects.toThrow(`delegated: ${none} delegate`)
    await expect(limiter.run({ jobType: 'chat', jobId: '' }, NOTHING)).rejects.toThrow(/^jobId: /)
  })

  it('SLOT-7: a job that throws keeps its estimate, and overage is told', async () => {
    const overages: object[] = []
    const { limiter } = rig({ onOverage: (event) => overages.push(event) })
    const broken = limiter.run({ jobType: 'chat' }, async () => {
      throw new Error('broken')
    })
    await expect(broken).rejects.toThrow('broken')
    expect(limiter.stats().models['gpt']?.used.tpm).toBe(10_000)
    await limiter.run({ jobType: 'chat' }, async () => ({
      data: 1,
      usage: { inputTokens: 10_007 },
    }))
    const overage = { tokens: 7, requests: 0 }
    expect(overages).toMatchObject([{ model: 'gpt', jobType: 'chat', overage }])
  })

  it('a job can be aborted while it waits, and lets those behind it pass', async () => {
    const { clock, started, run } = rig({
      models: { gpt: { requestsPerMinute: 1 } },
      jobTypes: { chat: { estimatedTokens: 1 } },
    })
    const abort = new AbortController()
    await run('a', { jobType: 'chat' })
    const waiting = run('b', { jobType: 'chat', signal: abort.signal })
    void run('c', { jobType: 'chat' })
    await clock.settle()
    abort.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await clock.advance(60_000)
    expect(started.map(({ name }) => name)).toEqual(['a', 'c'])
  })

  it.each([
    [{ models: {} }, /^models: expected an object with at least one/],
    [{ models: { gpt: null } }, /^models\.gpt: expected an object/],
    [{ models: { gpt: { tokenPerMinute: 5 } } }, /^models\.gpt\.tokenPerMinute: expected no such/],
    [{ models: { gpt: { pricing: { input: '1' } } } }, /^models\.gpt\.pricing\.input: /],
    [{ jobTypes: {} }, /^jobTypes: /],
    [{ jobTypes: { a: { estimatedTokens: 1, maxWait: 1 } } }, /^jobTypes\.a\.maxWait: /],
    [{ jobTypes: { a: { estimatedTokens: 1, ratio: { initial: 2 } } } }, /ratio\.initial: /],
    [{ order: ['x'] }, /^order: expected one of gpt, got x/],
    [{ order: ['gpt', 'gpt'] }, /^order: expected each model once/],
    [{ estimate: 'mean' }, /^estimate: /],
    [{ memoryKB: 0.5 }, /^memoryKB: /],
    [{ minJobTypeCapacity: -1 }, /^minJobTypeCapacity: /],
    [{ backend: 'redis://x' }, /^backend: /],
    [{ onOverrage: () => {} }, /^onOverrage: expected no such field/],
  ])('options are checked, by the name of the field: %j', (options, message) => {
    expect(() => rig(options as never)).toThrow(message)
  })

  it('SLOT-7: a job that says what it used in no number keeps its estimate, and fails', async () => {
    const { limiter } = rig()
    const used = () => limiter.stats().models['gpt']?.used.tpm
    const saying = (usage: unknown) =>
      limiter.run({ jobType: 'chat' }, async () => ({ data: 1, usage: usage as never }))
    for (const inputTokens of [Number.NaN, -1, 1.5, '7']) {
      await expect(saying({ inputTokens })).rejects.toThrow(/^usage\.inputTokens: expected a whole/)
    }
    await expect(saying({ totalTokens: 7 })).rejects.toThrow(
      /^usage\.totalTokens: expected no such/,
    )
    expect(used()).toBe(50_000)
    await expect(saying(null)).resolves.toMatchObject({ data: 1 })
    const rejecting = limiter.run({ jobType: 'chat' }, async ({ reject }) =>
      reject({ outputTokens: Number.NaN }),
    )
    await expect(rejecting).rejects.toThrow(/^usage\.outputTokens: /)
    const silent = limiter.run({ jobType: 'chat' }, async () => undefined as never)
    await expect(silent).rejects.toThrow(/^job: expected a promise of/)
    expect(used()).toBe(80_000)
    expect(limiter.stats().models['gpt']?.inFlight).toBe(0)
  })

  it('SLOT-6: names with spaces in them are no others', async () => {
    const { limiter, run } = rig({
      models: { m: { requestsPerMinute: 1 }, 'm a': { requestsPerMinute: 1 } },
      jobTypes: { 'a b': { estimatedTokens: 1, maxWaitMs: 0 }, b: { estimatedTokens: 1 } },
    })
    await run('1', { jobType: 'a b', models: ['m'] })
    expect(await run('2', { jobType: 'b', models: ['m a'] })).toMatchObject({ model: 'm a' })
    expect(limiter.stats().models['m']?.used.rpm).toBe(1)
  })

  it('refuses what it does not know, by the name of the field', async () => {
    const { limiter } = rig()
    await expect(limiter.run(undefined as never, NOTHING)).rejects.toThrow(/^options: /)
    await expect(limiter.run({ jobType: 'chat' }, undefined as never)).rejects.toThrow(/^job: /)
    const none = { jobType: 'chat', models: [] }
    await expect(limiter.run(none, NOTHING)).rejects.toThrow(/^models: /)
    await expect(limiter.run({ jobType: 'x' }, NOTHING)).rejects.toThrow(
      /^jobType: expected one of/,
    )
    const models = ['y']
    await expect(limiter.run({ jobType: 'chat', models }, NOTHING)).rejects.toThrow(/^models: /)
    expect(() => rig({ models: { gpt: { tokensPerMinute: -1 } } })).toThrow(/tokensPerMinute: /)
    const jobTypes = { a: { estimatedTokens: 1, ratio: { initial: 0.7 } } }
    expect(() => rig({ jobTypes })).toThrow(/^ratios: expected a sum of 1/)
  })

  it('closing refuses whoever waits', async () => {
    const { clock, limiter, run } = rig(two)
    await run('a', { jobType: 'chat', models: ['first'] })
    await limiter.close()
    await expect(run('b', { jobType: 'chat' })).rejects.toMatchObject({ code: 'RateLimited' })
    await clock.settle()
  })
})

describe('ratios', () => {
  it('SLOT-9: every 5 s, also while nothing waits', async () => {
    const ratios: object[] = []
    const { clock, limiter } = rig({
      models: { gpt: { maxConcurrentRequests: 10 } },
      jobTypes: { busy: { estimatedTokens: 1 }, idle: { estimatedTokens: 1 } },
      onRatioChange: (change) => ratios.push(change),
    })
    const running = () => new Promise<never>(() => {})
    for (let i = 0; i < 4; i++) void limiter.run({ jobType: 'busy' }, running)
    await clock.advance(4_999)
    expect(ratios).toEqual([])
    await clock.advance(1)
    expect(ratios).toEqual([{ busy: 0.7, idle: 0.3 }])
    await clock.advance(60_000)
    expect(ratios).toHaveLength(1)
  })

  it('SLOT-9: a busy type gets from an idle one, after some releases or some time', async () => {
    const ratios: object[] = []
    const { clock, run } = rig({
      models: { gpt: { requestsPerMinute: 100 } },
      jobTypes: {
        busy: { estimatedTokens: 0, ratio: { initial: 0.1 } },
        idle: { estimatedTokens: 0, ratio: { initial: 0.9 } },
      },
      onRatioChange: (change) => ratios.push(change),
    })
    for (let i = 0; i < 12; i++) void run(`${i}`, { jobType: 'busy' })
    await clock.settle()
    expect(ratios).toEqual([{ busy: 0.3, idle: 0.7 }])
    await clock.advance(60_000)
    expect(ratios).toHaveLength(1)
  })
})
