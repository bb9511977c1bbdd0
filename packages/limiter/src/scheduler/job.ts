import { invalidParams, type Requirement } from '@fairlead/core'

/** A call to a model that waits for its turn. */
export interface SchedulerJob<T> {
  readonly tenant: string
  readonly provider: string
  readonly model: string
  readonly prompt: string
  readonly maxOutputTokens: number
  /** Whether the tenant's tokens of the day are reserved too. */
  readonly wantDailyBudget?: boolean
  /** Does the work. An error with a number as `actualTokens` says what was used all the same. */
  readonly execute: (context: { readonly signal: AbortSignal }) => Promise<{
    readonly value: T
    readonly actualTokens?: number
  }>
}

/** The same, read and checked. */
export interface CheckedJob {
  readonly tenant: string
  readonly provider: string
  readonly model: string
  readonly isDaily: boolean
  /** The most that it can take. */
  readonly tokens: number
  readonly execute: SchedulerJob<unknown>['execute']
  /** What `execute` is a method of. */
  readonly given: object
}

export interface ModelKeys {
  readonly rpm: string
  readonly tpm: string
  readonly concurrency: string
}

/** The keys of the limits of a model and of a tenant (LIMIT-2). */
export function modelKeys(provider: string, model: string): ModelKeys {
  const prefix = `global:llm:${provider}:${model}`
  return { rpm: `${prefix}:rpm`, tpm: `${prefix}:tpm`, concurrency: `${prefix}:concurrency` }
}

/** What a job needs of its model: the first and the last are the same for all of its jobs. */
export interface ModelNeeds {
  readonly request: Requirement
  readonly tokensKey: string
  readonly place: Requirement
}

export function modelNeeds({ rpm, tpm, concurrency }: ModelKeys): ModelNeeds {
  return {
    request: { key: rpm, amount: 1 },
    tokensKey: tpm,
    place: { key: concurrency, amount: 1 },
  }
}

export function dailyKey(tenant: string): string {
  return `tenant:${tenant}:llm:daily_tokens`
}

/** A token is at least a byte, so this is never too little (SCHED-2). */
export function utf8Bytes(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

export function requirementsOf(
  { tenant, isDaily, tokens }: Pick<CheckedJob, 'tenant' | 'isDaily' | 'tokens'>,
  { request, tokensKey, place }: ModelNeeds,
): Requirement[] {
  const ofModel = [request, { key: tokensKey, amount: tokens }, place]
  // The tenant's own first: where that is used up too, it is the one that is named, and only the tenant waits.
  return isDaily ? [{ key: dailyKey(tenant), amount: tokens }, ...ofModel] : ofModel
}

/** Actual tokens in the place of the estimate, of the model and of the tenant. */
export function actualsOf(
  { tenant, isDaily }: Pick<CheckedJob, 'tenant' | 'isDaily'>,
  { tpm }: ModelKeys,
  actualTokens: number | undefined,
): Requirement[] {
  if (actualTokens === undefined) return []
  const actuals = [{ key: tpm, amount: actualTokens }]
  if (isDaily) actuals.push({ key: dailyKey(tenant), amount: actualTokens })
  return actuals
}

/**
 * Reads each field once. Jobs are often made by `{ ...base, tenant }`, and V8 may give each such object a shape of
 * its own: to look at a field of it costs as much as a reserve.
 */
export function checkedJob(
  given: SchedulerJob<unknown>,
  estimateTokens: (prompt: string, model: string) => number,
): CheckedJob {
  if (typeof given !== 'object' || given === null) {
    throw invalidParams(
      'job',
      'an object with tenant, provider, model, prompt, maxOutputTokens, execute',
    )
  }
  const { tenant, provider, model, prompt, maxOutputTokens, wantDailyBudget, execute } = given
  checkName('tenant', tenant)
  checkName('provider', provider)
  checkName('model', model)
  if (typeof prompt !== 'string') throw invalidParams('prompt', 'text')
  if (!Number.isSafeInteger(maxOutputTokens) || maxOutputTokens < 0) {
    throw invalidParams('maxOutputTokens', 'a whole number of at least 0')
  }
  if (typeof execute !== 'function') throw invalidParams('execute', 'a function')
  const promptTokens = estimateTokens(prompt, model)
  if (!Number.isSafeInteger(promptTokens) || promptTokens < 0) {
    throw invalidParams('estimateTokens', 'a whole number of at least 0')
  }
  const tokens = Math.max(1, promptTokens + maxOutputTokens)
  return { tenant, provider, model, isDaily: wantDailyBudget === true, tokens, execute, given }
}

export function checkName(field: string, name: unknown): void {
  if (typeof name !== 'string' || name === '') throw invalidParams(field, 'a name')
}
