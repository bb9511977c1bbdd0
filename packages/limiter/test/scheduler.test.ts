import { getEventListeners } from 'node:events'
import { FairleadError } from '@fairlead/core'
import { TestClock } from '@fairlead/testkit'
import { describe, expect, it } from 'vitest'
import {
  createLimiter,
  createScheduler,
  dailyKey,
  type Limit,
  type Limiter,
  memory,
  modelKeys,
  type SchedulerJob,
  type SchedulerOptions,
} from '../src/index.ts'

const START = 1_767_261_600_000

function limitsOf(
  model: string,
  capacity: { rpm?: number; tpm?: number; concurrency?: number } = {},
) {
  const { rpm, tpm, concurrency } = modelKeys('p', model)
  return [
    { key: rpm, kind: 'fixed', capacity: capacity.rpm ?? 1_000_000, windowSecs: 60 },
    { key: tpm, kind: 'fixed', capacity: capacity.tpm ?? 1_000_000_000, windowSecs: 60 },
    {
      key: concurrency,
      kind: 'concurrency',
      capacity: capacity.concurrency ?? 1_000,
      timeoutSecs: 600,
    },
  ] satisfies Limit[]
}

function rig(limits: readonly Limit[], options: Partial<SchedulerOptions> = {}) {
  const clock = new TestClock(START)
  const inner = createLimiter({ backend: memory({ clock }), limits })
  const reserves: string[] = []
  const limiter: Limiter = {
    ...bound(inner),
    reserve: (request) => {
      reserves.push(request.leaseId)
      return inner.reserve(request)
    },
  }
  const scheduler = createScheduler({ limiter, workers: 4, clock, random: () => 0, ...options })
  const ran: { name: string; at: number }[] = []
  const job = (name: string, more: Partial<SchedulerJob<string>> = {}): SchedulerJob<string> => ({
    tenant: 't',
    provider: 'p',
    model: 'm',
    prompt: 'hello',
    maxOutputTokens: 5,
    execute: async () => {
      ran.push({ name, at: clock.now() - START })
      return { value: name, actualTokens: 7 }
    },
    ...more,
  })
  const submit = (name: string, more: Partial<SchedulerJob<string>> = {}) => {
    const result = scheduler.submit(job(name, more))
    result.catch(() => undefined)
    return result
  }
  return { clock, limiter: inner, scheduler, reserves, ran, job, submit }
}

function bound(limiter: Limiter): Limiter {
  const call = <K extends keyof Limiter>(name: K): Limiter[K] =>
    (limiter[name] as (...args: never[]) => unknown).bind(limiter) as Limiter[K]
  return {
    define: call('define'),
    reset: call('reset'),
    delete: call('delete'),
    list: call('list'),
    get: call('get'),
    reserve: call('reserve'),
    complete: call('complete'),
    reserveMany: call('reserveMany'),
    completeMany: call('completeMany'),
    close: call('close'),
  }
}

