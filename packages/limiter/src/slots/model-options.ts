import {
  invalidParams,
  type JobEstimate,
  type ModelLimits,
  type SlotPool,
  wholeNumber,
} from '@fairlead/core/limits'
import { knownFields } from '../known-fields.ts'
import type { OnError } from '../observers.ts'
import type { JobUsage, Pricing } from './cost.ts'
import { eitherField } from './either-field.ts'
import type { AttemptReport } from './job-outcome.ts'
import { type JobTypeRatioConfig, readRatio } from './ratio-options.ts'

/** What a provider allows for a model; what is left out has no limit. */
export interface ModelOptions {
  readonly tokensPerMinute?: number
  readonly requestsPerMinute?: number
  readonly tokensPerDay?: number
  readonly requestsPerDay?: number
  readonly maxConcurrentRequests?: number
  readonly pricing?: Pricing
}

/** A kind of work, with what one job of it is thought to use. */
export interface JobTypeOptions {
  /** May be left out where no model limits tokens. */
  readonly estimatedUsedTokens?: number
  /** Another name of `estimatedUsedTokens`. */
  readonly estimatedTokens?: number
  /** 1 unless given. */
  readonly estimatedRequests?: number
  readonly estimatedMemoryKB?: number
  readonly ratio?: JobTypeRatioConfig
  /** How long a job waits for each model; to the next minute and 5 s more unless given. */
  readonly maxWaitMs?: number
}

export interface OverageEvent {
  readonly jobId: string
  readonly leaseId: string
  readonly model: string
  readonly jobType: string
  readonly overage: JobEstimate
}

/** An observer may be asynchronous. One that fails changes nothing for any job (LIMIT-17). */
export interface ModelLimiterEvents {
  /** A job has used more than its estimate. */
  readonly onOverage?: (event: OverageEvent) => unknown
  readonly onPoolChange?: (event: { readonly model: string; readonly pool: SlotPool }) => unknown
  /** Shares of the job types, 0 to 1. */
  readonly onRatioChange?: (ratios: Readonly<Record<string, number>>) => unknown
  /** A run of a job on a model has ended, whatever became of it. */
  readonly onAttempt?: (event: AttemptEvent) => unknown
  /** Told of the first failure of each other observer; a warning of the process unless given. */
  readonly onError?: OnError
}

export interface AttemptEvent extends AttemptReport {
  readonly jobId: string
  readonly jobType: string
}

export interface JobType {
  readonly name: string
  readonly estimate: JobEstimate
  readonly memoryKB: number
  readonly initialPpm: number | null
  readonly isFlexible: boolean
  readonly maxWaitMs: number | null
}

const MODEL_FIELDS = [
  'tokensPerMinute',
  'requestsPerMinute',
  'tokensPerDay',
  'requestsPerDay',
  'maxConcurrentRequests',
  'pricing',
] as const
const PRICES = ['input', 'cached', 'output'] as const
const JOB_TYPE_FIELDS = [
  'estimatedUsedTokens',
  'estimatedTokens',
  'estimatedRequests',
  'estimatedMemoryKB',
  'ratio',
  'maxWaitMs',
] as const
const USAGE_FIELDS = ['inputTokens', 'cachedTokens', 'outputTokens', 'requests'] as const

export function readModel(name: string, given: ModelOptions): ModelLimits {
  const at = `models.${name}`
  const options = knownFields(at, given, MODEL_FIELDS)
  const prices = knownFields(`${at}.pricing`, options.pricing ?? {}, PRICES)
  for (const price of PRICES) checkPrice(`${at}.pricing.${price}`, prices[price] ?? 0)
  const limit = (field: Exclude<keyof ModelOptions, 'pricing'>): number | null => {
    const value = options[field]
    return value === undefined ? null : wholeNumber(`${at}.${field}`, value, { min: 0 })
  }
  return {
    tpm: limit('tokensPerMinute'),
    rpm: limit('requestsPerMinute'),
    tpd: limit('tokensPerDay'),
    rpd: limit('requestsPerDay'),
    maxConcurrency: limit('maxConcurrentRequests'),
  }
}

/** Without a limit on tokens no estimate of them is asked for (SLOT-1). */
export function readJobType(
  name: string,
  given: JobTypeOptions,
  models: ReadonlyMap<string, ModelLimits>,
): JobType {
  const at = `jobTypes.${name}`
  const options = knownFields(at, given, JOB_TYPE_FIELDS)
  const { estimatedRequests = 1, estimatedMemoryKB = 0, ratio = {}, maxWaitMs } = options
  const tokens = eitherField(at, options, ['estimatedUsedTokens', 'estimatedTokens'])
  const whole = (field: keyof JobTypeOptions, value: unknown): number =>
    wholeNumber(`${at}.${field}`, value, { min: 0 })
  return {
    name,
    estimate: {
      tokens:
        tokens.value === undefined && !limitsTokens(models) ? 0 : whole(tokens.name, tokens.value),
      requests: whole('estimatedRequests', estimatedRequests),
    },
    memoryKB: whole('estimatedMemoryKB', estimatedMemoryKB),
    ...readRatio(`${at}.ratio`, ratio),
    maxWaitMs: maxWaitMs === undefined ? null : whole('maxWaitMs', maxWaitMs),
  }
}

function limitsTokens(models: ReadonlyMap<string, ModelLimits>): boolean {
  return [...models.values()].some(({ tpm, tpd }) => tpm !== null || tpd !== null)
}

/** What a job says that it has used, or `InvalidParams`: a number that is none would be in every sum from then on. */
export function readUsage(given: JobUsage): JobUsage {
  const usage = knownFields('usage', given, USAGE_FIELDS)
  for (const field of USAGE_FIELDS) {
    const value = usage[field]
    if (value !== undefined) wholeNumber(`usage.${field}`, value, { min: 0 })
  }
  return usage
}

function checkPrice(field: string, price: unknown): void {
  if (typeof price === 'number' && Number.isFinite(price) && price >= 0) return
  throw invalidParams(field, 'a price per million tokens, of at least 0')
}
