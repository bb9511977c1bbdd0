import {
  invalidParams,
  RATIO_POLICY,
  type RatioPolicy,
  WHOLE_PPM,
  wholeNumber,
} from '@fairlead/core/limits'
import { knownFields } from '../known-fields.ts'
import { eitherField } from './either-field.ts'

/** The share of a job type in an instance's part of each model. */
export interface JobTypeRatioConfig {
  /** 0 to 1 at the start; those that are not given share the rest equally, and all add up to 1. */
  readonly initialValue?: number
  /** Another name of `initialValue`. */
  readonly initial?: number
  /** Whether the share may move with the load; it may unless said otherwise. */
  readonly flexible?: boolean
}

/** When ratios are looked at again, and how far they move (SLOT-9). Fractions are from 0 to 1. */
export interface RatioAdjustmentConfig {
  /** A type above this load receives; 0.7 unless given. */
  readonly highLoadThreshold?: number
  /** A type below this load gives; 0.3 unless given. */
  readonly lowLoadThreshold?: number
  /** The most that a type gives at one time; 0.2 unless given. */
  readonly maxAdjustment?: number
  /** No type gives below this; 0.01 unless given. */
  readonly minRatio?: number
  /** 5,000 unless given. */
  readonly adjustmentIntervalMs?: number
  /** 10 unless given. */
  readonly releasesPerAdjustment?: number
}

export interface Adjusting extends RatioPolicy {
  readonly intervalMs: number
  readonly releases: number
}

const ADJUST_INTERVAL_MS = 5_000
const ADJUST_RELEASES = 10
const FIELDS = [
  'highLoadThreshold',
  'lowLoadThreshold',
  'maxAdjustment',
  'minRatio',
  'adjustmentIntervalMs',
  'releasesPerAdjustment',
] as const

export function readRatio(
  at: string,
  given: JobTypeRatioConfig,
): { readonly initialPpm: number | null; readonly isFlexible: boolean } {
  const ratio = knownFields(at, given, ['initialValue', 'initial', 'flexible'])
  const { flexible = true } = ratio
  if (typeof flexible !== 'boolean') throw invalidParams(`${at}.flexible`, 'true or false')
  const { name, value } = eitherField(at, ratio, ['initialValue', 'initial'])
  const initialPpm = value === undefined ? null : ppmOf(`${at}.${name}`, value)
  return { initialPpm, isFlexible: flexible }
}

export function readRatioAdjustment(given: RatioAdjustmentConfig = {}): Adjusting {
  const at = 'ratioAdjustment'
  const config = knownFields(at, given, FIELDS)
  const fraction = (field: (typeof FIELDS)[number], usual: number): number => {
    const value = config[field]
    return value === undefined ? usual : ppmOf(`${at}.${field}`, value)
  }
  const { adjustmentIntervalMs = ADJUST_INTERVAL_MS, releasesPerAdjustment = ADJUST_RELEASES } =
    config
  const { lowPpm, highPpm, maxAdjustmentPpm, minRatioPpm } = RATIO_POLICY
  const adjusting = {
    lowPpm: fraction('lowLoadThreshold', lowPpm),
    highPpm: fraction('highLoadThreshold', highPpm),
    maxAdjustmentPpm: fraction('maxAdjustment', maxAdjustmentPpm),
    minRatioPpm: fraction('minRatio', minRatioPpm),
    intervalMs: wholeNumber(`${at}.adjustmentIntervalMs`, adjustmentIntervalMs, { min: 1 }),
    releases: wholeNumber(`${at}.releasesPerAdjustment`, releasesPerAdjustment, { min: 1 }),
  }
  if (adjusting.lowPpm > adjusting.highPpm) {
    const high = adjusting.highPpm / WHOLE_PPM
    const low = adjusting.lowPpm / WHOLE_PPM
    throw invalidParams(`${at}.lowLoadThreshold`, `at most highLoadThreshold (${high})`, `${low}`)
  }
  return adjusting
}

/** Millionths, exactly: 0.29 is 290,000. */
function ppmOf(field: string, fraction: unknown): number {
  const ppm = typeof fraction === 'number' ? Math.round(fraction * WHOLE_PPM) : Number.NaN
  // Six decimals are a number of millionths, and the number next to them is what was written.
  if (ppm >= 0 && ppm <= WHOLE_PPM && ppm / WHOLE_PPM === fraction) return ppm
  throw invalidParams(field, 'a number from 0 to 1 with at most six decimals', shown(fraction))
}

function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : `a value of type ${typeof value}`
}
