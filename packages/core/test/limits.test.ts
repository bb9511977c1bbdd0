import { test } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import type { Limit } from '../src/index.ts'
import type { Requirement } from '../src/internal.ts'
import { Limits } from '../src/limits/limits.ts'
import { anyScript, type LimitStep } from './any-limits.ts'
import { PlainLimits } from './plain-limits.ts'
import { refusal } from './refusal.ts'

const START = 1_767_261_600_000
const rolling = (capacity: number, windowSecs = 1, more: object = {}): Limit => ({
  key: 'k',
  kind: 'rolling',
  capacity,
  windowSecs,
  ...more,
})

function limiter(...limits: Limit[]): Limits {
  const all = new Limits()
  for (const limit of limits) all.define(limit, START)
  return all
}

function k(amount: number): Requirement[] {
  return [{ key: 'k', amount }]
}

describe('against the plain rules', () => {
  test.prop([anyScript], { numRuns: 400 })(
    'LIMIT-3: every answer and every view is what the plain rules give',
    (script) => {
      const limits = new Limits()
      const plain = new PlainLimits()
      for (const step of script) {
        expect(run(limits, step)).toEqual(runPlain(plain, step))
        for (const view of limits.list(step.at)) {
          const { limit, pendingDecreaseTo, held, levelMicro } = view
          const capacity = limit.kind === 'bucket' ? limit.burst : limit.capacity
          const shown = {
            capacity,
            decreasingTo: pendingDecreaseTo,
            amount: String(held ?? levelMicro),
          }
          expect(shown).toEqual(plain.view(limit.key, step.at))
        }
      }
    },
  )

  test.prop([anyScript], { numRuns: 200 })(
    'LIMIT-14: a limiter restored from its state, as JSON, answers as the old one would have',
    (script) => {
      const whole = new Limits()
      let restored = new Limits()
      for (const step of script) {
        restored = Limits.restore(JSON.parse(JSON.stringify(restored.state())))
        expect(run(restored, step)).toEqual(run(whole, step))
      }
      expect(restored.state()).toEqual(whole.state())
    },
  )

  test.prop([anyScript], { numRuns: 300 })(
    'LIMIT-4: no span of a rolling window ever admits more than the capacity',
    (script) => {
      const capacity = 10
      const limits = limiter(rolling(capacity, 2))
      const admitted: [at: number, amount: number][] = []
      let at = START
      for (const step of script) {
        at = Math.max(at, step.at)
        if (step.op === 'define') continue
        const amount = step.amounts[0]?.amount ?? 1
        const id = `${admitted.length}-${at}-${Math.max(1, amount)}`
        if (limits.reserve(id, k(Math.max(1, amount)), at).allowed) admitted.push([at, amount])
        const last = admitted.filter(([t]) => at - t < 2_000)
        expect(last.reduce((sum, [, n]) => sum + n, 0)).toBeLessThanOrEqual(capacity)
      }
    },
  )
})

