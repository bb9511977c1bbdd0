import { randomUUID } from 'node:crypto'
import { FairleadError, type LimitView } from '@fairlead/core'
import { capacityOf } from '@fairlead/core/internal'
import { createLimiter, type Limiter, type LimiterBackend, memory, redis } from '@fairlead/limiter'
import { type Json, number, type Suite } from '../suite.ts'

type Clock = { readonly now: () => number }

/** §15: limits, reserve and complete, in memory. */
export const limits = limitsOn((clock) => memory({ clock }))

/** The same on a Redis, each case under a name of its own. */
export function limitsOnRedis(url: string): Suite {
  return limitsOn((clock) => redis(url, { clock, name: `conformance-${randomUUID()}` }))
}

function limitsOn(backend: (clock: Clock) => LimiterBackend): Suite {
  return async ({ steps }, expected) => {
    let now = 0
    const limiter = createLimiter({ backend: backend({ now: () => now }), limits: [] })
    const answers: Json[] = []
    try {
      for (const step of steps) {
        now = Math.max(now, step.at)
        const answer = await answerTo(limiter, step)
        answers.push({ answer, keys: Object.fromEntries((await limiter.list()).map(view)) })
      }
    } finally {
      await limiter.close()
    }
    return { expected, actual: { steps: answers } }
  }
}

async function answerTo(limiter: Limiter, step: Json): Promise<Json> {
  if (step.op === 'define') return define(limiter, step.limit)
  if (step.op === 'reserve') {
    const requirements = amounts(step.requirements)
    const answer = await limiter.reserve({ leaseId: step.lease_id, requirements })
    return {
      allowed: answer.allowed,
      retry_after_ms: answer.retryAfterMs,
      reserved_at_unix_ms: answer.reservedAtUnixMs,
      error: answer.error,
      denied_key: answer.deniedKey,
    }
  }
  if (step.op === 'complete') {
    const request = { leaseId: step.lease_id, actuals: amounts(step.actuals) }
    const { ok, error } = await limiter.complete(request)
    return { ok, error }
  }
  if (step.op !== 'tick') throw new TypeError(`unknown op ${step.op}`)
  return {}
}

async function define(limiter: Limiter, given: Json): Promise<Json> {
  try {
    await limiter.define(limitOf(given))
    return { ok: true, error: null }
  } catch (error) {
    const isRefused = error instanceof FairleadError && error.code === 'InvalidParams'
    if (!isRefused) throw error
    return { ok: false, error: 'invalid_request' }
  }
}

function limitOf({ window_secs, timeout_secs, capacity, burst, ...rest }: Json): Json {
  return {
    ...rest,
    ...(window_secs !== undefined && { windowSecs: number(window_secs) }),
    ...(timeout_secs !== undefined && { timeoutSecs: number(timeout_secs) }),
    ...(capacity !== undefined && { capacity: number(capacity) }),
    ...(burst !== undefined && { burst: number(burst) }),
  }
}

function amounts(given: Json): Json {
  return given.map(({ key, amount }: Json) => ({ key, amount: number(amount) }))
}

function view({ limit, pendingDecreaseTo, held, levelMicro }: LimitView): [string, Json] {
  const { key, kind } = limit
  const shown = { kind, capacity: capacityOf(limit), decreasing_to: pendingDecreaseTo }
  const amount = kind === 'bucket' ? { level_micro: json(levelMicro) } : { held: json(held) }
  return [key, { ...shown, ...amount }]
}

/** An integer above 2^53 − 1 is a decimal string. */
function json(value: number | bigint | null): Json {
  return typeof value === 'bigint' ? String(value) : value
}
