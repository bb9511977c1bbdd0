import { TestClock } from '@fairlead/testkit'
import { test } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createModelLimiter, type JobTypeOptions, type ModelOptions } from '../src/index.ts'

const START = 1_767_261_600_000
/** Patient, so that a job waits as long as a test lasts. */
const maxWaitMs = 86_400_000

describe('what flooring leaves over', () => {
  it.each([true, false])(
    'SLOT-18: a pool of 5, ratios 0.5 and 0.5, 4 + 4 wanted: five run (flexible: %s)',
    async (flexible) => {
      const ratio = { initial: 0.5, flexible }
      const { clock, run, inFlight } = rig(
        { maxConcurrentRequests: 5 },
        { a: { ratio, maxWaitMs }, b: { ratio, maxWaitMs } },
      )
      for (let i = 0; i < 4; i++) for (const type of ['a', 'b']) run(type)
      await clock.settle()
      expect(Object.values(inFlight()).toSorted()).toEqual([2, 3])
    },
  )

  it('SLOT-18: 100,000 tokens a minute and three types of 20,000: all of them are used', async () => {
    const type = { estimatedTokens: 20_000, maxWaitMs }
    const { clock, limiter, run } = rig({ tokensPerMinute: 100_000 }, { a: type, b: type, c: type })
    for (let i = 0; i < 5; i++) for (const name of ['a', 'b', 'c']) run(name)
    await clock.settle()
    expect(limiter.stats().models['gpt']?.used.tpm).toBe(100_000)
  })

  it('SLOT-18: slots at one time of an idle type are lent, and go back with the next release', async () => {
    const { clock, run, end, inFlight } = rig(
      { maxConcurrentRequests: 4 },
      { a: { maxWaitMs }, b: { maxWaitMs } },
    )
    for (let i = 0; i < 6; i++) run('a')
    await clock.settle()
    expect(inFlight()).toEqual({ a: 4, b: 0 })
    for (let i = 0; i < 3; i++) run('b')
    await clock.settle()
    expect(inFlight()).toEqual({ a: 4, b: 0 })
    await end('a')
    expect(inFlight()).toEqual({ a: 3, b: 1 })
    await end('a')
    expect(inFlight()).toEqual({ a: 2, b: 2 })
    // Both have their own: who has waited longer goes first.
    await end('b')
    expect(inFlight()).toEqual({ a: 2, b: 2 })
    await end('b')
    expect(inFlight()).toEqual({ a: 3, b: 1 })
  })

  it('SLOT-18: slots of a window are not lent: they would come back with the next window only', async () => {
    const type = { estimatedTokens: 10_000, maxWaitMs, ratio: { initial: 0.5, flexible: false } }
    const { clock, run, started } = rig({ tokensPerMinute: 50_000 }, { a: type, b: type })
    for (let i = 0; i < 5; i++) run('a', { isShort: true })
    await clock.settle()
    expect(started()).toEqual({ a: 3, b: 0 })
    for (let i = 0; i < 3; i++) run('b', { isShort: true })
    await clock.settle()
    expect(started()).toEqual({ a: 3, b: 2 })
    await clock.advance(60_000)
    expect(started()).toEqual({ a: 5, b: 3 })
  })

  it('SLOT-18: a waiting job that is larger than the limit keeps nobody from borrowing', async () => {
    const { clock, run, started } = rig(
      { tokensPerMinute: 100 },
      {
        a: { estimatedTokens: 40, maxWaitMs, ratio: { initial: 0.4 } },
        huge: { estimatedTokens: 101, maxWaitMs, ratio: { initial: 0.6 } },
      },
    )
    run('huge')
    for (let i = 0; i < 3; i++) run('a', { isShort: true })
    await clock.settle()
    expect(started()).toEqual({ a: 2, huge: 0 })
  })

  it('SLOT-18: a job that gives up waiting lets a borrower go', async () => {
    const { clock, run, inFlight } = rig(
      { maxConcurrentRequests: 3, tokensPerMinute: 1_000 },
      {
        a: { estimatedTokens: 0, maxWaitMs },
        b: { estimatedTokens: 300, maxWaitMs: 1_000 },
        idle: { estimatedTokens: 0 },
      },
    )
    // 270 tokens remain: two slots at one time, and too little for b, which has one of its own.
    run('a', { isShort: true, inputTokens: 730 })
    await clock.settle()
    run('b')
    for (let i = 0; i < 2; i++) run('a')
    await clock.advance(999)
    expect(inFlight()).toEqual({ a: 1, b: 0, idle: 0 })
    await clock.advance(1)
    expect(inFlight()).toEqual({ a: 2, b: 0, idle: 0 })
  })

  it('SLOT-9: a type that has borrowed is full, and no more than that', async () => {
    const ratios: object[] = []
    const { clock, run } = rig(
      { maxConcurrentRequests: 10 },
      {
        a: { maxWaitMs, ratio: { initial: 0.2 } },
        b: { maxWaitMs, ratio: { initial: 0.2 } },
        c: { maxWaitMs, ratio: { initial: 0.6 } },
      },
      (change) => ratios.push(change),
    )
    for (let i = 0; i < 2; i++) run('b')
    for (let i = 0; i < 8; i++) run('a')
    await clock.advance(5_000)
    // 8 of 2 and 2 of 2 are the same load, so c's 0.2 are shared equally.
    expect(ratios).toEqual([{ a: 0.3, b: 0.3, c: 0.4 }])
  })

  const NAMES = ['a', 'b', 'c'] as const
  const anyStep = fc.record({
    act: fc.constantFrom('run', 'run', 'end'),
    type: fc.constantFrom(...NAMES),
  })

  test.prop([
    fc.integer({ min: 3, max: 11 }),
    fc.integer({ min: 1, max: 8 }),
    fc.array(anyStep, { maxLength: 60 }),
  ])(
    'SLOT-18: all slots at one time are used, never more, and each release goes first to who has a free slot of its own',
    async (capacity, tenths, steps) => {
      const ratio = (initial: number) => ({ initial, flexible: false })
      const { clock, limiter, run, end, inFlight, waiting } = rig(
        { maxConcurrentRequests: capacity },
        {
          a: { maxWaitMs, ratio: ratio(tenths / 10) },
          b: { maxWaitMs, ratio: ratio((9 - tenths) / 10) },
          c: { maxWaitMs, ratio: ratio(0.1) },
        },
      )
      const slotsOf = (type: string) =>
        limiter.stats().jobTypes[type]?.models['gpt']?.slots.concurrency ?? 0
      for (const { act, type } of steps) {
        const before = inFlight()
        if (act === 'run') {
          run(type)
          await clock.settle()
        } else if ((before[type] ?? 0) > 0) {
          before[type] = (before[type] ?? 0) - 1
          const entitled = NAMES.filter(
            (name) => waiting(name) > 0 && (before[name] ?? 0) < slotsOf(name),
          )
          await end(type)
          const after = inFlight()
          const gained = NAMES.filter((name) => (after[name] ?? 0) > (before[name] ?? 0))
          if (entitled.length > 0) for (const name of gained) expect(entitled).toContain(name)
        }
        const running = Object.values(inFlight()).reduce((sum, n) => sum + n, 0)
        const wanted = NAMES.reduce((sum, name) => sum + waiting(name), running)
        expect(running).toBe(Math.min(capacity, wanted))
      }
    },
  )

  test.prop([
    fc.integer({ min: 300, max: 2_000 }),
    fc.array(fc.constantFrom(...NAMES), { maxLength: 80 }),
  ])(
    'SLOT-18: of a minute each type can always start its own slots, and no more than the limit starts',
    async (tokensPerMinute, types) => {
      const estimates = { a: 30, b: 50, c: 70 }
      const type = (name: keyof typeof estimates, initial: number) => ({
        estimatedTokens: estimates[name],
        maxWaitMs,
        ratio: { initial, flexible: false },
      })
      const { clock, limiter, run, started, waiting } = rig(
        { tokensPerMinute },
        { a: type('a', 0.2), b: type('b', 0.3), c: type('c', 0.5) },
      )
      // A large limit on slots at one time, which these estimates make small, is not what this is about.
      for (const name of types) {
        run(name, { isShort: true })
        await clock.settle()
      }
      const used = limiter.stats().models['gpt']?.used.tpm ?? 0
      expect(used).toBeLessThanOrEqual(tokensPerMinute)
      for (const name of NAMES) {
        const own = limiter.stats().jobTypes[name]?.models['gpt']?.slots.minute ?? 0
        const wanted = (started()[name] ?? 0) + waiting(name)
        expect(started()[name] ?? 0).toBeGreaterThanOrEqual(Math.min(wanted, own))
      }
      // Where all of them want more, what is left is too little for any.
      if (NAMES.every((name) => waiting(name) > 0)) expect(tokensPerMinute - used).toBeLessThan(30)
    },
  )
})