describe('queues', () => {
  it('SCHED-1: with one worker, a model that is always denied holds up no other', async () => {
    const { clock, scheduler, ran, submit } = rig(
      [...limitsOf('full', { rpm: 1 }), ...limitsOf('free')],
      { workers: 1 },
    )
    await submit('first', { model: 'full' })
    for (let i = 0; i < 50; i++) void submit(`full${i}`, { model: 'full' })
    const others = Array.from({ length: 100 }, (_, i) => submit(`free${i}`, { model: 'free' }))
    await clock.advance(200)
    await Promise.all(others)
    expect(ran).toHaveLength(101)
    await scheduler.shutdown()
  })

  it('SCHED-3: 1,000 jobs on a saturated model are one question each time it may have room', async () => {
    const { clock, scheduler, reserves, ran, submit } = rig(limitsOf('m', { rpm: 1 }))
    for (let i = 0; i < 1_000; i++) void submit(`${i}`)
    await clock.settle()
    expect(ran).toHaveLength(1)
    const asked = reserves.length
    expect(asked).toBeLessThanOrEqual(2)
    await clock.advance(59_999)
    expect(reserves).toHaveLength(asked)
    await clock.advance(1)
    expect(ran).toHaveLength(2)
    expect(reserves.length - asked).toBeLessThanOrEqual(2)
    await scheduler.shutdown()
  })

  it('SCHED-1: tenants take turns, and each is served in its own order', async () => {
    const { clock, ran, submit } = rig(limitsOf('m'), { workers: 1 })
    for (let i = 0; i < 4; i++) void submit(`a${i}`, { tenant: 'a' })
    for (let i = 0; i < 2; i++) void submit(`b${i}`, { tenant: 'b' })
    await clock.settle()
    expect(ran.map(({ name }) => name)).toEqual(['a0', 'a1', 'b0', 'a2', 'b1', 'a3'])
  })

  it('SCHED-3: a tenant that has used up its day holds up no other tenant', async () => {
    const poor: Limit = { key: dailyKey('poor'), kind: 'fixed', capacity: 15, windowSecs: 86_400 }
    const { clock, scheduler, ran, submit } = rig([...limitsOf('m'), poor])
    for (const name of ['p0', 'p1', 'p2'])
      void submit(name, { tenant: 'poor', wantDailyBudget: true })
    void submit('r0', { tenant: 'rich' })
    await clock.settle()
    expect(ran.map(({ name }) => name)).toEqual(['p0', 'r0'])
    await scheduler.shutdown()
  })

  it('SCHED-6: no job is forgotten, though time goes on while the scheduler looks at it', async () => {
    let now = START
    const clock = {
      now: () => now++,
      wakeAt: (_: number, wake: () => void) => {
        const timer = setImmediate(wake)
        return () => clearImmediate(timer)
      },
    }
    const { rpm } = modelKeys('p', 'm')
    const [, ...others] = limitsOf('m')
    const limits: Limit[] = [{ key: rpm, kind: 'bucket', burst: 1, rate: 17 }, ...others]
    const limiter = createLimiter({ backend: memory({ clock }), limits })
    const scheduler = createScheduler({ limiter, workers: 2, clock })
    const { job } = rig([])
    const results = Array.from({ length: 100 }, (_, i) => scheduler.submit(job(`${i}`)))
    expect(await Promise.all(results)).toHaveLength(100)
  })

  it('SCHED-3: a job that ends lifts a wait for concurrency at once', async () => {
    const { clock, submit } = rig(limitsOf('m', { concurrency: 1 }))
    let end = () => {}
    const long = submit('long', {
      execute: () =>
        new Promise((done) => {
          end = () => done({ value: 'long' })
        }),
    })
    const next = submit('next')
    await clock.settle()
    end()
    expect(await long).toBe('long')
    expect(await next).toBe('next')
    expect(clock.now()).toBe(START)
  })
})

