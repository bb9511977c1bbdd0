import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Limits } from './limits.ts'
import { HOLDERS_MAX, type LimitHolder } from './reserved.ts'

const WINDOW = { key: 'window', kind: 'rolling', capacity: 1_000_000, windowSecs: 60 } as const
const SLOTS = { key: 'slots', kind: 'concurrency', capacity: 1_000_000, timeoutSecs: 10 } as const

function limits(): Limits {
  const made = new Limits()
  made.define(WINDOW, 0)
  made.define(SLOTS, 0)
  return made
}

it('FIGURE-6: what live leases hold, until they end by completion or by themselves', () => {
  const own = limits()
  const both = [WINDOW, SLOTS].map(({ key }, i) => ({ key, amount: i === 0 ? 5 : 1 }))
  own.reserve('a', both, 0)
  own.reserve('b', [{ key: 'window', amount: 7 }], 0)
  expect(own.reserved(0).get('window')).toMatchObject({ amount: 12, leases: 2 })
  own.complete('b', [], 1)
  expect(own.reserved(1).get('window')).toMatchObject({ amount: 5, leases: 1 })
  expect(own.reserved(9_999).get('slots')).toMatchObject({ amount: 1 })
  expect(own.reserved(10_000).get('slots')).toBeUndefined()
  // The use of the lease that is over still counts in the window.
  expect(own.get('window', 10_000)?.held).toBe(12)
})

it('FIGURE-6: a reset frees what live leases held', () => {
  const own = limits()
  own.reserve('a', [{ key: 'window', amount: 5 }], 0)
  own.reset('window', 1)
  expect(own.reserved(1).get('window')).toBeUndefined()
})

it('FIGURE-6: the holders are those with the most, of equal ones the oldest', () => {
  const lease = fc.record({ amount: fc.integer({ min: 1, max: 5 }), at: fc.nat(5) })
  fc.assert(
    fc.property(fc.array(lease, { maxLength: 40 }), (leases) => {
      const own = limits()
      const sorted = leases.toSorted((a, b) => a.at - b.at)
      const all: Pick<LimitHolder, 'leaseId' | 'amount' | 'reservedAt'>[] = []
      for (const [i, { amount, at }] of sorted.entries()) {
        const leaseId = `lease-${String(99 - i)}`
        own.reserve(leaseId, [{ key: 'window', amount }], at)
        all.push({ leaseId, amount, reservedAt: at })
      }
      const expected = all
        .toSorted(
          (a, b) =>
            b.amount - a.amount || a.reservedAt - b.reservedAt || (a.leaseId < b.leaseId ? -1 : 1),
        )
        .slice(0, HOLDERS_MAX)
      const found = own.reserved(10).get('window')
      expect(found?.holders ?? []).toMatchObject(expected)
      expect(found?.leases ?? 0).toBe(leases.length)
    }),
  )
})
