import {
  invalidParams,
  type JobEstimate,
  type ModelLimits,
  RATIO_POLICY,
  type RatioPolicy,
  type SlotPool,
  WHOLE_PPM,
  wholeNumber,
} from '@fairlead/core'
import { knownFields } from '../known-fields.ts'
import type { JobUsage, Pricing } from './cost.ts'

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
  readonly estimatedTokens: number
  /** 1 unless given. */
  readonly estimatedRequests?: number
  readonly estimatedMemoryKB?: number
  readonly ratio?: {
    /** 0 to 1; those that are not given share the rest equally. */
    readonly initial?: number
    /** Whether its share may move with the load; it may unless said otherwise. */
    readonly flexible?: boolean
  }
  /** How long a job waits for each model; to the next minute and 5 s more unless given. */
  readonly maxWaitMs?: number
}

export interface OverageEvent {
  readonly model: string
  readonly jobType: string
  readonly overage: JobEstimate
}

export interface ModelLimiterEvents {
  /** A job has used more than its estimate. */
  readonly onOverage?: (event: OverageEvent) => void
  readonly onPoolChange?: (event: { readonly model: string; readonly pool: SlotPool }) => void
  /** Shares of the job types, 0 to 1. */
  readonly onRatioChange?: (ratios: Readonly<Record<string, number>>) => void
}

export interface JobType {
  readonly name: string
  readonly estimate: JobEstimate
  readonly memoryKB: number
  readonly initialPpm: number | null
  readonly isFlexible: boolean
  readonly maxWaitMs: number | null
}

/** When ratios are looked at again, and how far they move. */
export interface AdjustOptions extends Partial<RatioPolicy> {
  readonly intervalMs?: number
  readonly releases?: number
}

export interface Adjusting extends RatioPolicy {
  readonly intervalMs: number
  readonly releases: number
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
  'estimatedTokens',
  'estimatedRequests',
  'estimatedMemoryKB',
  'ratio',
  'maxWaitMs',
] as const
const USAGE_FIELDS = ['inputTokens', 'cachedTokens', 'outputTokens', 'requests'] as const
const ADJUST_INTERVAL_MS = 5_000
const ADJUST_RELEASES = 10

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

export function readJobType(name: string, given: JobTypeOptions): JobType {
  const at = `jobTypes.${name}`
  const {
    estimatedTokens,
    estimatedRequests = 1,
    estimatedMemoryKB = 0,
    ratio = {},
    maxWaitMs,
  } = knownFields(at, given, JOB_TYPE_FIELDS)
  const { initial, flexible = true } = knownFields(`${at}.ratio`, ratio, ['initial', 'flexible'])
  if (typeof flexible !== 'boolean') throw invalidParams(`${at}.ratio.flexible`, 'true or false')
  const whole = (field: keyof JobTypeOptions, value: unknown): number =>
    wholeNumber(`${at}.${field}`, value, { min: 0 })
  return {
    name,
    estimate: {
      tokens: whole('estimatedTokens', estimatedTokens),
      requests: whole('estimatedRequests', estimatedRequests),
    },
    memoryKB: whole('estimatedMemoryKB', estimatedMemoryKB),
    initialPpm: initial === undefined ? null : ppm(`${at}.ratio.initial`, initial),
    isFlexible: flexible,
    maxWaitMs: maxWaitMs === undefined ? null : whole('maxWaitMs', maxWaitMs),
  }
}

export function readAdjust(given: AdjustOptions = {}): Adjusting {
  const known = { intervalMs: ADJUST_INTERVAL_MS, releases: ADJUST_RELEASES, ...RATIO_POLICY }
  const fields = Object.keys(known) as (keyof Adjusting)[]
  const adjust = { ...known, ...knownFields('adjust', given, fields) }
  for (const field of fields) {
    const isCount = field === 'intervalMs' || field === 'releases'
    const bounds = isCount ? { min: 1 } : { min: 0, max: WHOLE_PPM }
    wholeNumber(`adjust.${field}`, adjust[field], bounds)
  }
  return adjust
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

/** Millionths, exactly: 0.29 is 290,000. */
function ppm(field: string, ratio: number): number {
  const exact = Math.round(ratio * WHOLE_PPM)
  if (exact >= 0 && exact <= WHOLE_PPM && Math.abs(exact - ratio * WHOLE_PPM) < 1e-6) return exact
  throw invalidParams(field, 'a number from 0 to 1 with at most six decimals')
}
