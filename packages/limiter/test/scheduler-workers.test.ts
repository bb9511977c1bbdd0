import { TestClock } from '@fairlead/testkit'
import { describe, expect, it } from 'vitest'
import {
  createLimiter,
  createScheduler,
  type Limit,
  memory,
  modelKeys,
  type SchedulerOptions,
} from '../src/index.ts'

const START = 1_767_261_600_000

describe('workers', () => {
  it('SCHED-9: 8 calls of 2 s on one model hold up none of 8 calls of 10 ms on another', async () => {
    const { clock, submit } = rig({ workers: 4 })
    const slow = Array.from({ length: 8 }, () => submit('slow', 2_000))
    const fast = Array.from({ length: 8 }, () => submit('fast', 10))
    await clock.advance(100)
    for (const endedAt of await Promise.all(fast)) expect(endedAt).toBeLessThanOrEqual(100)
    await clock.advance(4_000)
    expect(await Promise.all(slow)).toEqual([...Array(4).fill(2_000), ...Array(4).fill(4_000)])
  })

  it('SCHED-9: a number is of each model, and never more run', async () => {
    const { clock, most, submit } = rig({ workers: 2 })
    for (const model of ['a', 'b', 'c']) for (let i = 0; i < 5; i++) void submit(model, 10)
    await clock.advance(30)
    expect(most).toEqual({ a: 2, b: 2, c: 2, all: 6 })
  })

  it('SCHED-9: a total is of all models, and half of it of one unless said otherwise', async () => {
    const { clock, most, submit } = rig({ workers: { total: 4 } })
    for (let i = 0; i < 5; i++) void submit('slow', 2_000)
    await clock.settle()
    expect(most).toEqual({ slow: 2, all: 2 })
    const fast = Array.from({ length: 8 }, () => submit('fast', 10))
    await clock.advance(100)
    for (const endedAt of await Promise.all(fast)) expect(endedAt).toBeLessThanOrEqual(100)
    expect(most).toEqual({ slow: 2, fast: 2, all: 4 })
    await clock.advance(6_000)
  })

  it('SCHED-9: with a total the models take turns, and the tenants of a model', async () => {
    const { clock, order, submit } = rig({ workers: { total: 1 } })
    for (const tenant of ['x', 'y']) {
      for (const model of ['a', 'b']) for (let i = 0; i < 3; i++) void submit(model, 1, tenant)
    }
    await clock.advance(20)
    const of = (model: string) => order.filter((name) => name.startsWith(model))
    // The first job of a model is asked for when it comes, before there is another tenant.
    const turns = ['x', 'x', 'y', 'x', 'y', 'y']
    expect(order.map(([model]) => model).join('')).toBe('abababababab')
    expect(of('a')).toEqual(turns.map((tenant) => `a ${tenant}`))
    expect(of('b').toSorted()).toEqual(['b x', 'b x', 'b x', 'b y', 'b y', 'b y'])
  })

  it('SCHED-9: both may be said', async () => {
    const { clock, most, submit } = rig({ workers: { perModel: 3, total: 5 } })
    for (const model of ['a', 'b']) for (let i = 0; i < 5; i++) void submit(model, 10)
    await clock.advance(40)
    expect(most).toEqual({ a: 3, b: 3, all: 5 })
  })

  it.each([
    [0, /^workers: /],
    [1.5, /^workers: /],
    [undefined, /^workers: /],
    [null, /^workers: expected an object with perModel, total/],
    [{}, /^workers: expected a number, or an object with perModel, total or both/],
    [{ perModel: 0 }, /^workers\.perModel: /],
    [{ total: 0 }, /^workers\.total: /],
  ])('SCHED-9: workers that are none are refused by name: %j', (workers, message) => {
    expect(() => rig({ workers: workers as never })).toThrow(message)
  })
})

/** Jobs that last a given time; their result is when they ended, in ms after the start. */
function rig(options: Pick<SchedulerOptions, 'workers'>) {
  const clock = new TestClock(START)
  const limits = ['a', 'b', 'c', 'slow', 'fast'].map(
    (model): Limit => ({
      key: modelKeys('p', model).rpm,
      kind: 'fixed',
      capacity: 1_000,
      windowSecs: 60,
    }),
  )
  const limiter = createLimiter({ backend: memory({ clock }), limits })
  const scheduler = createScheduler({ limiter, clock, ...options })
  const running = new Map<string, number>()
  const most: Record<string, number> = {}
  const order: string[] = []
  const count = (name: string, change: number): void => {
    const now = (running.get(name) ?? 0) + change
    running.set(name, now)
    most[name] = Math.max(most[name] ?? 0, now)
  }
  const submit = (model: string, ms: number, tenant = 't') =>
    scheduler.submit({
      tenant,
      provider: 'p',
      model,
      prompt: '',
      maxOutputTokens: 1,
      execute: async () => {
        order.push(`${model} ${tenant}`)
        for (const name of [model, 'all']) count(name, 1)
        await new Promise<void>((done) => clock.wakeAt(clock.now() + ms, done))
        for (const name of [model, 'all']) count(name, -1)
        return { value: clock.now() - START }
      },
    })
  return { clock, most, order, submit }
}