describe('jobs', () => {
  it('SCHED-2: reserve the bytes of the prompt and the most output, complete with what was used', async () => {
    const daily: Limit = { key: dailyKey('t'), kind: 'fixed', capacity: 99, windowSecs: 86_400 }
    const { clock, limiter, submit } = rig([...limitsOf('m'), daily])
    const { rpm, tpm, concurrency } = modelKeys('p', 'm')
    const held = async (key: string) => (await limiter.get(key))?.held
    let during: unknown[] = []
    await submit('a', {
      prompt: 'é€',
      wantDailyBudget: true,
      execute: async () => {
        during = await Promise.all([rpm, tpm, concurrency, daily.key].map(held))
        return { value: '', actualTokens: 3 }
      },
    })
    await clock.settle()
    expect(during).toEqual([1, 10, 1, 10])
    expect(await Promise.all([rpm, tpm, concurrency, daily.key].map(held))).toEqual([1, 3, 0, 3])
  })

  it('SCHED-4: what no repetition can change is the error of the job, and holds up nobody', async () => {
    const inner = createLimiter({ limits: limitsOf('m') })
    let isForbidden = true
    const limiter: Limiter = {
      ...bound(inner),
      reserve: (request) => {
        if (!isForbidden) return inner.reserve(request)
        return Promise.reject(new FairleadError('Forbidden', 'not for this token'))
      },
    }
    const { submit } = rig([], { limiter })
    await expect(submit('a')).rejects.toThrow('not for this token')
    isForbidden = false
    expect(await submit('b')).toBe('b')
  })

  it('SCHED-5: one that throws is completed without actuals, or with those of its error', async () => {
    const { clock, limiter, submit } = rig(limitsOf('m'))
    const { tpm, concurrency } = modelKeys('p', 'm')
    const fail = (error: Error) => ({ execute: () => Promise.reject(error) })
    await expect(submit('a', fail(new Error('broken')))).rejects.toThrow('broken')
    await clock.settle()
    expect((await limiter.get(tpm))?.held).toBe(10)
    const knowing = Object.assign(new Error('late'), { actualTokens: 2 })
    await expect(submit('b', fail(knowing))).rejects.toThrow('late')
    await clock.settle()
    expect((await limiter.get(tpm))?.held).toBe(12)
    expect((await limiter.get(concurrency))?.held).toBe(0)
  })

  it('SCHED-5: one that says what it used in no number fails, and is completed without actuals', async () => {
    const { limiter, submit } = rig(limitsOf('m', { concurrency: 1 }))
    const keys = modelKeys('p', 'm')
    for (const actualTokens of [Number.NaN, -1, 0.5, '7']) {
      const saying = async () => ({ value: 'x', actualTokens: actualTokens as number })
      await expect(submit('a', { execute: saying })).rejects.toThrow(/^actualTokens: expected/)
    }
    const silent = submit('b', { execute: async () => undefined as never })
    await expect(silent).rejects.toThrow(/^execute: expected a promise of/)
    expect(await submit('c')).toBe('c')
    expect((await limiter.get(keys.concurrency))?.held).toBe(0)
    expect((await limiter.get(keys.tpm))?.held).toBe(5 * 10 + 7)
  })

  it('SCHED-2: an estimate that fails is the error of its job alone', async () => {
    const estimateTokens = (prompt: string) => {
      if (prompt === 'broken') throw new Error('no such token')
      return prompt === 'strange' ? 0.5 : 1
    }
    const { submit } = rig(limitsOf('m'), { workers: 1, estimateTokens })
    const jobs = ['broken', 'strange', 'sound'].map((prompt) => submit(prompt, { prompt }))
    await expect(jobs[0]).rejects.toThrow('no such token')
    await expect(jobs[1]).rejects.toThrow(/^estimateTokens: expected a whole number/)
    expect(await jobs[2]).toBe('sound')
  })

  it('SCHED-1: names with spaces in them are no others', async () => {
    const { rpm } = modelKeys('p', 'a b')
    const { limiter, submit } = rig([...limitsOf('a b'), ...limitsOf('b')])
    await submit('1', { model: 'a b' })
    await expect(submit('2', { provider: 'p a', model: 'b' })).rejects.toMatchObject({
      code: 'InvalidParams',
    })
    expect((await limiter.get(rpm))?.held).toBe(1)
  })

  it('SCHED-3: a model and a tenant that are both used up: only the tenant waits for its day', async () => {
    const daily: Limit = { key: dailyKey('poor'), kind: 'fixed', capacity: 10, windowSecs: 86_400 }
    const { clock, ran, submit } = rig([...limitsOf('m', { rpm: 1 }), daily])
    await submit('first', { tenant: 'poor', wantDailyBudget: true })
    for (const name of ['p1', 'p2']) void submit(name, { tenant: 'poor', wantDailyBudget: true })
    void submit('rich', { tenant: 'rich' })
    await clock.advance(60_000)
    expect(ran.map(({ name }) => name)).toEqual(['first', 'rich'])
  })

  it('SCHED-3: what can never be allowed is refused for good', async () => {
    const { submit } = rig(limitsOf('m', { tpm: 100 }))
    await expect(submit('a', { maxOutputTokens: 200 })).rejects.toMatchObject({
      code: 'LimitExceeded',
      details: { error: `exceeds_capacity:${modelKeys('p', 'm').tpm}` },
    })
    await expect(submit('b', { model: 'unknown' })).rejects.toMatchObject({ code: 'InvalidParams' })
    expect(await submit('c')).toBe('c')
  })

  it('SCHED-4: after an unknown outcome the same id asks again, until there is an answer', async () => {
    const away = { isAway: true }
    const ids: string[] = []
    const clock = new TestClock(START)
    const inner = createLimiter({ backend: memory({ clock }), limits: limitsOf('m') })
    const limiter: Limiter = {
      ...bound(inner),
      reserve: async (request) => {
        ids.push(request.leaseId)
        // Reserved, but the answer is lost.
        const answer = await inner.reserve(request)
        if (away.isAway) throw new Error('connection lost')
        return answer
      },
    }
    const unknown: object[] = []
    const onUnknown = (event: object) => unknown.push(event)
    const scheduler = createScheduler({ limiter, workers: 2, clock, onUnknown })
    const done = scheduler.submit({
      tenant: 't',
      provider: 'p',
      model: 'm',
      prompt: '',
      maxOutputTokens: 1,
      execute: async () => ({ value: 'done' }),
    })
    await clock.advance(250)
    expect(ids).toHaveLength(3)
    expect(new Set(ids).size).toBe(1)
    expect(unknown).toHaveLength(3)
    away.isAway = false
    await clock.advance(100)
    expect(await done).toBe('done')
    expect((await inner.get(modelKeys('p', 'm').rpm))?.held).toBe(1)
  })

  it('an aborted job is out of its queue at once; a running one is told', async () => {
    const { clock, scheduler, ran, job, submit } = rig(limitsOf('m', { concurrency: 1 }))
    const abort = new AbortController()
    const running = scheduler.submit(
      job('running', {
        execute: ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason as Error))
          }),
      }),
      { signal: abort.signal },
    )
    await clock.settle()
    const waiting = scheduler.submit(job('waiting'), { signal: abort.signal })
    const last = submit('last')
    await clock.settle()
    abort.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
    await expect(waiting).rejects.toThrow('enough')
    expect(await last).toBe('last')
    expect(ran.map(({ name }) => name)).toEqual(['last'])
    const late = scheduler.submit(job('late'), { signal: abort.signal })
    await expect(late).rejects.toThrow('enough')
  })
})

