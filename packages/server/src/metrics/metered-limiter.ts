import type { CompleteAnswer, Limiter, ReserveAnswer } from '@fairlead/core'
import type { Excess } from '@fairlead/core/internal'
import { Counter, type Registry } from 'prom-client'

const OUTCOMES = ['allowed', 'denied', 'refused', 'unknown'] as const
type Outcome = (typeof OUTCOMES)[number]

/**
 * Counts what reserves are answered with, and tells of usage that was not booked. Keys are no label: there may be any
 * number of them.
 */
export function meteredLimiter(
  limiter: Limiter,
  registry: Registry,
  tell: (excess: readonly Excess[]) => void,
): Limiter {
  const counter = new Counter({
    name: 'fairlead_limit_reserves_total',
    help: 'Reserves of limits: allowed, denied for now, refused for good, or unknown (no backend).',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const counts = Object.fromEntries(
    OUTCOMES.map((outcome) => [outcome, counter.labels(outcome)]),
  ) as Record<Outcome, { inc(): void }>
  const counted = (answer: ReserveAnswer): ReserveAnswer => {
    counts[outcomeOf(answer)].inc()
    return answer
  }
  const told = (answers: readonly CompleteAnswer[]): void => {
    const excess = answers.flatMap((answer) => answer.excess ?? [])
    if (excess.length > 0) tell(excess)
  }
  return {
    define: (limit, by) => limiter.define(limit, by),
    reset: (key, by) => limiter.reset(key, by),
    delete: (key, by) => limiter.delete(key, by),
    list: () => limiter.list(),
    get: (key) => limiter.get(key),
    reserve: async (request) => counted(await limiter.reserve(request)),
    complete: async (request) => {
      const answer = await limiter.complete(request)
      told([answer])
      return answer
    },
    reserveMany: async (requests) => (await limiter.reserveMany(requests)).map(counted),
    completeMany: async (requests) => {
      const answers = await limiter.completeMany(requests)
      told(answers)
      return answers
    },
    close: () => limiter.close(),
  }
}

function outcomeOf({ allowed, error, retryAfterMs }: ReserveAnswer): Outcome {
  if (allowed) return 'allowed'
  if (error === 'backend_error') return 'unknown'
  return retryAfterMs > 0 ? 'denied' : 'refused'
}
