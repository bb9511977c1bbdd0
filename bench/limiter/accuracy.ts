import { createLimiter, type Limit, type LimiterBackend, memory, redis } from '@fairlead/limiter'
import { numbers } from '../fixtures.ts'
import { newId } from './workload.ts'

const START = 1_767_261_600_000
const WINDOW_MS = 1_000
const WINDOWS = 5
const CAPACITY = 10_000
/** At most 1 % of the capacity. */
const AMOUNT_MAX = 100
const OVERLOAD = 10
const STEP_MS = 2

/**
 * Ten times as much as allowed is asked for, evenly over five windows of a simulated clock. Gives the share of
 * the capacity that was admitted, and the most that any span of a window got.
 */
export async function accuracyOf(
  kind: 'rolling' | 'fixed',
  backendOn: (clock: { now: () => number }) => LimiterBackend,
): Promise<{ readonly admitted: number; readonly most: number }> {
  let now = START
  const limit: Limit = { key: 'k', kind, capacity: CAPACITY, windowSecs: WINDOW_MS / 1_000 }
  const limiter = createLimiter({ backend: backendOn({ now: () => now }), limits: [limit] })
  const random = numbers(7)
  const got: { at: number; amount: number }[] = []
  const each = (OVERLOAD * CAPACITY * STEP_MS) / WINDOW_MS
  for (; now < START + WINDOWS * WINDOW_MS; now += STEP_MS) {
    const amounts: number[] = []
    for (let sum = 0; sum < each; sum += amounts.at(-1) ?? 0) amounts.push(1 + random(AMOUNT_MAX))
    const answers = await limiter.reserveMany(
      amounts.map((amount) => ({ leaseId: newId(), requirements: [{ key: 'k', amount }] })),
    )
    for (const [i, { allowed }] of answers.entries()) {
      if (allowed) got.push({ at: now, amount: amounts[i] ?? 0 })
    }
  }
  await limiter.close()
  const total = got.reduce((sum, { amount }) => sum + amount, 0)
  const spans = kind === 'fixed' ? alignedSpans() : got.map(({ at }) => at)
  const most = Math.max(...spans.map((from) => sumIn(got, from)))
  return { admitted: total / (WINDOWS * CAPACITY), most: most / CAPACITY }
}

export const ACCURACY_BACKENDS = {
  memory: () => (clock: { now: () => number }) => memory({ clock }),
  redis: (url: string) => (clock: { now: () => number }) => redis(url, { clock, name: newId() }),
}

function alignedSpans(): number[] {
  return Array.from({ length: WINDOWS }, (_, i) => START + i * WINDOW_MS)
}

function sumIn(got: readonly { at: number; amount: number }[], from: number): number {
  return got.reduce(
    (sum, { at, amount }) => (at >= from && at < from + WINDOW_MS ? sum + amount : sum),
    0,
  )
}
