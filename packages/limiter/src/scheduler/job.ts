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

export function dailyKey(tenant: string): string {
  return `tenant:${tenant}:llm:daily_tokens`
}

/** A token is at least a byte, so this is never too little (SCHED-2). */
export function utf8Bytes(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

export function requirementsOf(
  job: SchedulerJob<unknown>,
  { rpm, tpm, concurrency }: ModelKeys,
  promptTokens: number,
): Requirement[] {
  const tokens = Math.max(1, promptTokens + job.maxOutputTokens)
  const requirements = [
    { key: rpm, amount: 1 },
    { key: tpm, amount: tokens },
    { key: concurrency, amount: 1 },
  ]
  if (job.wantDailyBudget) requirements.push({ key: dailyKey(job.tenant), amount: tokens })
  return requirements
}

/** Actual tokens in the place of the estimate, of the model and of the tenant. */
export function actualsOf(
  job: SchedulerJob<unknown>,
  { tpm }: ModelKeys,
  actualTokens: number | undefined,
): Requirement[] {
  if (actualTokens === undefined) return []
  const actuals = [{ key: tpm, amount: actualTokens }]
  if (job.wantDailyBudget) actuals.push({ key: dailyKey(job.tenant), amount: actualTokens })
  return actuals
}

export function checkJob(job: SchedulerJob<unknown>): void {
  for (const field of ['tenant', 'provider', 'model'] as const) {
    if (typeof job[field] !== 'string' || job[field] === '') throw invalidParams(field, 'a name')
  }
  if (typeof job.prompt !== 'string') throw invalidParams('prompt', 'text')
  if (!Number.isSafeInteger(job.maxOutputTokens) || job.maxOutputTokens < 0) {
    throw invalidParams('maxOutputTokens', 'a whole number of at least 0')
  }
  if (typeof job.execute !== 'function') throw invalidParams('execute', 'a function')
}
