import { TestClock } from '@fairlead/testkit'
import { describe, expect, it } from 'vitest'
import {
  createModelLimiter,
  type ModelLimiterOptions,
  type RatioAdjustmentConfig,
} from '../src/index.ts'

const START = 1_767_261_600_000

function rig(options: Partial<ModelLimiterOptions>) {
  const clock = new TestClock(START)
  const models = { 'gpt-4': { maxConcurrentRequests: 100 } }
  const jobTypes = { chat: { estimatedUsedTokens: 1 } }
  const limiter = createModelLimiter({ clock, models, jobTypes, ...options })
  const ratios = () => {
    const { jobTypes: types } = limiter.stats()
    return Object.fromEntries(Object.entries(types).map(([name, { ratio }]) => [name, ratio]))
  }
  return { clock, limiter, ratios }
}

describe('the configuration of the design', () => {
  // As the design has it, to the letter.
  const resourceEstimations = {
    summary: {
      estimatedUsedTokens: 10000,
      ratio: { initialValue: 0.3 }, // Flexible by default
    },
    VacationPlanning: {
      estimatedUsedTokens: 2000,
      ratio: { initialValue: 0.4, flexible: false }, // FIXED
    },
  }

  it('SLOT-20: estimates and ratios are accepted under the names of the design', async () => {
    const { limiter, ratios } = rig({
      models: { 'openai/gpt-5.2': { tokensPerMinute: 250_000, requestsPerMinute: 250 } },
      jobTypes: { ...resourceEstimations, chat: { estimatedUsedTokens: 10_000 } },
    })
    expect(ratios()).toEqual({ summary: 0.3, VacationPlanning: 0.4, chat: 0.3 })
    const slots = (type: string) => limiter.stats().jobTypes[type]?.models['openai/gpt-5.2']?.slots
    expect(slots('summary')?.minute).toBe(7)
    expect(slots('VacationPlanning')?.minute).toBe(50)
    await limiter.run({ jobType: 'VacationPlanning' }, async () => ({ data: null }))
    expect(limiter.stats().models['openai/gpt-5.2']?.used.tpm).toBe(2_000)
  })

  it('SLOT-8: the ratios of the design alone are no whole, and the error says what to do', () => {
    expect(() => rig({ jobTypes: resourceEstimations })).toThrow(
      'ratios: expected a sum of 1, got 0.7; leave one out and it gets the rest',
    )
  })

  // Its defaults, written out.
  const defaults: RatioAdjustmentConfig = {
    highLoadThreshold: 0.7,
    lowLoadThreshold: 0.3,
    maxAdjustment: 0.2,
    minRatio: 0.01,
    adjustmentIntervalMs: 5000,
    releasesPerAdjustment: 10,
  }

  it.each([
    ['its defaults', undefined],
    ['its defaults written out', defaults],
  ])('SLOT-9: its example of an adjustment comes out with %s', async (_, ratioAdjustment) => {
    const { clock, limiter, ratios } = rig({
      jobTypes: {
        JobA: { estimatedUsedTokens: 1, ratio: { initialValue: 0.3 } },
        JobB: { estimatedUsedTokens: 1, ratio: { initialValue: 0.4 } },
        JobC: { estimatedUsedTokens: 1, ratio: { initialValue: 0.3, flexible: false } },
      },
      ...(ratioAdjustment === undefined ? {} : { ratioAdjustment }),
    })
    const endless = () => new Promise<never>(() => {})
    for (const [jobType, count] of Object.entries({ JobA: 5, JobB: 38, JobC: 10 })) {
      for (let i = 0; i < count; i++) void limiter.run({ jobType }, endless)
    }
    await clock.advance(4_999)
    expect(ratios()).toEqual({ JobA: 0.3, JobB: 0.4, JobC: 0.3 })
    await clock.advance(1)
    expect(ratios()).toEqual({ JobA: 0.133334, JobB: 0.566666, JobC: 0.3 })
    expect(limiter.stats().jobTypes['JobA']?.models['gpt-4']?.slots.concurrency).toBe(13)
    expect(limiter.stats().jobTypes['JobB']?.models['gpt-4']?.slots.concurrency).toBe(56)
  })
})

