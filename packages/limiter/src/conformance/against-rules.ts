import { type Limit, Limits, type Requirement } from '@fairlead/core/limits'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { START, type TrialLimiter } from './trial-limiter.ts'

type Call =
  | { readonly op: 'define'; readonly limit: Limit }
  | { readonly op: 'reset'; readonly key: string }
  | { readonly op: 'delete'; readonly key: string }
  | { readonly op: 'reserve' | 'complete'; readonly id: string; readonly amounts: Requirement[] }

const whole = (min: number, max: number) => fc.integer({ min, max })
const anyOverage = fc.constantFrom('debt' as const, 'deny' as const)
const anyWindow = {
  capacity: whole(1, 20),
  windowSecs: whole(1, 4),
  overage: anyOverage,
}
const anyLimit: fc.Arbitrary<Limit> = fc.oneof(
  fc.record({ key: fc.constant('roll'), kind: fc.constant('rolling' as const), ...anyWindow }),
  fc.record({ key: fc.constant('fix'), kind: fc.constant('fixed' as const), ...anyWindow }),
  fc.record({
    key: fc.constant('buck'),
    kind: fc.constantFrom('bucket' as const),
    burst: whole(1, 20),
    rate: whole(1, 9_999).map((milli) => milli / 1_000),
  }),
  fc.record({
    key: fc.constant('conc'),
    kind: fc.constant('concurrency' as const),
    capacity: whole(1, 5),
    timeoutSecs: whole(1, 40),
  }),
)

const anyKey = fc.constantFrom('roll', 'fix', 'buck', 'conc')
/** Now and then past all reason, as far as sums of it are exact on Redis. */
const anyAmount = (min: number) =>
  fc.oneof(
    { weight: 9, arbitrary: whole(min, 12) },
    { weight: min === 0 ? 1 : 0, arbitrary: fc.constantFrom(100, 1_000, 2 ** 50) },
  )
const anyAmounts = (min: number) =>
  fc.array(fc.record({ key: anyKey, amount: anyAmount(min) }), { minLength: min, maxLength: 4 })
const anyId = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
const op = <Name extends string>(name: Name) => fc.constant(name)
const anyCall: fc.Arbitrary<Call> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ op: op('define'), limit: anyLimit }) },
  { weight: 1, arbitrary: fc.record({ op: op('reset'), key: anyKey }) },
  { weight: 1, arbitrary: fc.record({ op: op('delete'), key: anyKey }) },
  { weight: 10, arbitrary: fc.record({ op: op('reserve'), id: anyId, amounts: anyAmounts(1) }) },
  { weight: 6, arbitrary: fc.record({ op: op('complete'), id: anyId, amounts: anyAmounts(0) }) },
)
const anyGap = fc.oneof(whole(0, 40), whole(0, 3_000), whole(0, 70_000))
const anyScript = fc.tuple(
  fc.array(anyLimit, { minLength: 2, maxLength: 6 }),
  fc.array(fc.tuple(anyGap, anyCall), { minLength: 5, maxLength: 40 }),
)

/** Random calls, each of whose answers and each of whose views must be what the rules give. */
export function againstRules(open: (limits: readonly Limit[]) => Promise<TrialLimiter>): void {
  it('LIMIT-3: random calls are answered as the rules answer them', async () => {
    const check = fc.asyncProperty(anyScript, async ([given, calls]) => {
      const limits = [...new Map(given.map((limit) => [limit.key, limit])).values()]
      const rules = new Limits()
      let now = START
      for (const limit of limits) rules.define(limit, now)
      const trial = await open(limits)
      try {
        for (const [gap, call] of calls) {
          now += gap
          trial.advance(gap)
          expect(await answered(trial, call)).toEqual(ruled(rules, call, now))
          // Each of these takes a ms (LIMIT-20), on Redis for its own limit alone.
          if (call.op === 'reset' || call.op === 'delete') {
            now += 1
            trial.advance(1)
          }
          expect(await trial.limiter.list()).toEqual(rules.list(now))
        }
      } finally {
        await trial.close()
      }
    })
    await fc.assert(check, { numRuns: 60 })
  })
}

async function answered({ limiter }: TrialLimiter, call: Call): Promise<object> {
  if (call.op === 'reset') return { view: await limiter.reset(call.key) }
  if (call.op === 'delete') return { isDeleted: await limiter.delete(call.key) }
  if (call.op === 'define') return limiter.define(call.limit)
  if (call.op === 'reserve') {
    return limiter.reserve({ leaseId: call.id, requirements: call.amounts })
  }
  return limiter.complete({ leaseId: call.id, actuals: call.amounts })
}

function ruled(rules: Limits, call: Call, now: number): object {
  if (call.op === 'reset') return { view: rules.reset(call.key, now) }
  if (call.op === 'delete') return { isDeleted: rules.delete(call.key, now) }
  if (call.op === 'define') return rules.define(call.limit, now)
  if (call.op === 'reserve') return rules.reserve(call.id, call.amounts, now)
  return rules.complete(call.id, call.amounts, now)
}