describe('limits that are not defined', () => {
  const one = (key: string, capacity = 1): Limit => ({
    key,
    kind: 'fixed',
    capacity,
    windowSecs: 60,
  })

  it.each(['rpm', 'tpm', 'concurrency'] as const)(
    'SCHED-8: a model with a limit on %s alone is asked for that alone',
    async (dimension) => {
      const key = modelKeys('p', 'm')[dimension]
      const { limiter, ran, submit } = rig([one(key, 100)])
      expect(await submit('a')).toBe('a')
      expect(ran).toHaveLength(1)
      // The actual tokens where tokens are limited, else the 1 that was reserved.
      expect((await limiter.get(key))?.held).toBe(dimension === 'tpm' ? 7 : 1)
    },
  )

  it('SCHED-8: such a limit is kept, and the jobs keep their order', async () => {
    const { clock, reserves, ran, submit } = rig([one(modelKeys('p', 'm').rpm, 2)])
    for (const tenant of ['a', 'b'])
      for (const i of [0, 1]) void submit(`${tenant}${i}`, { tenant })
    await clock.settle()
    expect(ran.map(({ name }) => name)).toEqual(['a0', 'a1'])
    await clock.advance(60_000)
    expect(ran.map(({ name }) => name)).toEqual(['a0', 'a1', 'b0', 'b1'])
    // Two answers each minute say that there is no limit, and one is a denial.
    expect(reserves.length).toBeLessThanOrEqual(9)
  })

  it('SCHED-8: a limit that is defined later counts from one second on', async () => {
    const { rpm, tpm } = modelKeys('p', 'm')
    const { clock, limiter, ran, submit } = rig([one(rpm, 100)])
    await submit('a')
    await limiter.define(one(tpm, 25))
    await clock.advance(1_000)
    for (const name of ['b', 'c', 'd', 'e']) void submit(name)
    await clock.settle()
    // 10 tokens are reserved for each, and 7 used.
    expect(ran.map(({ name }) => name)).toEqual(['a', 'b', 'c'])
    expect((await limiter.get(tpm))?.held).toBe(14)
  })

  it('SCHED-8: a model without any limit is refused, and the error says what to define', async () => {
    const { submit } = rig([...limitsOf('m')])
    for (const name of ['a', 'b']) {
      await expect(submit(name, { model: 'misspelt' })).rejects.toThrow(
        /^unknown_limit_key:.*: the model has no limit at all; define global:llm:p:misspelt:rpm, /,
      )
    }
    // A budget that was asked for by name is never left out.
    await expect(submit('c', { wantDailyBudget: true })).rejects.toMatchObject({
      code: 'InvalidParams',
      details: { error: `unknown_limit_key:${dailyKey('t')}` },
    })
  })

  it('SCHED-8: the same list is asked for again while its outcome is unknown', async () => {
    const clock = new TestClock(START)
    const { rpm, tpm } = modelKeys('p', 'm')
    const inner = createLimiter({ backend: memory({ clock }), limits: [one(rpm, 9)] })
    let isAway = false
    const limiter: Limiter = {
      ...bound(inner),
      reserve: async (request) => {
        // Reserved, but the answer is lost.
        const answer = await inner.reserve(request)
        if (isAway && answer.allowed) throw new Error('connection lost')
        return answer
      },
    }
    const { scheduler, job } = rig([], { limiter, clock })
    expect(await scheduler.submit(job('a'))).toBe('a')
    isAway = true
    const b = scheduler.submit(job('b'))
    await clock.settle()
    await inner.define(one(tpm, 100))
    await clock.advance(2_000)
    isAway = false
    await clock.advance(100)
    expect(await b).toBe('b')
    expect((await inner.get(rpm))?.held).toBe(2)
  })
})