describe('definitions', () => {
  it.each([
    ['key', { ...rolling(1), key: '' }],
    ['key', { ...rolling(1), key: 'é'.repeat(129) }],
    ['key', { ...rolling(1), key: 'half a pair: \ud800' }],
    ['kind', { ...rolling(1), kind: 'sliding' }],
    ['capacity', rolling(0)],
    ['capacity', rolling(1.5)],
    ['capacity', rolling(2 ** 53)],
    ['windowSecs', rolling(1, 0)],
    ['timeoutSecs', { key: 'k', kind: 'concurrency', capacity: 1 }],
    ['rate', { key: 'k', kind: 'bucket', burst: 1, rate: 0 }],
    ['rate', { key: 'k', kind: 'bucket', burst: 1, rate: 0.0001 }],
    ['overage', rolling(1, 1, { overage: 'ignore' })],
    ['timeoutSecs', rolling(1, 1, { timeoutSecs: 3 })],
    ['limit', null],
  ])('LIMIT-1: a malformed limit is InvalidParams naming %s', (field, limit) => {
    const define = () => limiter().define(limit, START)
    expect(define).toThrow(expect.objectContaining({ code: 'InvalidParams', details: { field } }))
  })

  it('LIMIT-2: a key of 256 bytes is fine, overage is debt unless given', () => {
    const { limit } = limiter().define({ ...rolling(1), key: 'é'.repeat(128) }, START)
    expect(limit.overage).toBe('debt')
  })

  it('LIMIT-13: another kind for a key is InvalidParams and changes nothing', () => {
    const limits = limiter(rolling(5))
    const fixed = { key: 'k', kind: 'fixed', capacity: 9, windowSecs: 1 }
    expect(refusal(() => limits.define(fixed, START))).toBe('InvalidParams')
    expect(limits.get('k', START)?.limit).toMatchObject({ kind: 'rolling', capacity: 5 })
  })

  it('LIMIT-13: a lower capacity waits with the fields that came with it', () => {
    const limits = limiter(rolling(10, 1))
    limits.reserve('a', k(6), START)
    limits.define(rolling(5, 60), START)
    expect(limits.get('k', START)).toMatchObject({
      state: 'decreasing',
      pendingDecreaseTo: 5,
      limit: { capacity: 10, windowSecs: 1 },
    })
    expect(limits.reserve('b', k(6), START)).toMatchObject({ error: 'exceeds_capacity:k' })
    expect(limits.reserve('c', k(1), START)).toMatchObject({ error: 'limit_decreasing:k' })
    expect(limits.get('k', START + 1_016)).toMatchObject({
      state: 'active',
      limit: { capacity: 5, windowSecs: 60 },
    })
  })

  it('LIMIT-13: a capacity raised again takes back the decrease', () => {
    const limits = limiter(rolling(10))
    limits.reserve('a', k(6), START)
    limits.define(rolling(5), START)
    limits.define(rolling(12), START)
    expect(limits.reserve('b', k(6), START)).toMatchObject({ allowed: true })
  })

  it('LIMIT-7: a smaller burst cuts the level at once, a larger one does not fill it', () => {
    const bucket = (burst: number): Limit => ({ key: 'k', kind: 'bucket', burst, rate: 1 })
    const limits = limiter(bucket(5))
    expect(limits.define(bucket(2), START).levelMicro).toBe(2_000_000)
    expect(limits.define(bucket(9), START).levelMicro).toBe(2_000_000)
  })
})

describe('kinds', () => {
  it('LIMIT-5: a fixed window is counted from the Unix epoch', () => {
    const limits = limiter({ key: 'k', kind: 'fixed', capacity: 2, windowSecs: 60 })
    limits.reserve('a', k(2), START + 59_999)
    expect(limits.get('k', START + 59_999)?.held).toBe(2)
    expect(limits.get('k', START + 60_000)?.held).toBe(0)
  })

  it('LIMIT-6: a concurrency hold that nobody completes ends at its timeout', () => {
    const limits = limiter({ key: 'k', kind: 'concurrency', capacity: 1, timeoutSecs: 30 })
    limits.reserve('a', k(1), START)
    expect(limits.get('k', START + 29_999)?.held).toBe(1)
    expect(limits.get('k', START + 30_000)?.held).toBe(0)
  })

  it('LIMIT-6: thousands that come and go leave nothing behind', () => {
    const limits = limiter({ key: 'k', kind: 'concurrency', capacity: 10, timeoutSecs: 300 })
    for (let i = 0; i < 5_000; i++) {
      expect(limits.reserve(`${i}`, k(1), START + i)).toMatchObject({ allowed: true })
      if (i >= 5) limits.complete(`${i - 5}`, [], START + i)
    }
    expect(limits.get('k', START + 5_000)?.held).toBe(5)
  })

  it('LIMIT-11: the slowest of the keys that do not fit says when to ask again', () => {
    const limits = limiter(rolling(5), { key: 'b', kind: 'bucket', burst: 5, rate: 1 })
    const both = [...k(5), { key: 'b', amount: 5 }]
    limits.reserve('a', both, START)
    expect(limits.reserve('b', both, START)).toMatchObject({ deniedKey: 'k', retryAfterMs: 5_000 })
    expect(limits.reserve('c', k(1), START + 1_015)).toMatchObject({ retryAfterMs: 1 })
  })
})

