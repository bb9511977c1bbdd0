/** The meaning of an attempt that did not book: try again, give up, or it may have booked. */
export type OutcomeClass = 'transient' | 'permanent' | 'unknown'

/** Maps a code or a decimal status to its class, as the platform means it. */
export type ErrorTaxonomy = Readonly<Record<string, OutcomeClass>>

/** The answer of a platform that did not book. At least one of `http` and `error` is present. */
export interface RefusedAnswer {
  readonly http?: number
  readonly error?: string
  /** The verdict of its worker, for a code and a status that no table names. */
  readonly isPermanent?: boolean
}

const CODES: ErrorTaxonomy = {
  timeout: 'transient',
  network: 'transient',
  not_yet_open: 'transient',
  validation_error: 'permanent',
  sold_out: 'permanent',
  not_found: 'permanent',
  auth_error: 'permanent',
}
/** These are transient if a platform has no list of its own. A list decides only about these 5xx. */
const TRANSIENT_STATUSES: readonly number[] = [408, 429, 500, 502, 503, 504]

/** The configured meanings of a platform's answers. */
export interface AnswerMeanings {
  readonly errorTaxonomy: ErrorTaxonomy
  /** The transient statuses in place of the built-in ones; null keeps those. */
  readonly retryOnHttp: readonly number[] | null
}

/** The code outranks the status, and the platform's table outranks the built-in one (ATTEMPT-1). */
export function classifyAnswer(answer: RefusedAnswer, meanings: AnswerMeanings): OutcomeClass {
  const { error, http } = answer
  const { errorTaxonomy: taxonomy, retryOnHttp } = meanings
  const byStatus = (status: number): OutcomeClass | undefined =>
    own(taxonomy, String(status)) ??
    (retryOnHttp === null ? classOfStatus(status) : classByList(status, retryOnHttp))
  return (
    (error === undefined ? undefined : (own(taxonomy, error) ?? own(CODES, error))) ??
    (http === undefined ? undefined : byStatus(http)) ??
    (answer.isPermanent === true ? 'permanent' : 'transient')
  )
}

/** True if a code has a meaning by itself: the rules or the platform's table define it. */
export function isNamedCode(code: string, taxonomy: ErrorTaxonomy): boolean {
  return Object.hasOwn(CODES, code) || Object.hasOwn(taxonomy, code)
}

/** Why a job failed: the code, or the status if there is none (ATTEMPT-2). */
export function failureReason({ error, http }: RefusedAnswer): string {
  return error ?? `http_${http}`
}

function classOfStatus(http: number): OutcomeClass | undefined {
  if (TRANSIENT_STATUSES.includes(http)) return 'transient'
  return http >= 400 && http < 500 ? 'permanent' : undefined
}

/**
 * A list names every transient status below 500, and of 500, 502, 503 and 504. Other 5xx are always transient
 * (ATTEMPT-10).
 */
function classByList(http: number, retryOnHttp: readonly number[]): OutcomeClass {
  const isListed = http < 500 || TRANSIENT_STATUSES.includes(http)
  return !isListed || retryOnHttp.includes(http) ? 'transient' : 'permanent'
}

/** Own keys only: a code `constructor` must not find an inherited property. */
function own(table: ErrorTaxonomy, key: string): OutcomeClass | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}