/** One model, and jobs that run until they are ended, or end at once. */
function rig(
  gpt: ModelOptions,
  jobTypes: Readonly<Record<string, JobTypeOptions>>,
  onRatioChange: (ratios: object) => void = () => {},
) {
  const clock = new TestClock(START)
  const limiter = createModelLimiter({ clock, models: { gpt }, jobTypes, onRatioChange })
  const running = new Map<string, (() => void)[]>(Object.keys(jobTypes).map((name) => [name, []]))
  const starts = new Map<string, number>(Object.keys(jobTypes).map((name) => [name, 0]))
  const run = (
    type: string,
    { isShort = false, inputTokens }: { isShort?: boolean; inputTokens?: number } = {},
  ): void => {
    const job = async () => {
      starts.set(type, (starts.get(type) ?? 0) + 1)
      if (!isShort) await new Promise<void>((done) => running.get(type)?.push(done))
      return { data: null, ...(inputTokens === undefined ? {} : { usage: { inputTokens } }) }
    }
    limiter.run({ jobType: type }, job).catch(() => undefined)
  }
  const end = async (type: string): Promise<void> => {
    running.get(type)?.shift()?.()
    await clock.settle()
  }
  const ofModel = (type: string) => limiter.stats().jobTypes[type]?.models['gpt']
  const inFlight = (): Record<string, number> =>
    Object.fromEntries(Object.keys(jobTypes).map((type) => [type, ofModel(type)?.inFlight ?? 0]))
  const started = (): Record<string, number> => Object.fromEntries(starts)
  const waiting = (type: string): number => ofModel(type)?.waiting ?? 0
  return { clock, limiter, run, end, inFlight, started, waiting }
}
