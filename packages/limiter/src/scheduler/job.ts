import { invalidParams, type Requirement, wholeNumber } from '@fairlead/core'

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
export interface CheckedJob extends Omit<SchedulerJob<unknown>, 'wantDailyBudget'> {
  readonly isDaily: boolean
  /** What `execute` is a method of. */
  readonly given: SchedulerJob<unknown>
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
  job: CheckedJob,
  { request, tokensKey, place }: ModelNeeds,
  promptTokens: number,
): Requirement[] {
  wholeNumber('estimateTokens', promptTokens, { min: 0 })
  const amount = Math.max(1, promptTokens + job.maxOutputTokens)
  const ofModel = [request, { key: tokensKey, amount }, place]
  // The tenant's own first: where that is used up too, it is the one that is named, and only the tenant waits.
  return job.isDaily ? [{ key: dailyKey(job.tenant), amount }, ...ofModel] : ofModel
}

/** Actual tokens in the place of the estimate, of the model and of the tenant. */
export function actualsOf(
  job: CheckedJob,
  { tpm }: ModelKeys,
  actualTokens: number | undefined,
): Requirement[] {
  if (actualTokens === undefined) return []
  const actuals = [{ key: tpm, amount: actualTokens }]
  if (job.isDaily) actuals.push({ key: dailyKey(job.tenant), amount: actualTokens })
  return actuals
}

/**
 * Reads each field once. Jobs are often made by `{ ...base, tenant }`, and V8 may give each such object a shape of
 * its own: to look at a field of it costs as much as a reserve.
 */
export function checkedJob(given: SchedulerJob<unknown>): CheckedJob {
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
  const isDaily = wantDailyBudget === true
  return { tenant, provider, model, prompt, maxOutputTokens, isDaily, execute, given }
}

export function checkName(field: string, name: unknown): void {
  if (typeof name !== 'string' || name === '') throw invalidParams(field, 'a name')
}