describe('reserve', () => {
  it.each([
    ['', k(1), 'lease_id'],
    ['x'.repeat(257), k(1), 'lease_id'],
    ['a', [], 'requirements'],
    ['a', Array.from({ length: 33 }, () => ({ key: 'k', amount: 1 })), 'requirements'],
    ['a', [{ key: 'k', amount: 0 }], 'requirements[0].amount'],
    ['a', [...k(1), { key: 'k', amount: 2 ** 53 }], 'requirements[1].amount'],
    ['a', [{ key: '', amount: 1 }], 'requirements[0].key'],
  ])(
    'LIMIT-8: a malformed reserve is invalid_request, and says why: %s %j',
    (id, wanted, field) => {
      const answer = limiter(rolling(10)).reserve(id, wanted, START)
      expect(answer).toMatchObject({ allowed: false, error: 'invalid_request', retryAfterMs: 0 })
      expect(answer.detail).toContain(field)
    },
  )

  it('LIMIT-8: 32 requirements are fine, and amounts up to 2^53 − 1 are exact', () => {
    const limits = limiter(rolling(Number.MAX_SAFE_INTEGER))
    const most = Number.MAX_SAFE_INTEGER - 31
    const wanted = Array.from({ length: 32 }, (_, i) => ({ key: 'k', amount: i === 0 ? most : 1 }))
    expect(limits.reserve('a', wanted, START)).toMatchObject({ allowed: true })
    expect(limits.reserve('b', k(1), START)).toMatchObject({ allowed: false, deniedKey: 'k' })
    limits.complete('a', k(Number.MAX_SAFE_INTEGER), START)
    expect(limits.get('k', START)?.held).toBe(Number.MAX_SAFE_INTEGER)
  })

  it('LIMIT-12: debts beyond 2^53 stay exact', () => {
    const most = Number.MAX_SAFE_INTEGER
    const limits = limiter(rolling(most))
    for (const id of ['a', 'b', 'c']) {
      limits.reserve(id, k(1), START)
    }
    for (const id of ['a', 'b', 'c']) limits.complete(id, k(most), START)
    expect(limits.get('k', START)?.held).toBe(3n * BigInt(most))
    expect(limits.reserve('d', k(1), START).retryAfterMs).toBe(1_016)
    expect(limits.get('k', START + 1_016)?.held).toBe(0)
  })

  it('LIMIT-9: other requirements under a held id are invalid_request, in another order the same', () => {
    const limits = limiter(rolling(10), { ...rolling(10), key: 'l' })
    const both = [...k(1), { key: 'l', amount: 2 }]
    limits.reserve('a', both, START)
    expect(limits.reserve('a', both.toReversed(), START + 1)).toMatchObject({
      allowed: true,
      reservedAtUnixMs: START,
    })
    expect(limits.reserve('a', k(1), START + 1)).toMatchObject({ error: 'invalid_request' })
  })

  it('LIMIT-10: a denied id is remembered for 60 s from its denial, not from the last question', () => {
    const limits = limiter({ key: 'k', kind: 'concurrency', capacity: 1, timeoutSecs: 1 })
    limits.reserve('a', k(1), START)
    limits.reserve('b', k(1), START)
    expect(limits.reserve('b', k(1), START + 59_999)).toMatchObject({
      error: 'lease_already_denied',
    })
    expect(limits.reserve('b', k(1), START + 60_000)).toMatchObject({ allowed: true })
  })

  it('LIMIT-10: a held id is remembered until its last hold ends and 60 s more', () => {
    const limits = limiter({ key: 'k', kind: 'concurrency', capacity: 1, timeoutSecs: 1 })
    limits.reserve('a', k(1), START)
    expect(limits.reserve('a', k(1), START + 999)).toMatchObject({ reservedAtUnixMs: START })
    expect(limits.reserve('a', k(1), START + 1_000)).toMatchObject({ error: 'lease_finished' })
    expect(limits.reserve('a', k(1), START + 60_999)).toMatchObject({ error: 'lease_finished' })
    expect(limits.reserve('a', k(1), START + 61_000)).toMatchObject({ allowed: true })
  })

  it("LIMIT-10: a bucket's hold lasts for the time that it takes to fill", () => {
    const limits = limiter({ key: 'k', kind: 'bucket', burst: 5, rate: 2 })
    limits.reserve('a', k(1), START)
    expect(limits.reserve('a', k(1), START + 2_499)).toMatchObject({ allowed: true })
    expect(limits.reserve('a', k(1), START + 2_500)).toMatchObject({ error: 'lease_finished' })
  })

  it('LIMIT-10: above the maximum the oldest id is forgotten first', () => {
    const limits = new Limits({ leasesMax: 3 })
    limits.define(rolling(10), START)
    for (const id of ['a', 'b', 'c', 'd']) limits.reserve(id, k(1), START)
    const held = () => limits.get('k', START)?.held
    expect(limits.reserve('b', k(1), START)).toMatchObject({ allowed: true })
    expect(held()).toBe(4)
    expect(limits.reserve('a', k(1), START)).toMatchObject({ allowed: true })
    expect(held()).toBe(5)
  })

  it('LIMIT-10: ids that are over leave no trace', () => {
    const limits = new Limits({ rememberMs: 10 })
    limits.define(rolling(1_000_000), START)
    for (let i = 0; i < 5_000; i++) {
      limits.reserve(`${i}`, k(1), START + i)
      limits.complete(`${i}`, [], START + i)
    }
    expect(limits.state().leases.length).toBeLessThan(20)
  })
})

