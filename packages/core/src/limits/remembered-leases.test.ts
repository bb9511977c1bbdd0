import { fc, test } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { type RememberedLease, RememberedLeases } from './remembered-leases.ts'

type Lease = RememberedLease<string>

/** What they are to do, in so many words. */
class PlainLeases {
  readonly #leases = new Map<string, Lease>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  get(id: string, nowMs: number): Lease | undefined {
    const lease = this.#leases.get(id)
    if (lease === undefined || nowMs < lease.forgetAt) return lease
    this.#leases.delete(id)
    return undefined
  }

  add(id: string, lease: Lease, nowMs: number): void {
    for (const [other, { forgetAt }] of this.#leases) {
      if (nowMs >= forgetAt) this.#leases.delete(other)
    }
    this.#leases.set(id, lease)
    const [oldest] = this.#leases.keys()
    if (this.#leases.size > this.#max) this.#leases.delete(oldest as string)
  }

  replace(id: string, lease: Lease): void {
    this.#leases.set(id, lease)
  }

  entries(nowMs: number): [string, Lease][] {
    return [...this.#leases].filter(([, { forgetAt }]) => nowMs < forgetAt)
  }
}

const held = (forgetAt: number): Lease => ({
  state: 'held',
  reservedAt: 0,
  endsAt: forgetAt,
  holds: ['k'],
  forgetAt,
})

/** Ids that are found by one and the same hash, in which each character counts 31 times the next. */
function idsOfOneHash(count: number): string[] {
  const pairs = ['Aa', 'BB']
  return Array.from({ length: count }, (_, n) =>
    Array.from({ length: 16 }, (_, bit) => pairs[(n >> bit) & 1]).join(''),
  )
}

describe('what is remembered', () => {
  const act = fc.record({
    id: fc.oneof(fc.integer({ min: 0, max: 300 }).map(String), fc.string({ minLength: 1 })),
    lasts: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.constant(1e9)),
    ends: fc.boolean(),
    passes: fc.integer({ min: 0, max: 3 }),
  })

  // Nothing is over while it is counted: else the plain ones, which see at once what is over, forget other ids.
  test.prop([fc.array(act, { maxLength: 1_000, size: 'max' }), fc.integer({ min: 1, max: 200 })])(
    'LIMIT-10: above the maximum it is as if they stood in a list in order of age',
    (acts, max) => {
      const leases = new RememberedLeases<string>(max)
      const plain = new PlainLeases(max)
      for (const { id, ends } of acts) {
        const known = leases.get(id, 0)
        expect(known).toEqual(plain.get(id, 0))
        for (const one of [leases, plain]) {
          if (known === undefined) one.add(id, held(1), 0)
          else if (ends) one.replace(id, { state: 'completed', forgetAt: 2 })
        }
      }
      expect([...leases.entries(0)]).toEqual(plain.entries(0))
    },
  )

  test.prop([fc.array(act, { maxLength: 1_000, size: 'max' })])(
    'LIMIT-10: each is forgotten at its time, those before and behind it or not',
    (acts) => {
      const forgotten: string[] = []
      const leases = new RememberedLeases<string>(1_000_000, (id) => forgotten.push(id))
      const plain = new PlainLeases(1_000_000)
      let now = 0
      let added = 0
      for (const { id, lasts, ends, passes } of acts) {
        now += passes
        const known = leases.get(id, now)
        expect(known).toEqual(plain.get(id, now))
        if (known === undefined) added++
        for (const one of [leases, plain]) {
          if (known === undefined) one.add(id, held(now + lasts), now)
          else if (ends) one.replace(id, { state: 'denied', forgetAt: now + lasts })
        }
      }
      expect([...leases.entries(now)]).toEqual(plain.entries(now))
      expect([...leases.entries(0)].length).toBe(added - forgotten.length)
    },
  )

  it('LIMIT-10: ids that were chosen to look alike are told apart, and forgotten in turn', () => {
    const ids = idsOfOneHash(200)
    const forgotten: string[] = []
    const leases = new RememberedLeases<string>(150, (id) => forgotten.push(id))
    for (const [i, id] of ids.entries()) leases.add(id, held(1 + i), 0)
    expect(forgotten).toEqual(ids.slice(0, 50))
    expect(ids.map((id) => leases.get(id, 0)?.forgetAt)).toEqual(
      ids.map((_, i) => (i < 50 ? undefined : 1 + i)),
    )
  })

  it('LIMIT-10: one that is held for long does not keep those that came after it', () => {
    const leases = new RememberedLeases<string>(1_000_000)
    leases.add('a day', held(86_400_000), 0)
    for (let i = 0; i < 20_000; i++) leases.add(`lease-${i}`, held(i + 10), i)
    expect([...leases.entries(0)].length).toBeLessThan(100)
    expect(leases.get('a day', 20_000)).toEqual(held(86_400_000))
  })

  it('LIMIT-10: where there are too many, what is over goes before the oldest that is not', () => {
    const forgotten: string[] = []
    const leases = new RememberedLeases<string>(1_000, (id) => forgotten.push(id))
    for (let i = 0; i < 100; i++) leases.add(`held-${i}`, held(1e9), 0)
    for (let i = 0; i < 900; i++) leases.add(`short-${i}`, held(50), 0)
    for (let i = 0; i < 800; i++) leases.add(`new-${i}`, held(1e9), 50)
    expect(forgotten.every((id) => id.startsWith('short-'))).toBe(true)
    expect(leases.get('held-0', 50)).toEqual(held(1e9))
    for (let i = 0; i < 150; i++) leases.add(`more-${i}`, held(1e9), 50)
    expect(forgotten.slice(-50)).toEqual(Array.from({ length: 50 }, (_, i) => `held-${i}`))
    expect([...leases.entries(50)]).toHaveLength(1_000)
  })
})
