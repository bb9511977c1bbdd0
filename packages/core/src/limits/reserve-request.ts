import { invalidParams } from '../errors.ts'
import { isLimitKey, isTextWithin } from './limit-definition.ts'

/** An amount of a limit. */
export interface Requirement {
  readonly key: string
  readonly amount: number
}

/** The used amount of a limit. */
export type Actual = Requirement

export const REQUIREMENTS_MAX = 32
/** The most requests in one batch (LIMIT-15). */
export const LIMIT_BATCH_MAX = 256
const LEASE_ID_BYTES_MAX = 256

/** The problem with a reserve, or null (LIMIT-8). */
export function reserveProblem(
  leaseId: string,
  requirements: readonly Requirement[],
): string | null {
  if (!isTextWithin(leaseId, LEASE_ID_BYTES_MAX)) return LEASE_ID_PROBLEM
  if (!Array.isArray(requirements) || requirements.length < 1) return COUNT_PROBLEM
  return requirements.length > REQUIREMENTS_MAX
    ? COUNT_PROBLEM
    : amountsProblem('requirements', requirements, 1)
}

/** The problem with a complete, or null (LIMIT-12). */
export function completeProblem(leaseId: string, actuals: readonly Actual[]): string | null {
  if (!isTextWithin(leaseId, LEASE_ID_BYTES_MAX)) return LEASE_ID_PROBLEM
  if (!Array.isArray(actuals) || actuals.length > REQUIREMENTS_MAX) {
    return `actuals: expected a list of at most ${REQUIREMENTS_MAX}`
  }
  return amountsProblem('actuals', actuals, 0)
}

/** Adds up the amounts of a repeated key, at its first place (LIMIT-8). */
export function addUp(amounts: readonly Requirement[]): readonly Requirement[] {
  for (let i = 1; i < amounts.length; i++) {
    const { key } = amounts[i] as Requirement
    for (let j = 0; j < i; j++) if ((amounts[j] as Requirement).key === key) return added(amounts)
  }
  return amounts
}

/** The two calls of a limiter that return an answer. */
export type LimitCall = 'reserve' | 'complete'

/** Refuses a batch that is no list, empty or too large (LIMIT-15), or that has an unknown field (LIMIT-16). */
export function checkLimitBatch(requests: readonly unknown[], call: LimitCall): void {
  if (!Array.isArray(requests)) throw invalidParams('requests', 'a list')
  if (requests.length < 1 || requests.length > LIMIT_BATCH_MAX) {
    throw invalidParams('requests', `1 to ${LIMIT_BATCH_MAX} of them`, String(requests.length))
  }
  for (let i = 0; i < requests.length; i++) checkRequest(`requests[${i}]`, requests[i], call)
}

/** Refuses a request that is no object or has an unknown field. A wrong value gets an answer instead. */
export function checkLimitRequest(request: unknown, call: LimitCall): void {
  checkRequest('request', request, call)
}

function checkRequest(at: string, request: unknown, call: LimitCall): void {
  const amounts = call === 'reserve' ? 'requirements' : 'actuals'
  if (typeof request !== 'object' || request === null) {
    throw invalidParams(at, `an object with leaseId, ${amounts}`)
  }
  // Makes no list of the names, because this runs for every call.
  for (const name in request) {
    if (name !== 'leaseId' && name !== amounts) {
      throw invalidParams(`${at}.${name}`, `no such field; there are leaseId, ${amounts}`)
    }
  }
  const items = (request as Readonly<Record<string, unknown>>)[amounts]
  if (!Array.isArray(items)) return
  const count = Math.min(items.length, REQUIREMENTS_MAX)
  for (let i = 0; i < count; i++) checkAmount(`${at}.${amounts}[${i}]`, items[i])
}

function checkAmount(at: string, item: unknown): void {
  if (typeof item !== 'object') return
  for (const name in item) {
    if (name !== 'key' && name !== 'amount') {
      throw invalidParams(`${at}.${name}`, 'no such field; there are key, amount')
    }
  }
}

const LEASE_ID_PROBLEM = `lease_id: expected text of 1 to ${LEASE_ID_BYTES_MAX} bytes`
const COUNT_PROBLEM = `requirements: expected 1 to ${REQUIREMENTS_MAX} of them`

function amountsProblem(
  field: string,
  amounts: readonly Requirement[],
  least: number,
): string | null {
  for (let i = 0; i < amounts.length; i++) {
    const { key, amount } = (amounts[i] ?? {}) as Requirement
    if (!isLimitKey(key)) return `${field}[${i}].key: expected text of 1 to 256 bytes`
    if (!Number.isSafeInteger(amount) || amount < least) {
      return `${field}[${i}].amount: expected a whole number from ${least} to 2^53 − 1`
    }
  }
  return null
}

function added(amounts: readonly Requirement[]): readonly Requirement[] {
  const sums = new Map<string, number>()
  for (const { key, amount } of amounts) sums.set(key, (sums.get(key) ?? 0) + amount)
  return [...sums].map(([key, amount]) => ({ key, amount }))
}
