import type {
  CompleteAnswer,
  CompleteRequest,
  Limit,
  LimitView,
  ReserveAnswer,
  ReserveRequest,
} from '@fairlead/core'
import type {
  CompleteRecord,
  LimitComplete,
  LimitDefinition,
  LimitRecord,
  LimitReserve,
  ReserveRecord,
} from '../records/limit.ts'

/**
 * The names of limits on the wire, which are older than those of the rules, and the way between the two:
 * the server goes one way and the client the other.
 */

export function limitToWire(limit: Limit): LimitDefinition {
  const { windowSecs, timeoutSecs, ...same } = limit as AnyField
  return {
    ...same,
    ...(windowSecs === undefined ? {} : { window_seconds: windowSecs }),
    ...(timeoutSecs === undefined ? {} : { timeout_seconds: timeoutSecs }),
  } as LimitDefinition
}

export function limitOfWire(definition: LimitDefinition): Limit {
  const { window_seconds, timeout_seconds, ...same } = definition as AnyWireField
  return {
    ...same,
    ...(window_seconds === undefined ? {} : { windowSecs: window_seconds }),
    ...(timeout_seconds === undefined ? {} : { timeoutSecs: timeout_seconds }),
  } as Limit
}

export function viewToWire(view: LimitView): LimitRecord {
  const { limit, state, pendingDecreaseTo, held, levelMicro } = view
  return {
    definition: limitToWire(limit),
    state,
    pending_decrease_to: pendingDecreaseTo,
    held: typeof held === 'bigint' ? held.toString() : held,
    level_micro: typeof levelMicro === 'bigint' ? levelMicro.toString() : levelMicro,
  }
}

export function viewOfWire(record: LimitRecord): LimitView {
  const { definition, state, pending_decrease_to, held, level_micro } = record
  return {
    limit: limitOfWire(definition),
    state,
    pendingDecreaseTo: pending_decrease_to,
    held: typeof held === 'string' ? BigInt(held) : held,
    levelMicro: typeof level_micro === 'string' ? BigInt(level_micro) : level_micro,
  }
}

export function reserveToWire({ leaseId, requirements }: ReserveRequest): LimitReserve {
  return { lease_id: leaseId, requirements: requirements as LimitReserve['requirements'] }
}

export function reserveOfWire({ lease_id, requirements }: LimitReserve): ReserveRequest {
  return { leaseId: lease_id, requirements }
}

export function completeToWire({ leaseId, actuals = [] }: CompleteRequest): LimitComplete {
  return {
    lease_id: leaseId,
    actuals: actuals.map(({ key, amount }) => ({ key, actual_amount: amount })),
  }
}

export function completeOfWire({ lease_id, actuals = [] }: LimitComplete): CompleteRequest {
  return {
    leaseId: lease_id,
    actuals: actuals.map(({ key, actual_amount }) => ({ key, amount: actual_amount })),
  }
}

export function completeAnswerToWire({ excess, ...answer }: CompleteAnswer): CompleteRecord {
  return excess === undefined ? answer : { ...answer, excess: [...excess] }
}

export function reserveAnswerToWire(answer: ReserveAnswer): ReserveRecord {
  const { allowed, retryAfterMs, reservedAtUnixMs, error, deniedKey, detail } = answer
  return {
    allowed,
    retry_after_ms: retryAfterMs,
    reserved_at_unix_ms: reservedAtUnixMs,
    error,
    denied_key: deniedKey,
    detail,
  }
}

export function reserveAnswerOfWire(record: ReserveRecord): ReserveAnswer {
  const { allowed, retry_after_ms, reserved_at_unix_ms, error, denied_key, detail } = record
  return {
    allowed,
    retryAfterMs: retry_after_ms,
    reservedAtUnixMs: reserved_at_unix_ms,
    error,
    deniedKey: denied_key,
    detail,
  }
}

interface AnyField {
  readonly windowSecs?: number
  readonly timeoutSecs?: number
}

interface AnyWireField {
  readonly window_seconds?: number
  readonly timeout_seconds?: number
}
