import fc from 'fast-check'
import type { Limit } from '../src/index.ts'
import type { Requirement } from '../src/internal.ts'

export type LimitStep =
  | { readonly op: 'define'; readonly at: number; readonly limit: Limit }
  | {
      readonly op: 'reserve'
      readonly at: number
      readonly id: string
      readonly amounts: readonly Requirement[]
    }
  | {
      readonly op: 'complete'
      readonly at: number
      readonly id: string
      readonly amounts: readonly Requirement[]
    }

const START = 1_767_261_600_000
const KEYS = ['roll', 'fix', 'buck', 'conc']
const whole = (min: number, max: number) => fc.integer({ min, max })

/** One of the four limits, each time a little different. */
export const anyLimit: fc.Arbitrary<Limit> = fc.oneof(
  fc.record({
    key: fc.constant('roll'),
    kind: fc.constant('rolling' as const),
    capacity: whole(1, 20),
    windowSecs: whole(1, 4),
    overage: fc.constantFrom('debt' as const, 'deny' as const),
  }),
  fc.record({
    key: fc.constant('fix'),
    kind: fc.constant('fixed' as const),
    capacity: whole(1, 20),
    windowSecs: whole(1, 5),
    overage: fc.constantFrom('debt' as const, 'deny' as const),
  }),
  fc.record({
    key: fc.constant('buck'),
    kind: fc.constant('bucket' as const),
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

const anyAmounts = (min: number) =>
  fc.array(fc.record({ key: fc.constantFrom(...KEYS), amount: whole(min, 12) }), {
    minLength: min,
    maxLength: 4,
  })

/** Most steps are close together, some leave a window or a minute between them, a few go back. */
const anyGap = fc.oneof(
  { weight: 6, arbitrary: whole(0, 40) },
  { weight: 3, arbitrary: whole(0, 3_000) },
  { weight: 1, arbitrary: whole(0, 70_000) },
  { weight: 1, arbitrary: whole(-50, 0) },
)
const anyId = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g')

const anyCall = fc.oneof(
  { weight: 1, arbitrary: fc.record({ op: fc.constant('define' as const), limit: anyLimit }) },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant('reserve' as const),
      id: anyId,
      amounts: anyAmounts(1),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('complete' as const),
      id: anyId,
      amounts: anyAmounts(0),
    }),
  },
)

/** Calls with their times, after all four limits were defined. */
export const anyScript: fc.Arbitrary<LimitStep[]> = fc
  .tuple(
    fc.array(anyLimit, { minLength: 2, maxLength: 8 }),
    fc.array(fc.tuple(anyGap, anyCall), { minLength: 5, maxLength: 60 }),
  )
  .map(([limits, calls]) => {
    const defines = limits.map((limit): LimitStep => ({ op: 'define', at: START, limit }))
    let at = START
    const steps = calls.map(([gap, call]): LimitStep => {
      at += gap
      return { ...call, at }
    })
    return [...defines, ...steps]
  })
