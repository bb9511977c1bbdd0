import { invalidParams, isPlainObject, type Requirement } from '@fairlead/core/limits'
import { knownFields } from '../known-fields.ts'

/** What `execute` is given. */
export interface ExecuteContext {
  readonly jobId: string
  /** Under which the limiter holds what this run reserved. */
  readonly leaseId: string
  /** 1 for the first lease id of the job, and one more after each denial. */
  readonly attempt: number
  readonly signal: AbortSignal
}

/** A call to a model that waits for its turn. */
export interface SchedulerJob<T> {
  /** Names the job in events and in its context; the scheduler makes one unless given. */
  readonly jobId?: string
  readonly tenant: string
  readonly provider: string
  readonly model: string
  readonly prompt: string
  readonly maxOutputTokens: number
  /** Whether the tenant's tokens of the day are reserved too. */
  readonly wantDailyBudget?: boolean
  /** Does the work. An error with a number as `actualTokens` says what was used all the same. */
  readonly execute: (context: ExecuteContext) => Promise<{
    readonly value: T
    readonly actualTokens?: number
  }>
}

/** The same, read and checked. */
export interface CheckedJob {
  readonly jobId: string | undefined
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
  readonly inFlight: Requirement
}

export function modelNeeds({ rpm, tpm, concurrency }: ModelKeys): ModelNeeds {
  return {
    request: { key: rpm, amount: 1 },
    tokensKey: tpm,
    inFlight: { key: concurrency, amount: 1 },
  }
}

export function dailyKey(tenant: string): string {
  return `tenant:${tenant}:llm:daily_tokens`
}

/** What a job asks for. A key of the model that has no limit is left out (SCHED-8). */
export function requirementsOf(
  { tenant, isDaily, tokens }: Pick<CheckedJob, 'tenant' | 'isDaily' | 'tokens'>,
  { request, tokensKey, inFlight }: ModelNeeds,
  absent: ReadonlySet<string>,
): Requirement[] {
  const ofModel = [request, { key: tokensKey, amount: tokens }, inFlight]
  const asked = absent.size === 0 ? ofModel : ofModel.filter(({ key }) => !absent.has(key))
  // The tenant's own first: where that is used up too, it is the one that is named, and only the tenant waits.
  if (isDaily) return [{ key: dailyKey(tenant), amount: tokens }, ...asked]
  // Without any limit a name may be misspelt: the limiter is asked, and refuses it.
  return asked.length === 0 ? [request] : asked
}

/** Actual tokens in the place of the estimate, of the model and of the tenant, as far as they were reserved. */
export function actualsOf(
  { tenant, isDaily }: Pick<CheckedJob, 'tenant' | 'isDaily'>,
  asked: readonly Requirement[],
  { tpm }: ModelKeys,
  actualTokens: number | undefined,
): Requirement[] {
  if (actualTokens === undefined) return []
  const actuals: Requirement[] = []
  if (asked.some(({ key }) => key === tpm)) actuals.push({ key: tpm, amount: actualTokens })
  if (isDaily) actuals.push({ key: dailyKey(tenant), amount: actualTokens })
  return actuals
}

const JOB_FIELDS = [
  'jobId',
  'tenant',
  'provider',
  'model',
  'prompt',
  'maxOutputTokens',
  'wantDailyBudget',
  'execute',
] as const

/**
 * Reads each field once. Jobs are often made by `{ ...base, tenant }`, and V8 may give each such object a shape of
 * its own: to look at a field of it costs as much as a reserve.
 */
export function checkedJob(
  given: SchedulerJob<unknown>,
  estimateTokens: (prompt: string, model: string) => number,
): CheckedJob {
  // An instance of a class may carry fields of its own, for its `execute`.
  if (typeof given !== 'object' || given === null || isPlainObject(given)) {
    knownFields('job', given, JOB_FIELDS)
  }
  const { jobId, tenant, provider, model, prompt, maxOutputTokens, wantDailyBudget, execute } =
    given
  if (jobId !== undefined) checkName('jobId', jobId)
  checkName('tenant', tenant)
  checkName('provider', provider)
  checkName('model', model)
  if (typeof prompt !== 'string') throw invalidParams('prompt', 'text')
  if (!Number.isSafeInteger(maxOutputTokens) || maxOutputTokens < 0) {
    throw invalidParams('maxOutputTokens', 'a whole number of at least 0')
  }
  if (typeof execute !== 'function') throw invalidParams('execute', 'a function')
  const isDaily = wantDailyBudget === true
  const tokens = Math.max(1, estimated(estimateTokens(prompt, model)) + maxOutputTokens)
  return { jobId, tenant, provider, model, isDaily, tokens, execute, given }
}

function estimated(tokens: unknown): number {
  if (Number.isSafeInteger(tokens) && (tokens as number) >= 0) return tokens as number
  // A promise is refused like anything else, and must not end the process when it rejects.
  if (tokens instanceof Promise) tokens.catch(() => undefined)
  throw invalidParams('estimateTokens', 'a whole number of at least 0, and no promise of one')
}

export function checkName(field: string, name: unknown): void {
  if (typeof name !== 'string' || name === '') throw invalidParams(field, 'a name')
}
