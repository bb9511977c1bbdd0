import type { Limit, Limiter } from '@fairlead/core/limits'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { againstRules } from './against-rules.ts'
import { START, type TrialLimiter } from './trial-limiter.ts'

export { START, type TrialLimiter }

const rolling = (capacity: number, more: Partial<Limit> = {}): Limit =>
  ({ key: 'k', kind: 'rolling', capacity, windowSecs: 1, ...more }) as Limit
const fixed = (capacity: number): Limit => ({ key: 'k', kind: 'fixed', capacity, windowSecs: 60 })
const concurrency = (capacity: number, key = 'k'): Limit => ({
  key,
  kind: 'concurrency',
  capacity,
  timeoutSecs: 30,
})

/** What every backend has to do; one is correct when it passes. Needs Vitest. */
export function limiterConformance(
  name: string,
  { open }: { readonly open: (limits: readonly Limit[]) => Promise<TrialLimiter> },
): void {
  describe(`${name}: limits`, () => {
    let trial: TrialLimiter
    const use = async (...limits: Limit[]): Promise<Limiter> => {
      trial = await open(limits)
      return trial.limiter
    }
    const take = (id: string, amount: number, key = 'k') =>
      trial.limiter.reserve({ leaseId: id, requirements: [{ key, amount }] })
    const held = async (key = 'k') => (await trial.limiter.get(key))?.held
    beforeEach(() => {
      trial = { limiter: undefined as never, advance: () => {}, close: async () => {} }
    })
    afterEach(() => trial.close())

    againstRules(open)

    it('LIMIT-4: a rolling window frees a slice as a whole when its end is a window old', async () => {
      await use(rolling(10))
      expect(await take('a', 6)).toMatchObject({ allowed: true, reservedAtUnixMs: START })
      trial.advance(5)
      expect(await take('b', 6)).toMatchObject({ allowed: false, retryAfterMs: 1_011, error: null })
      trial.advance(1_010)
      expect(await held()).toBe(6)
      trial.advance(1)
      expect(await held()).toBe(0)
      expect(await take('c', 10)).toMatchObject({ allowed: true })
    })

    it('LIMIT-4: the wait is for as many slices as are needed', async () => {
      await use(rolling(4))
      for (const id of ['a', 'b', 'c', 'd']) {
        await take(id, 1)
        trial.advance(16)
      }
      expect(await take('e', 1)).toMatchObject({ retryAfterMs: 952 })
      expect(await take('f', 3)).toMatchObject({ retryAfterMs: 984 })
    })

    it('LIMIT-5: a fixed window ends at its boundary', async () => {
      await use(fixed(10))
      trial.advance(59_999)
      expect(await take('a', 10)).toMatchObject({ allowed: true })
      expect(await take('b', 1)).toMatchObject({ allowed: false, retryAfterMs: 1 })
      trial.advance(1)
      expect(await take('c', 10)).toMatchObject({ allowed: true })
    })

    it('LIMIT-6: concurrency is held until complete, or until its timeout', async () => {
      const limiter = await use(concurrency(2))
      await take('a', 1)
      trial.advance(7)
      await take('b', 1)
      expect(await take('c', 1)).toMatchObject({ allowed: false, retryAfterMs: 100 })
      await limiter.complete({ leaseId: 'a' })
      expect(await held()).toBe(1)
      trial.advance(29_999)
      expect(await held()).toBe(1)
      trial.advance(1)
      expect(await held()).toBe(0)
    })

    it('LIMIT-7: a bucket refills with time, and may go below zero at the end of a job', async () => {
      const limiter = await use({ key: 'k', kind: 'bucket', burst: 5, rate: 2 })
      await take('a', 5)
      expect(await take('b', 1)).toMatchObject({ allowed: false, retryAfterMs: 500 })
      await limiter.complete({ leaseId: 'a', actuals: [{ key: 'k', amount: 9 }] })
      expect((await limiter.get('k'))?.levelMicro).toBe(-4_000_000)
      trial.advance(2_499)
      expect(await take('c', 1)).toMatchObject({ allowed: false, retryAfterMs: 1 })
      trial.advance(1)
      expect(await take('d', 1)).toMatchObject({ allowed: true })
      trial.advance(60_000)
      expect((await limiter.get('k'))?.levelMicro).toBe(5_000_000)
    })

    it('LIMIT-8: all requirements are held, or none', async () => {
      const limiter = await use(rolling(10), concurrency(1, 'c'))
      const both = (leaseId: string, amount: number) =>
        limiter.reserve({
          leaseId,
          requirements: [
            { key: 'k', amount },
            { key: 'c', amount: 1 },
          ],
        })
      expect(await both('1', 5)).toMatchObject({ allowed: true })
      expect(await both('2', 5)).toMatchObject({ deniedKey: 'c', retryAfterMs: 100 })
      expect(await both('3', 6)).toMatchObject({ deniedKey: 'k', retryAfterMs: 1_016 })
      expect(await held()).toBe(5)
      expect(await held('c')).toBe(1)
    })

    it('LIMIT-8: a key that is named twice is added up', async () => {
      const limiter = await use(fixed(10))
      const twice = [4, 5].map((amount) => ({ key: 'k', amount }))
      expect(await limiter.reserve({ leaseId: 'a', requirements: twice })).toMatchObject({
        allowed: true,
      })
      expect(await take('a', 9)).toMatchObject({ allowed: true, reservedAtUnixMs: START })
      expect(await held()).toBe(9)
    })

    it('LIMIT-8: what can never be allowed is refused for good, and not remembered', async () => {
      const limiter = await use(fixed(10))
      const error = async (answer: Promise<{ error: string | null }>) => (await answer).error
      expect(await error(take('a', 1, 'x'))).toBe('unknown_limit_key:x')
      expect(await error(take('a', 11))).toBe('exceeds_capacity:k')
      expect(await error(take('a', 0))).toBe('invalid_request')
      expect(await error(take('', 1))).toBe('invalid_request')
      expect(await error(limiter.reserve({ leaseId: 'a', requirements: [] }))).toBe(
        'invalid_request',
      )
      expect(await take('a', 10)).toMatchObject({ allowed: true })
    })

    it('LIMIT-9: the same call again changes nothing, another one under its id is refused', async () => {
      const limiter = await use(rolling(10, { windowSecs: 60 }))
      await take('a', 4)
      trial.advance(10)
      expect(await take('a', 4)).toMatchObject({ allowed: true, reservedAtUnixMs: START })
      expect(await take('a', 5)).toMatchObject({ error: 'invalid_request' })
      expect(await held()).toBe(4)
      await limiter.complete({ leaseId: 'a' })
      expect(await take('a', 4)).toMatchObject({ error: 'lease_finished' })
    })

    it('LIMIT-10: a denied id stays denied for 60 s', async () => {
      await use(concurrency(1))
      await take('a', 1)
      await take('b', 1)
      trial.advance(59_999)
      expect(await take('b', 1)).toMatchObject({ error: 'lease_already_denied' })
      trial.advance(1)
      expect(await take('b', 1)).toMatchObject({ allowed: true })
    })

    it('LIMIT-10: an id that ran out is remembered for 60 s more', async () => {
      await use(rolling(10))
      await take('a', 1)
      trial.advance(1_016)
      expect(await take('a', 1)).toMatchObject({ error: 'lease_finished' })
      trial.advance(59_999)
      expect(await take('a', 1)).toMatchObject({ error: 'lease_finished' })
      trial.advance(1)
      expect(await take('a', 1)).toMatchObject({ allowed: true })
    })

    it('LIMIT-12: less than reserved is free at once, and what stays keeps its end', async () => {
      const limiter = await use(rolling(10))
      await take('a', 8)
      trial.advance(100)
      await limiter.complete({ leaseId: 'a', actuals: [{ key: 'k', amount: 3 }] })
      expect(await take('b', 7)).toMatchObject({ allowed: true })
      trial.advance(915)
      expect(await held()).toBe(10)
      trial.advance(1)
      expect(await held()).toBe(7)
    })

    it('LIMIT-12: more than reserved is held as debt, or dropped where it does not fit', async () => {
      const limiter = await use(rolling(10), rolling(10, { key: 'd', overage: 'deny' }))
      await take('a', 8)
      await take('b', 8, 'd')
      trial.advance(100)
      for (const [leaseId, key] of [
        ['a', 'k'],
        ['b', 'd'],
      ] as const) {
        await limiter.complete({ leaseId, actuals: [{ key, amount: 15 }] })
      }
      expect([await held(), await held('d')]).toEqual([15, 8])
      trial.advance(916)
      expect([await held(), await held('d')]).toEqual([7, 0])
    })

    it('LIMIT-12: an id that ran out is completed like any other, a repeated or unknown one is ok', async () => {
      const limiter = await use(rolling(10))
      await take('a', 4)
      trial.advance(2_000)
      const more = { leaseId: 'a', actuals: [{ key: 'k', amount: 7 }] }
      for (let i = 0; i < 2; i++) expect(await limiter.complete(more)).toMatchObject({ ok: true })
      expect(await limiter.complete({ ...more, leaseId: 'z' })).toMatchObject({ ok: true })
      expect(await held()).toBe(3)
      expect(await limiter.complete({ ...more, leaseId: '' })).toMatchObject({
        ok: false,
        error: 'invalid_request',
      })
    })

    it('LIMIT-19: an actual counts at most 16 times what was reserved, or the capacity if that is more', async () => {
      const limiter = await use(
        rolling(100),
        { ...fixed(3), key: 'f' },
        { key: 'b', kind: 'bucket', burst: 10, rate: 1 },
        concurrency(1, 'c'),
      )
      const most = 2 ** 53 - 1
      const all = [
        { key: 'k', amount: 1 },
        { key: 'f', amount: 3 },
        { key: 'b', amount: 1 },
        { key: 'c', amount: 1 },
      ]
      await limiter.reserve({ leaseId: 'a', requirements: all })
      const actuals = all.map(({ key }) => ({ key, amount: most }))
      expect(await limiter.complete({ leaseId: 'a', actuals })).toEqual({
        ok: true,
        error: null,
        detail: null,
        excess: [
          { key: 'k', amount: most - 100 },
          { key: 'f', amount: most - 48 },
          { key: 'b', amount: most - 16 },
        ],
      })
      expect([await held(), await held('f'), await held('c')]).toEqual([100, 48, 0])
      expect((await limiter.get('b'))?.levelMicro).toBe(-6_000_000)
      trial.advance(60_000)
      for (const { key, amount } of all) {
        expect(await take(`victim ${key}`, amount, key)).toMatchObject({ allowed: true })
      }
    })

    it('LIMIT-19: what counts in full is completed without a word', async () => {
      const limiter = await use(rolling(10))
      await take('a', 2)
      const done = await limiter.complete({ leaseId: 'a', actuals: [{ key: 'k', amount: 32 }] })
      expect(done).toEqual({ ok: true, error: null, detail: null })
      expect(await held()).toBe(32)
    })

    it('LIMIT-20: a reset frees all, and leases from before have no part in it any more', async () => {
      const bucket: Limit = { key: 'b', kind: 'bucket', burst: 10, rate: 1 }
      const limiter = await use(rolling(10, { windowSecs: 60 }), bucket, concurrency(1, 'c'))
      const all = [
        { key: 'k', amount: 8 },
        { key: 'b', amount: 8 },
        { key: 'c', amount: 1 },
      ]
      await limiter.reserve({ leaseId: 'a', requirements: all })
      expect(await limiter.reset('k')).toMatchObject({ held: 0 })
      expect(await limiter.reset('b')).toMatchObject({ levelMicro: 10_000_000 })
      expect(await limiter.reset('c')).toMatchObject({ held: 0 })
      expect(await limiter.reset('x')).toBeNull()
      // It has the same end as the other had.
      expect(await limiter.reserve({ leaseId: 'b', requirements: all })).toMatchObject({
        allowed: true,
      })
      const actuals = all.map(({ key }) => ({ key, amount: 0 }))
      expect(await limiter.complete({ leaseId: 'a', actuals })).toMatchObject({ ok: true })
      expect([await held(), await held('c')]).toEqual([8, 1])
      expect((await limiter.get('b'))?.levelMicro).toBe(2_000_000)
      await limiter.complete({ leaseId: 'b', actuals })
      expect([await held(), await held('c')]).toEqual([0, 0])
    })

    it('LIMIT-20: a lower capacity that waits is in force after a reset', async () => {
      const limiter = await use(fixed(10))
      await take('a', 8)
      await limiter.define(fixed(3))
      expect(await limiter.reset('k')).toMatchObject({ state: 'active', limit: { capacity: 3 } })
    })

    it('LIMIT-20: a deleted limit is unknown, and may be defined anew as another kind', async () => {
      const limiter = await use(rolling(10, { windowSecs: 60 }))
      await take('a', 8)
      expect(await limiter.delete('k')).toBe(true)
      expect(await limiter.delete('k')).toBe(false)
      expect([await limiter.get('k'), await limiter.list()]).toEqual([null, []])
      expect(await take('b', 1)).toMatchObject({ error: 'unknown_limit_key:k' })
      await limiter.define(concurrency(2))
      await take('c', 1)
      const actuals = [{ key: 'k', amount: 0 }]
      expect(await limiter.complete({ leaseId: 'a', actuals })).toMatchObject({ ok: true })
      expect(await held()).toBe(1)
    })

    it('LIMIT-13: a lower capacity waits until enough has ended, a higher one acts at once', async () => {
      const limiter = await use(concurrency(3))
      for (const id of ['a', 'b', 'c']) await take(id, 1)
      expect(await limiter.define(concurrency(1))).toMatchObject({
        state: 'decreasing',
        pendingDecreaseTo: 1,
      })
      expect(await take('d', 1)).toMatchObject({
        error: 'limit_decreasing:k',
        retryAfterMs: 10_000,
      })
      for (const leaseId of ['a', 'b']) await limiter.complete({ leaseId })
      expect(await limiter.get('k')).toMatchObject({ state: 'active', limit: { capacity: 1 } })
      await limiter.define(concurrency(2))
      expect(await take('e', 1)).toMatchObject({ allowed: true })
    })

    it('LIMIT-13: what is held keeps its end when the window changes', async () => {
      const limiter = await use(rolling(10, { windowSecs: 60 }))
      await take('a', 4)
      await limiter.define(rolling(10))
      await take('b', 4)
      await limiter.define(rolling(10, { windowSecs: 60 }))
      await take('c', 2)
      trial.advance(1_016)
      expect(await held()).toBe(6)
      await limiter.complete({ leaseId: 'a', actuals: [{ key: 'k', amount: 1 }] })
      expect(await held()).toBe(3)
    })

    it('LIMIT-13: another kind for a key is InvalidParams', async () => {
      const limiter = await use(fixed(3))
      await expect(limiter.define(concurrency(3))).rejects.toMatchObject({ code: 'InvalidParams' })
    })

    it('LIMIT-1: limits are listed in order of their keys, with all that was given', async () => {
      const limiter = await use(
        fixed(3),
        concurrency(1, 'b'),
        rolling(2, { key: 'a', unit: 'tokens', description: 'of a model' }),
      )
      const views = await limiter.list()
      expect(views.map(({ limit }) => limit.key)).toEqual(['a', 'b', 'k'])
      expect(views[0]?.limit).toEqual({
        key: 'a',
        kind: 'rolling',
        capacity: 2,
        windowSecs: 1,
        overage: 'debt',
        unit: 'tokens',
        description: 'of a model',
      })
      expect(await limiter.get('nothing')).toBeNull()
    })

    it('LIMIT-15: a batch is decided one by one, in order', async () => {
      const limiter = await use(fixed(10), concurrency(5, 'c'))
      const request = (leaseId: string, amount: number) => ({
        leaseId,
        requirements: [
          { key: 'k', amount },
          { key: 'c', amount: 1 },
        ],
      })
      const answers = await limiter.reserveMany([
        request('a', 6),
        request('b', 6),
        request('c', 4),
        request('', 1),
        request('a', 6),
        request('b', 1),
        { leaseId: 'd', requirements: [{ key: 'x', amount: 1 }] },
      ])
      expect(answers.map(({ allowed, error }) => error ?? allowed)).toEqual([
        true,
        false,
        true,
        'invalid_request',
        true,
        'lease_already_denied',
        'unknown_limit_key:x',
      ])
      const done = await limiter.completeMany([
        { leaseId: 'a', actuals: [{ key: 'k', amount: 1 }] },
        { leaseId: 'a', actuals: [{ key: 'k', amount: 5 }] },
        { leaseId: '' },
        { leaseId: 'c', actuals: [{ key: 'k', amount: 2 }] },
      ])
      expect(done.map(({ ok }) => ok)).toEqual([true, true, false, true])
      expect([await held(), await held('c')]).toEqual([3, 0])
    })

    it('LIMIT-15: a batch has 1 to 256 requests', async () => {
      const limiter = await use(fixed(300))
      const many = (count: number) =>
        Array.from({ length: count }, (_, i) => ({
          leaseId: `${i}`,
          requirements: [{ key: 'k', amount: 1 }],
        }))
      expect(await limiter.reserveMany(many(256))).toHaveLength(256)
      expect(await held()).toBe(256)
      for (const count of [0, 257]) {
        await expect(limiter.reserveMany(many(count))).rejects.toMatchObject({
          code: 'InvalidParams',
        })
      }
    })

    it('LIMIT-15: what is no request, or no batch, is InvalidParams, and nothing is done', async () => {
      const limiter = await use(fixed(10))
      const sound = { leaseId: 'a', requirements: [{ key: 'k', amount: 1 }] }
      const none = [null, undefined, 'a', 7] as unknown as (typeof sound)[]
      for (const one of none.slice(0, 2)) {
        await expect(limiter.reserve(one as typeof sound)).rejects.toThrow(/^request: expected/)
        await expect(limiter.complete(one as typeof sound)).rejects.toThrow(/^request: expected/)
      }
      for (const one of none) {
        const batch = [sound, one as typeof sound]
        await expect(limiter.reserveMany(batch)).rejects.toThrow(/^requests\[1\]: expected/)
        const done = [{ leaseId: 'a' }, one as typeof sound]
        await expect(limiter.completeMany(done)).rejects.toThrow(/^requests\[1\]: expected/)
        await expect(limiter.reserveMany(one as never)).rejects.toThrow(
          /^requests: expected a list/,
        )
      }
      expect(await held()).toBe(0)
    })

    it('LIMIT-16: a field that nobody reads is InvalidParams, the message lists the right ones, and nothing is done', async () => {
      const limiter = await use(fixed(10))
      const reserve = { leaseId: 'a', requirements: [{ key: 'k', amount: 1 }], ttl: 5 }
      await expect(limiter.reserve(reserve)).rejects.toThrow(
        /^request\.ttl: expected no such field; there are leaseId, requirements$/,
      )
      await expect(limiter.reserveMany([reserve])).rejects.toThrow(/^requests\[0\]\.ttl: /)
      const complete = { leaseId: 'a', actual: [{ key: 'k', amount: 1 }] }
      await expect(limiter.complete(complete)).rejects.toThrow(
        /^request\.actual: expected no such field; there are leaseId, actuals$/,
      )
      await expect(limiter.completeMany([complete])).rejects.toThrow(/^requests\[0\]\.actual: /)
      const item = { key: 'k', amount: 1, amout: 2 }
      await expect(limiter.reserve({ leaseId: 'a', requirements: [item] })).rejects.toThrow(
        /^request\.requirements\[0\]\.amout: expected no such field; there are key, amount$/,
      )
      await expect(limiter.completeMany([{ leaseId: 'a', actuals: [item] }])).rejects.toThrow(
        /^requests\[0\]\.actuals\[0\]\.amout: /,
      )
      expect(await held()).toBe(0)
    })

    it('LIMIT-15: many callers at once never get more than there is', async () => {
      await use(rolling(50), concurrency(40, 'c'))
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, i) =>
          trial.limiter.reserve({
            leaseId: `${i}`,
            requirements: [
              { key: 'k', amount: 1 },
              { key: 'c', amount: 1 },
            ],
          }),
        ),
      )
      expect(answers.filter(({ allowed }) => allowed)).toHaveLength(40)
      expect(await held()).toBe(40)
    })
  })
}