describe('names', () => {
  it('SCHED-10: execute is given the job, its lease and the attempt; onDenied names them too', async () => {
    const denied: object[] = []
    const { clock, scheduler, reserves, job } = rig(limitsOf('m', { rpm: 1 }), {
      onDenied: (event) => denied.push(event),
    })
    const seen: object[] = []
    const execute: SchedulerJob<string>['execute'] = async ({ jobId, leaseId, attempt }) => {
      seen.push({ jobId, leaseId, attempt })
      return { value: jobId }
    }
    await scheduler.submit({ ...job('first', { execute }), jobId: 'first' })
    const second = scheduler.submit({ ...job('second', { execute }), jobId: 'second' })
    await clock.advance(60_000)
    expect(await second).toBe('second')
    expect(seen).toEqual([
      { jobId: 'first', leaseId: reserves[0], attempt: 1 },
      { jobId: 'second', leaseId: reserves[2], attempt: 2 },
    ])
    expect(denied).toEqual([
      {
        jobId: 'second',
        leaseId: reserves[1],
        attempt: 1,
        tenant: 't',
        provider: 'p',
        model: 'm',
        key: modelKeys('p', 'm').rpm,
        retryAfterMs: 60_000,
      },
    ])
  })

  it('SCHED-10: a job without a name gets one that no other has', async () => {
    const { scheduler, job } = rig(limitsOf('m'))
    const named = () =>
      scheduler.submit(job('', { execute: async ({ jobId }) => ({ value: jobId }) }))
    const names = await Promise.all([named(), named(), named()])
    expect(new Set(names).size).toBe(3)
  })
})

describe('what nobody reads', () => {
  it('LIMIT-16: is refused by every call, and the message lists the right ones', async () => {
    const { scheduler, job } = rig(limitsOf('m'))
    const none = 'expected no such field; there are'
    await expect(scheduler.submit({ ...job('a'), priority: 1 } as never)).rejects.toThrow(
      `job.priority: ${none} jobId, tenant, provider, model, prompt, maxOutputTokens, ` +
        'wantDailyBudget, execute',
    )
    await expect(scheduler.submit(job('a'), { timeout: 5 } as never)).rejects.toThrow(
      `timeout: ${none} signal`,
    )
    await expect(scheduler.submit(job('a'), { signal: {} as never })).rejects.toThrow(
      /^signal: expected an AbortSignal/,
    )
    await expect(scheduler.shutdown({ deadlineMs: 5 } as never)).rejects.toThrow(
      `deadlineMs: ${none} deadline`,
    )
    const to = { provider: 'p', model: 'm', tenant: 't' }
    await expect(scheduler.feedback(to as never, null)).rejects.toThrow(
      `to.tenant: ${none} provider, model`,
    )
    expect(() => rig([], { workers: { each: 1 } as never })).toThrow(
      `workers.each: ${none} perModel, total`,
    )
    expect(() => rig([], { worker: 1 } as never)).toThrow(`worker: ${none} limiter, workers, `)
    expect(() => memory({ clok: 1 } as never)).toThrow(
      `clok: ${none} rememberMs, leasesMax, actualFactorMax, clock`,
    )
  })

  it('LIMIT-16: a job of a class may carry fields for its own use', async () => {
    const { scheduler, job } = rig(limitsOf('m'))
    class Call {
      readonly answer = 42
      constructor(fields: object) {
        Object.assign(this, fields)
      }
      async execute() {
        return { value: this.answer }
      }
    }
    const { execute: _, ...fields } = job('a')
    const call = new Call(fields) as unknown as SchedulerJob<number>
    expect(await scheduler.submit(call)).toBe(42)
  })
})