describe('the settings of adjustments', () => {
  /** `busy` runs 6 of its 10 of 20 slots, `idle` none; so the load of `busy` is 0.6. */
  async function busyRatio(ratioAdjustment: RatioAdjustmentConfig, ms = 5_000, releases = 0) {
    const { clock, limiter, ratios } = rig({
      models: { 'gpt-4': { maxConcurrentRequests: 20 } },
      jobTypes: { busy: { estimatedUsedTokens: 1 }, idle: { estimatedUsedTokens: 1 } },
      ratioAdjustment,
    })
    for (let i = 0; i < 6; i++) void limiter.run({ jobType: 'busy' }, () => new Promise(() => {}))
    for (let i = 0; i < releases; i++) {
      await limiter.run({ jobType: 'busy' }, async () => ({ data: null }))
    }
    await clock.advance(ms)
    return ratios()['busy']
  }

  it('SLOT-20: each has the name and the meaning that the design gives it', async () => {
    expect(await busyRatio({})).toBe(0.5)
    expect(await busyRatio({ highLoadThreshold: 0.6 })).toBe(0.5)
    expect(await busyRatio({ highLoadThreshold: 0.599999 })).toBe(0.7)
    expect(await busyRatio({ highLoadThreshold: 0.5, maxAdjustment: 0.123456 })).toBe(0.623456)
    expect(await busyRatio({ highLoadThreshold: 0.5, minRatio: 0.45 })).toBe(0.55)
    expect(await busyRatio({ highLoadThreshold: 0.5, lowLoadThreshold: 0 })).toBe(0.5)
    expect(await busyRatio({ highLoadThreshold: 0.5, adjustmentIntervalMs: 5_001 })).toBe(0.5)
    expect(await busyRatio({ highLoadThreshold: 0.5, adjustmentIntervalMs: 20 }, 20)).toBe(0.7)
    expect(await busyRatio({ highLoadThreshold: 0.5, releasesPerAdjustment: 3 }, 0, 2)).toBe(0.5)
    expect(await busyRatio({ highLoadThreshold: 0.5, releasesPerAdjustment: 3 }, 0, 3)).toBe(0.7)
  })

  it.each([
    [{ ratioAdjustment: { lowPpm: 300_000 } }, /^ratioAdjustment\.lowPpm: expected no such field/],
    [{ adjust: {} }, /^adjust: expected no such field; there are .*ratioAdjustment/],
    [
      { ratioAdjustment: { minRatio: 0.0000001 } },
      'ratioAdjustment.minRatio: expected a number from 0 to 1 with at most six decimals, got 1e-7',
    ],
    [{ ratioAdjustment: { maxAdjustment: 1.5 } }, /^ratioAdjustment\.maxAdjustment: .*got 1\.5$/],
    [{ ratioAdjustment: { highLoadThreshold: '0.7' } }, /got a value of type string$/],
    [
      { ratioAdjustment: { lowLoadThreshold: 0.8 } },
      'ratioAdjustment.lowLoadThreshold: expected at most highLoadThreshold (0.7), got 0.8',
    ],
    [{ ratioAdjustment: { adjustmentIntervalMs: 0 } }, /^ratioAdjustment\.adjustmentIntervalMs: /],
    [{ ratioAdjustment: { releasesPerAdjustment: 0.5 } }, /\.releasesPerAdjustment: /],
    [
      { jobTypes: { a: { estimatedUsedTokens: 1, ratio: { initialValue: 0.1234567 } } } },
      'jobTypes.a.ratio.initialValue: expected a number from 0 to 1 with at most six decimals, got 0.1234567',
    ],
    [
      { jobTypes: { a: { estimatedUsedTokens: 1, ratio: { initialValue: 0.3000000000001 } } } },
      /^jobTypes\.a\.ratio\.initialValue: .*at most six decimals/,
    ],
    [{ jobTypes: { a: { estimatedUsedTokens: 0.5 } } }, /^jobTypes\.a\.estimatedUsedTokens: /],
    [{ jobTypes: { a: { estimatedTokens: 0.5 } } }, /^jobTypes\.a\.estimatedTokens: /],
    [
      { jobTypes: { a: { estimatedUsedTokens: 1, estimatedTokens: 1 } } },
      'jobTypes.a.estimatedUsedTokens: expected either estimatedUsedTokens or estimatedTokens, got both; leave estimatedTokens out',
    ],
    [
      { jobTypes: { a: { estimatedUsedTokens: 1, ratio: { initialValue: 1, initial: 1 } } } },
      'jobTypes.a.ratio.initialValue: expected either initialValue or initial, got both; leave initial out',
    ],
  ])('SLOT-20: a setting that cannot be taken is refused by its name: %j', (options, message) => {
    expect(() => rig(options as never)).toThrow(message)
  })

  it('SLOT-20: fractions of six decimals are exact', () => {
    for (const initialValue of [0, 1, 0.29, 0.57, 0.000001, 0.999999, 0.123457]) {
      const { ratios } = rig({
        jobTypes: {
          a: { estimatedUsedTokens: 1, ratio: { initialValue } },
          b: { estimatedTokens: 1 },
        },
      })
      expect(ratios()['a']).toBe(initialValue)
    }
  })
})
