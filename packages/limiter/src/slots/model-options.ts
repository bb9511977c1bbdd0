import {
  invalidParams,
  type JobEstimate,
  type ModelLimits,
  type RatioPolicy,
  type SlotPool,
  WHOLE_PPM,
} from '@fairlead/core'
import type { Pricing } from './cost.ts'

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

/** When ratios are looked at again. */
export interface AdjustOptions extends Partial<RatioPolicy> {
  readonly intervalMs?: number
  readonly releases?: number
}

export function readModel(name: string, options: ModelOptions): ModelLimits {
  const limit = (field: keyof ModelOptions): number | null => {
    const value = options[field]
    return value === undefined ? null : whole(`models.${name}.${field}`, value, 0)
  }
  return {
    tpm: limit('tokensPerMinute'),
    rpm: limit('requestsPerMinute'),
    tpd: limit('tokensPerDay'),
    rpd: limit('requestsPerDay'),
    maxConcurrency: limit('maxConcurrentRequests'),
  }
}

export function readJobType(name: string, options: JobTypeOptions): JobType {
  const at = `jobTypes.${name}`
  const {
    estimatedTokens,
    estimatedRequests = 1,
    estimatedMemoryKB = 0,
    ratio,
    maxWaitMs,
  } = options
  return {
    name,
    estimate: {
      tokens: whole(`${at}.estimatedTokens`, estimatedTokens, 0),
      requests: whole(`${at}.estimatedRequests`, estimatedRequests, 0),
    },
    memoryKB: whole(`${at}.estimatedMemoryKB`, estimatedMemoryKB, 0),
    initialPpm: ratio?.initial === undefined ? null : ppm(`${at}.ratio.initial`, ratio.initial),
    isFlexible: ratio?.flexible ?? true,
    maxWaitMs: maxWaitMs === undefined ? null : whole(`${at}.maxWaitMs`, maxWaitMs, 0),
  }
}

export function whole(field: string, value: unknown, min: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= min) return value as number
  throw invalidParams(field, `a whole number of at least ${min}`)
}

/** Millionths, exactly: 0.29 is 290,000. */
function ppm(field: string, ratio: number): number {
  const exact = Math.round(ratio * WHOLE_PPM)
  if (exact >= 0 && exact <= WHOLE_PPM && Math.abs(exact - ratio * WHOLE_PPM) < 1e-6) return exact
  throw invalidParams(field, 'a number from 0 to 1 with at most six decimals')
}
