import { capacityOf, Limits, type LimitView } from '@fairlead/core'
import { type Json, number, refusal, suite } from '../suite.ts'

/** §15: limits, reserve and complete. */
export const limits = suite(({ steps }) => {
  const all = new Limits()
  return {
    steps: steps.map((step: Json) => {
      const answer = answerTo(all, step)
      return { answer, keys: Object.fromEntries(all.list(step.at).map(view)) }
    }),
  }
})

function answerTo(all: Limits, step: Json): Json {
  const { at, op } = step
  if (op === 'define') {
    const refused = refusal(() => all.define(limitOf(step.limit), at))
    return refused === null ? { ok: true, error: null } : { ok: false, error: 'invalid_request' }
  }
  if (op === 'reserve') {
    const answer = all.reserve(step.lease_id, amounts(step.requirements), at)
    return {
      allowed: answer.allowed,
      retry_after_ms: answer.retryAfterMs,
      reserved_at_unix_ms: answer.reservedAtUnixMs,
      error: answer.error,
      denied_key: answer.deniedKey,
    }
  }
  if (op === 'complete') {
    const { ok, error } = all.complete(step.lease_id, amounts(step.actuals), at)
    return { ok, error }
  }
  if (op !== 'tick') throw new TypeError(`unknown op ${op}`)
  return {}
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
  return [
    key,
    kind === 'bucket'
      ? { ...shown, level_micro: json(levelMicro) }
      : { ...shown, held: json(held) },
  ]
}

/** An integer above 2^53 − 1 is a decimal string. */
function json(value: number | bigint | null): Json {
  return typeof value === 'bigint' ? String(value) : value
}
