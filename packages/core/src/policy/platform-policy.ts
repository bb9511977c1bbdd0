import type { ErrorTaxonomy } from '../outcome/classify.ts'

/** How registrations go to one platform: the budget of each of its organisations, the pace and the retries. */
export interface PlatformPolicy {
  /** The most attempts in flight, for each dispatch key. */
  readonly maxConcurrency: number
  /** The tokens in a full bucket, for each dispatch key. */
  readonly burst: number
  /** The refill of the bucket, in thousandths of a token per second. */
  readonly maxRpsMilli: number
  readonly minSpacingMs: number
  /** How long after its opening or its first attempt a job may be retried. */
  readonly windowMs: number
  /** The waits before the first, second … retry; the last one repeats. */
  readonly backoffMs: readonly number[]
  readonly idempotencyKeySupported: boolean
  readonly lookupSupported: boolean
  readonly errorTaxonomy: ErrorTaxonomy
  /** The transient statuses; null keeps the built-in ones (ATTEMPT-10). */
  readonly retryOnHttp: readonly number[] | null
  /** By event_id, 1 if missing; null means plain round robin. */
  readonly weights: Readonly<Record<string, number>> | null
  /** The zone of times in texts for people, such as `Europe/Berlin`. It influences no decision. */
  readonly timeZone: string
}

/** The given fields of each platform; the row `default` applies to all of them. */
export type PlatformRows = Readonly<Record<string, Partial<PlatformPolicy>>>

const BUILT_IN_DEFAULT: PlatformPolicy = {
  maxConcurrency: 2,
  burst: 4,
  maxRpsMilli: 2_000,
  minSpacingMs: 50,
  windowMs: 120_000,
  backoffMs: [250, 500, 1_000, 2_000],
  idempotencyKeySupported: false,
  lookupSupported: false,
  errorTaxonomy: {},
  retryOnHttp: null,
  weights: null,
  timeZone: 'UTC',
}

const BUILT_IN_ROWS: PlatformRows = {
  bookeo: { maxConcurrency: 3, burst: 6, maxRpsMilli: 3_000, minSpacingMs: 40 },
  campminder: { maxConcurrency: 1, burst: 2, maxRpsMilli: 1_000, minSpacingMs: 100 },
}

/**
 * The first of these sources that has a field decides it: the platform's row, its built-in row, the row `default`,
 * the built-in default (BUDGET-1).
 */
export function platformPolicy(platform: string, rows: PlatformRows): PlatformPolicy {
  return {
    ...BUILT_IN_DEFAULT,
    ...own(rows, 'default'),
    ...own(BUILT_IN_ROWS, platform),
    ...own(rows, platform),
  }
}

/** The name of a platform is free text, so it may be `constructor`. */
function own(rows: PlatformRows, name: string): Partial<PlatformPolicy> | undefined {
  return Object.hasOwn(rows, name) ? rows[name] : undefined
}
