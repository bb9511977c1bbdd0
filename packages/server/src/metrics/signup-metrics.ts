import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** From milliseconds to the end of a retry window. */
const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300]

/** What codes are counted by; a platform may answer with anything. */
const CODES: ReadonlySet<string> = new Set([
  'sold_out',
  'validation_error',
  'not_found',
  'auth_error',
  'not_yet_open',
  'rate_limited',
  'timeout',
  'network',
  'not_sent',
  'unclear_answer',
  'outcome_unknown',
])

export function codeLabel(code: string, http: number | undefined): string {
  if (CODES.has(code)) return code
  return http === 429 ? 'rate_limited' : 'other'
}

/** The platforms that a label has a value for; those that come later count as `other`. */
export const PLATFORM_LABELS_MAX = 100

/** How a registration ended, for the time that it took: a place on the waitlist is a success, too. */
export function endLabel(result: string): 'success' | 'failure' | 'canceled' {
  if (result === 'canceled') return 'canceled'
  return result === 'failed' ? 'failure' : 'success'
}

export function httpLabel(status: number): string {
  if (status === 429) return '429'
  return status >= 500 ? '5xx' : status >= 400 ? '4xx' : 'other'
}

/** Places from 1, in groups; `none` for whoever was never tried. */
export function rankLabel(rank: number | null): string {
  if (rank === null) return 'none'
  const place = rank + 1
  const bounds = [10, 50, 100, 200, 500]
  const above = bounds.find((bound) => place <= bound)
  if (above === undefined) return '501+'
  const below = bounds[bounds.indexOf(above) - 1] ?? 0
  return `${below + 1}-${above}`
}

/** The metrics of registrations, all by platform (METRICS-2). */
export function signupMetrics(registry: Registry) {
  const registers = [registry]
  return {
    queued: new Gauge({
      name: 'fairlead_signup_queued',
      help: 'Registrations that wait.',
      labelNames: ['platform'],
      registers,
    }),
    inFlight: new Gauge({
      name: 'fairlead_signup_in_flight',
      help: 'Attempts under way.',
      labelNames: ['platform'],
      registers,
    }),
    allowed: new Gauge({
      name: 'fairlead_signup_allowed_attempts_per_second',
      help: 'Attempts a second that all organisations together may make now.',
      labelNames: ['platform'],
      registers,
    }),
    burst: new Gauge({
      name: 'fairlead_signup_burst_used_ratio',
      help: 'Share of its burst that the busiest organisation has used.',
      labelNames: ['platform'],
      registers,
    }),
    attempts: new Counter({
      name: 'fairlead_signup_attempts_total',
      help: 'Attempts that were given to a worker.',
      labelNames: ['platform'],
      registers,
    }),
    firstAttempt: new Histogram({
      name: 'fairlead_signup_first_attempt_delay_seconds',
      help: 'Time from the opening, or from scheduling if that was later, to the first call of the first attempt.',
      labelNames: ['platform'],
      buckets: SECONDS,
      registers,
    }),
    outcome: new Histogram({
      name: 'fairlead_signup_outcome_delay_seconds',
      help: 'Time from the opening, or from scheduling if that was later, to success, failure or a cancel.',
      labelNames: ['platform', 'result'],
      buckets: SECONDS,
      registers,
    }),
    latency: new Histogram({
      name: 'fairlead_signup_attempt_duration_seconds',
      help: 'Time from the ack of an attempt to its answer.',
      labelNames: ['platform'],
      buckets: SECONDS,
      registers,
    }),
    outcomes: new Counter({
      name: 'fairlead_signup_outcomes_total',
      help: 'Registrations that ended, by result and by place in the session.',
      labelNames: ['platform', 'result', 'rank'],
      registers,
    }),
    feesFailed: new Counter({
      name: 'fairlead_signup_fees_failed_total',
      help: 'Bookings whose success fee was not taken.',
      labelNames: ['platform'],
      registers,
    }),
    refusals: new Counter({
      name: 'fairlead_signup_refusals_total',
      help: 'Attempts without success, by what the booking site said.',
      labelNames: ['platform', 'code'],
      registers,
    }),
    httpErrors: new Counter({
      name: 'fairlead_signup_http_errors_total',
      help: 'Answers of booking sites that were errors, by status.',
      labelNames: ['platform', 'status'],
      registers,
    }),
  }
}
