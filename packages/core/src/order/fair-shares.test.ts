import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { callerNamed } from '../../test/any-market.ts'
import { sign } from '../../test/plain-order.ts'
import type { Caller } from '../encoding/ids.ts'
import { FairShares, virtualCost } from './fair-shares.ts'

const CALLERS = [1, 2, 3, 4, 5].map(callerNamed)

type Act =
  | { readonly act: 'waits' | 'rests'; readonly nth: number }
  | { readonly act: 'book'; readonly cost: bigint }
  | {
      readonly act: 'settle'
      readonly nth: number
      readonly actual: bigint
      readonly estimate: bigint
    }
  | {
      readonly act: 'draft'
      readonly costs: readonly bigint[]
      readonly rests: readonly number[]
      readonly keep: boolean
    }
  | { readonly act: 'restart' }

/** V and V_c as the rules write them; nobody is ever forgotten. */
class Model {
  virtual = 0n
  finish = new Map<Caller, bigint>()
  readonly waiting = new Set<Caller>()

  start(caller: Caller): bigint {
    const finish = this.finish.get(caller) ?? 0n
    return finish > this.virtual ? finish : this.virtual
  }

  next(): Caller | undefined {
    const order = (a: Caller, b: Caller) => sign(this.start(a), this.start(b)) || sign(a, b)
    return [...this.waiting].sort(order)[0]
  }

  book(caller: Caller, cost: bigint): void {
    const start = this.start(caller)
    this.virtual = start
    this.finish.set(caller, start + cost)
  }

  replaceEstimate(caller: Caller, actual: bigint, estimate: bigint): void {
    this.finish.set(caller, this.start(caller) + actual - estimate)
  }

  state() {
    const ahead = [...this.finish].filter(([, at]) => at > this.virtual)
    return { virtual: this.virtual, finish: new Map(ahead) }
  }
}

describe('FairShares', () => {
  it('FAIR-1: it equals a model that never forgets, through drafts, ends of leases and restarts', () => {
    fc.assert(
      fc.property(fc.array(anyAct(), { maxLength: 80, size: 'max' }), (acts) => {
        const model = new Model()
        let shares = new FairShares()
        for (const act of acts) {
          shares = play(act, shares, model)
          expect(shares.next()).toBe(model.next())
          expect(shares.state()).toEqual(model.state())
        }
        // Everyone in turn, so that the places of all are seen.
        for (let caller = model.next(); caller !== undefined; caller = model.next()) {
          expect(shares.next()).toBe(caller)
          model.waiting.delete(caller)
          shares.setWaiting(caller, false)
        }
        expect(shares.next()).toBeUndefined()
      }),
      { numRuns: 1_000 },
    )
  })

  it('FAIR-2: a draft leaves no trace', () => {
    const shares = new FairShares()
    const [one, two] = CALLERS as [Caller, Caller]
    shares.setWaiting(one, true)
    shares.setWaiting(two, true)
    shares.book(one, 5n)
    const before = shares.state()
    shares.openDraft()
    for (let n = 0; n < 10; n++) shares.book(shares.next() as Caller, 3n)
    expect(shares.state().virtual).toBeGreaterThan(before.virtual)
    shares.rollBack()
    expect(shares.state()).toEqual(before)
    expect(shares.next()).toBe(two)
  })

  it('FAIR-2: a cost is floor(units·2^20 / weight), exact beyond 2^53', () => {
    expect(virtualCost(1, 1)).toBe(1_048_576n)
    expect(virtualCost(1, 3)).toBe(349_525n)
    expect(virtualCost(0, 7)).toBe(0n)
    expect(virtualCost(2 ** 40 + 1, 1)).toBe((2n ** 40n + 1n) * 2n ** 20n)
    expect(virtualCost(1, 1_000_000)).toBe(1n)
  })

  it('FAIR-3: actual units replace the estimate, but never make up for being behind', () => {
    const [one] = CALLERS as [Caller]
    const shares = new FairShares({ virtual: 100n, finish: new Map([[one, 130n]]) })
    shares.replaceEstimate(one, 5n, 20n)
    expect(shares.state().finish.get(one)).toBe(115n)
    // At or below V it is forgotten, and the next settlement starts from V again.
    shares.replaceEstimate(one, 0n, 20n)
    expect(shares.state().finish.has(one)).toBe(false)
    shares.replaceEstimate(one, 7n, 0n)
    expect(shares.state().finish.get(one)).toBe(107n)
  })

  it('FAIR-4: a caller exactly at the virtual time is forgotten, one above it is not', () => {
    const [one, two] = CALLERS as [Caller, Caller]
    const finish = new Map([
      [one, 100n],
      [two, 101n],
    ])
    const shares = new FairShares({ virtual: 100n, finish })
    expect(shares.state()).toEqual({ virtual: 100n, finish: new Map([[two, 101n]]) })
  })
})

function play(act: Act, shares: FairShares, model: Model): FairShares {
  if (act.act === 'waits' || act.act === 'rests') {
    const caller = CALLERS[act.nth] as Caller
    shares.setWaiting(caller, act.act === 'waits')
    if (act.act === 'waits') model.waiting.add(caller)
    else model.waiting.delete(caller)
  } else if (act.act === 'book') {
    const caller = model.next()
    if (caller === undefined) return shares
    shares.book(caller, act.cost)
    model.book(caller, act.cost)
  } else if (act.act === 'settle') {
    const caller = CALLERS[act.nth] as Caller
    shares.replaceEstimate(caller, act.actual, act.estimate)
    model.replaceEstimate(caller, act.actual, act.estimate)
  } else if (act.act === 'draft') {
    const { virtual, finish } = model
    model.finish = new Map(finish)
    shares.openDraft()
    for (const [n, cost] of act.costs.entries()) {
      const caller = model.next()
      expect(shares.next()).toBe(caller)
      if (caller === undefined) break
      shares.book(caller, cost)
      model.book(caller, cost)
      // While a batch is built callers run out of jobs. That stays so when the draft is undone.
      const resting = CALLERS[act.rests[n] ?? -1]
      if (resting === undefined) continue
      shares.setWaiting(resting, false)
      model.waiting.delete(resting)
    }
    if (act.keep) {
      shares.keepDraft()
      shares.rollBack()
      return shares
    }
    shares.rollBack()
    model.virtual = virtual
    model.finish = finish
  } else {
    const again = new FairShares(shares.state())
    for (const caller of model.waiting) again.setWaiting(caller, true)
    return again
  }
  return shares
}

function anyAct(): fc.Arbitrary<Act> {
  const nth = fc.nat({ max: 4 })
  const cost = fc.bigInt({ min: 0n, max: 6n })
  return fc.oneof(
    { weight: 4, arbitrary: fc.record({ act: fc.constantFrom('waits', 'waits', 'rests'), nth }) },
    { weight: 4, arbitrary: fc.record({ act: fc.constant('book'), cost }) },
    {
      weight: 2,
      arbitrary: fc.record({ act: fc.constant('settle'), nth, actual: cost, estimate: cost }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        act: fc.constant('draft'),
        costs: fc.array(cost, { maxLength: 6 }),
        rests: fc.array(fc.nat({ max: 12 }), { maxLength: 6 }),
        keep: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('restart') }) },
  ) as fc.Arbitrary<Act>
}
