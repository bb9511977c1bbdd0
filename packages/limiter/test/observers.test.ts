import { TestClock } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest'
import {
  createLimiter,
  createModelLimiter,
  createScheduler,
  type Limit,
  type Limiter,
  type ModelLimiterOptions,
  memory,
  modelKeys,
  type ObserverFailure,
  type SchedulerJob,
  type SchedulerOptions,
} from '../src/index.ts'

const START = 1_767_261_600_000
const BROKEN = new Error('broken observer')
const throws = (): never => {
  throw BROKEN
}
const rejects = () => Promise.reject(BROKEN)

let warn: MockInstance<(warning: string | Error) => void>
beforeEach(() => {
  warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {}) as typeof warn
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

const warnings = () => warn.mock.calls.map(([text]) => String(text))

describe.each([
  ['throws', throws],
  ['rejects', rejects],
])('an observer that %s', (_, observer) => {
  it('LIMIT-17: onDenied loses no result and stalls no queue, and is reported once', async () => {
    const { clock, submit } = scheduling({ onDenied: observer }, 1)
    const jobs = ['a', 'b', 'c'].map(submit)
    await clock.advance(180_000)
    expect(await Promise.all(jobs)).toEqual(['a', 'b', 'c'])
    expect(warnings()).toEqual([expect.stringMatching(/^onDenied failed: Error: broken observer/)])
  })

  it('LIMIT-17: onUnknown and onCompleteFailed change nothing for a job', async () => {
    const lost = { reserve: 1, complete: 50 }
    const { clock, scheduler, submit } = scheduling(
      { onUnknown: observer, onCompleteFailed: observer },
      10,
      lost,
    )
    const job = submit('a')
    await clock.advance(6_000)
    expect(await job).toBe('a')
    expect(await scheduler.shutdown()).toEqual({ running: 0 })
    expect(warnings().map((text) => text.split(' ')[0])).toEqual(['onUnknown', 'onCompleteFailed'])
  })

  it('LIMIT-17: those of a model limiter lose no result and no waiting job', async () => {
    const errors: ObserverFailure[] = []
    const { clock, limiter } = modelling({
      onOverage: observer,
      onPoolChange: observer,
      onRatioChange: observer,
      onAttempt: observer,
      onError: (failure) => errors.push(failure),
      ratioAdjustment: { releasesPerAdjustment: 2 },
    })
    const job = async () => ({ data: 'done', usage: { inputTokens: 20 } })
    const jobs = Array.from({ length: 6 }, () => limiter.run({ jobType: 'busy' }, job))
    await clock.advance(60_000)
    for (const result of await Promise.all(jobs)) expect(result.data).toBe('done')
    await clock.settle()
    const names = ['onAttempt', 'onOverage', 'onPoolChange', 'onRatioChange']
    expect(errors.map(({ observer: name }) => name).toSorted()).toEqual(names)
    for (const { error } of errors) expect(error).toBe(BROKEN)
    expect(warnings()).toEqual([])
    await limiter.close()
  })

  it('LIMIT-17: an onError that fails too ends as a warning of the process, with both errors', async () => {
    const { clock, submit } = scheduling({ onDenied: throws, onError: observer }, 1)
    void submit('a')
    const second = submit('b')
    await clock.advance(60_000)
    expect(await second).toBe('b')
    expect(warnings()).toEqual([
      expect.stringMatching(
        /^onDenied failed: [\s\S]*; then onError failed: Error: broken observer/,
      ),
    ])
  })
})

it('LIMIT-17: without a process the warning is one of the console', async () => {
  const { clock, submit } = scheduling({ onDenied: throws }, 1)
  const console_ = vi.spyOn(console, 'warn').mockImplementation(() => {})
  void submit('a')
  const second = submit('b')
  vi.stubGlobal('process', { ...process, emitWarning: undefined, nextTick: process.nextTick })
  await clock.advance(60_000)
  vi.unstubAllGlobals()
  expect(await second).toBe('b')
  expect(console_.mock.calls).toEqual([[expect.stringMatching(/^onDenied failed: /)]])
})

it.each([
  ['throws', throws],
  ['gives no number', () => Number.NaN],
])('LIMIT-17: a source of jitter that %s is one without jitter', async (_, random) => {
  const { clock, submit } = scheduling({ random }, 1)
  void submit('a')
  const second = submit('b')
  await clock.advance(60_000)
  expect(await second).toBe('b')
  expect(warnings()).toEqual([expect.stringMatching(/^random failed: /)])
})

it('LIMIT-17: an estimate is no observer: one that fails is the error of its job alone', async () => {
  const estimateTokens = ((prompt: string) => (prompt === 'broken' ? rejects() : 1)) as unknown as (
    prompt: string,
  ) => number
  const { clock, scheduler, job } = scheduling({ estimateTokens }, 10)
  const broken = scheduler.submit({ ...job('a'), prompt: 'broken' })
  await expect(broken).rejects.toThrow(/^estimateTokens: expected a whole number/)
  expect(await scheduler.submit(job('b'))).toBe('b')
  await clock.settle()
})

it('LIMIT-17: an observer that is no function is refused when it is given', () => {
  expect(() => scheduling({ onDenied: 'log' as never }, 1)).toThrow(
    /^onDenied: expected a function, or leave it out/,
  )
  expect(() => modelling({ onError: {} as never })).toThrow(/^onError: expected a function/)
})

/** A scheduler on a model with so many requests a minute; `lost` answers fail before others succeed. */
function scheduling(
  options: Partial<SchedulerOptions>,
  rpm: number,
  lost: { reserve?: number; complete?: number } = {},
) {
  const clock = new TestClock(START)
  const limits: Limit[] = [
    { key: modelKeys('p', 'm').rpm, kind: 'fixed', capacity: rpm, windowSecs: 60 },
  ]
  const inner = createLimiter({ backend: memory({ clock }), limits })
  let { reserve = 0, complete = 0 } = lost
  const limiter = {
    reserve: (request) =>
      reserve-- > 0 ? Promise.reject(new Error('lost')) : inner.reserve(request),
    complete: (request) =>
      complete-- > 0 ? Promise.reject(new Error('lost')) : inner.complete(request),
  } as Limiter
  const scheduler = createScheduler({ limiter, workers: 4, clock, random: () => 0, ...options })
  const job = (name: string): SchedulerJob<string> => ({
    tenant: 't',
    provider: 'p',
    model: 'm',
    prompt: '',
    maxOutputTokens: 1,
    execute: async () => ({ value: name }),
  })
  return { clock, scheduler, job, submit: (name: string) => scheduler.submit(job(name)) }
}

function modelling(options: Partial<ModelLimiterOptions>) {
  const clock = new TestClock(START)
  const limiter = createModelLimiter({
    clock,
    models: { gpt: { requestsPerMinute: 10 } },
    jobTypes: {
      busy: { estimatedTokens: 10, ratio: { initial: 0.2 } },
      idle: { estimatedTokens: 10, ratio: { initial: 0.8 } },
    },
    ...options,
  })
  return { clock, limiter }
}
