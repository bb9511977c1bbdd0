/** What an attempt that did not book means: try again, give up, or it could have booked. */
export type OutcomeClass = 'transient' | 'permanent' | 'unknown'

/** Code or decimal status → class: what a platform means by its answers. */
export type ErrorTaxonomy = Readonly<Record<string, OutcomeClass>>

/** What a platform answered when it did not book. At least one of the two is there. */
export interface RefusedAnswer {
  readonly http?: number
  readonly error?: string
  /** Its worker's own word, for a code and a status that nobody has named. */
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
/** Transient where a platform has no list of its own; of the 5xx only these are a list's to decide. */
const TRANSIENT_STATUSES: readonly number[] = [408, 429, 500, 502, 503, 504]

/** What is configured of a platform's answers. */
export interface AnswerMeanings {
  readonly errorTaxonomy: ErrorTaxonomy
  /** The statuses that are transient, in place of the built-in ones; null leaves those. */
  readonly retryOnHttp: readonly number[] | null
}

/** The code says more than the status, and the platform's own word more than the built-in one (ATTEMPT-1). */
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

/** Whether a code means something by itself: the rules name it, or the platform's own table does. */
export function isNamedCode(code: string, taxonomy: ErrorTaxonomy): boolean {
  return Object.hasOwn(CODES, code) || Object.hasOwn(taxonomy, code)
}

/** Why a job failed: the code, or the status where there is none (ATTEMPT-2). */
export function failureReason({ error, http }: RefusedAnswer): string {
  return error ?? `http_${http}`
}

function classOfStatus(http: number): OutcomeClass | undefined {
  if (TRANSIENT_STATUSES.includes(http)) return 'transient'
  return http >= 400 && http < 500 ? 'permanent' : undefined
}

/** A list names every transient status below 500, and of 500, 502, 503 and 504; other 5xx always are (ATTEMPT-10). */
function classByList(http: number, retryOnHttp: readonly number[]): OutcomeClass {
  const isListed = http < 500 || TRANSIENT_STATUSES.includes(http)
  return !isListed || retryOnHttp.includes(http) ? 'transient' : 'permanent'
}

/** A code `constructor` must not find what every object has. */
function own(table: ErrorTaxonomy, key: string): OutcomeClass | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}