describe('a signal', () => {
  it('is let go of when its job is over: one may be that of very many jobs', async () => {
    const { scheduler, job } = rig(limitsOf('m'))
    const { signal } = new AbortController()
    for (const done of [job('a'), job('b', { execute: () => Promise.reject(new Error('x')) })]) {
      await scheduler.submit(done, { signal }).catch(() => undefined)
    }
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

describe('shutdown', () => {
  it('SCHED-6: waits for answers under way, and gives back what they hold', async () => {
    const { limiter, scheduler, submit } = rig(limitsOf('m'))
    const never = submit('never')
    await scheduler.shutdown()
    await expect(never).rejects.toMatchObject({ code: 'SchedulerClosed' })
    expect((await limiter.get(modelKeys('p', 'm').concurrency))?.held).toBe(0)
    await expect(scheduler.shutdown({ deadline: -1 })).rejects.toThrow(/^deadline: /)
  })

  it('SCHED-6: waits for what runs, refuses what never ran, and takes no more', async () => {
    const { clock, limiter, scheduler, submit } = rig(limitsOf('m', { concurrency: 1 }))
    let end = () => {}
    const long = submit('long', {
      execute: () =>
        new Promise((done) => {
          end = () => done({ value: 'long' })
        }),
    })
    await clock.settle()
    const never = submit('never')
    await clock.settle()
    const down = scheduler.shutdown({ deadline: 1_000 })
    await expect(never).rejects.toMatchObject({ code: 'SchedulerClosed' })
    await expect(submit('after')).rejects.toMatchObject({ code: 'SchedulerClosed' })
    end()
    expect(await long).toBe('long')
    expect(await down).toEqual({ running: 0 })
    expect((await limiter.get(modelKeys('p', 'm').concurrency))?.held).toBe(0)
  })

  it('SCHED-6: at the deadline what still runs is told to stop, and counted', async () => {
    const { clock, scheduler, submit } = rig(limitsOf('m'))
    let stopped: unknown = null
    void submit('stubborn', {
      execute: ({ signal }) => {
        signal.addEventListener('abort', () => {
          stopped = signal.reason
        })
        return new Promise(() => {})
      },
    })
    await clock.settle()
    const down = scheduler.shutdown({ deadline: 1_000 })
    await clock.advance(1_000)
    expect(await down).toEqual({ running: 1 })
    expect(stopped).toMatchObject({ code: 'SchedulerClosed' })
  })
})

describe('what a provider says', () => {
  it('SCHED-7: a retry-after holds up that model alone', async () => {
    const { clock, scheduler, ran, submit } = rig([...limitsOf('m'), ...limitsOf('n')])
    await scheduler.feedback({ provider: 'p', model: 'm' }, { headers: { 'Retry-After': '2' } })
    void submit('m')
    void submit('n', { model: 'n' })
    await clock.advance(1_999)
    expect(ran.map(({ name }) => name)).toEqual(['n'])
    await clock.advance(1)
    expect(ran).toHaveLength(2)
  })

  it('SCHED-7: a job that ends does not lift the wait that the provider asked for', async () => {
    const { clock, scheduler, ran, submit } = rig(limitsOf('m', { concurrency: 1 }))
    let end = () => {}
    void submit('long', {
      execute: () =>
        new Promise((done) => {
          end = () => done({ value: 'long' })
        }),
    })
    await clock.settle()
    // Asked for, and to be denied, when the provider speaks.
    void submit('next')
    await scheduler.feedback({ provider: 'p', model: 'm' }, { 'retry-after': '10' })
    end()
    await clock.advance(9_999)
    expect(ran).toEqual([])
    await clock.advance(1)
    expect(ran).toHaveLength(1)
  })

  it('SCHED-7: less left than believed is reserved, and comes back with the window', async () => {
    const { clock, limiter, scheduler } = rig(limitsOf('m', { rpm: 100, tpm: 1_000 }))
    const { rpm, tpm } = modelKeys('p', 'm')
    const held = async (key: string) => (await limiter.get(key))?.held
    const says = {
      'x-ratelimit-limit-requests': '100',
      'x-ratelimit-remaining-requests': '40',
      'x-ratelimit-limit-tokens': '800',
      'x-ratelimit-remaining-tokens': '800',
    }
    for (let i = 0; i < 2; i++) await scheduler.feedback({ provider: 'p', model: 'm' }, says)
    expect([await held(rpm), await held(tpm)]).toEqual([60, 200])
    await clock.advance(60_000)
    expect([await held(rpm), await held(tpm)]).toEqual([0, 0])
  })
})