describe('complete', () => {
  it('LIMIT-12: an id that ran out but is remembered is completed like any other', () => {
    const limits = limiter(rolling(10))
    limits.reserve('a', k(4), START)
    limits.complete('a', k(7), START + 2_000)
    expect(limits.get('k', START + 2_000)?.held).toBe(3)
    expect(limits.reserve('a', k(4), START + 2_000)).toMatchObject({ error: 'lease_finished' })
  })

  it('LIMIT-12: while decreasing, what goes beyond the estimate has to fit the new capacity', () => {
    const limits = limiter(rolling(10, 1, { overage: 'deny' }))
    limits.reserve('a', k(3), START)
    limits.reserve('b', k(5), START)
    limits.define(rolling(6, 1, { overage: 'deny' }), START)
    limits.complete('a', k(4), START)
    expect(limits.get('k', START)?.held).toBe(8)
  })

  it.each([
    ['', k(1)],
    ['a', k(-1)],
    ['a', k(0.5)],
  ])(
    'LIMIT-12: a malformed complete is invalid_request and changes nothing: %j %j',
    (id, actuals) => {
      const limits = limiter(rolling(10))
      limits.reserve('a', k(4), START)
      expect(limits.complete(id, actuals, START)).toMatchObject({
        ok: false,
        error: 'invalid_request',
      })
      expect(limits.get('k', START)?.held).toBe(4)
    },
  )
})

function run(limits: Limits, step: LimitStep): object {
  if (step.op === 'define') {
    return { ok: refusal(() => limits.define(step.limit, step.at)) === null }
  }
  if (step.op === 'complete') {
    limits.complete(step.id, step.amounts, step.at)
    return {}
  }
  const { detail: _, ...answer } = limits.reserve(step.id, step.amounts, step.at)
  return answer
}

function runPlain(plain: PlainLimits, step: LimitStep): object {
  if (step.op === 'define') return { ok: plain.define(step.limit, step.at) }
  if (step.op === 'reserve') return plain.reserve(step.id, step.amounts, step.at)
  plain.complete(step.id, step.amounts, step.at)
  return {}
}
