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
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504])

/** The code says more than the status, and the platform's own word more than the built-in one (ATTEMPT-1). */
export function classifyAnswer(answer: RefusedAnswer, taxonomy: ErrorTaxonomy): OutcomeClass {
  const { error, http } = answer
  return (
    (error === undefined ? undefined : (own(taxonomy, error) ?? own(CODES, error))) ??
    (http === undefined ? undefined : (own(taxonomy, String(http)) ?? classOfStatus(http))) ??
    (answer.isPermanent === true ? 'permanent' : 'transient')
  )
}

/** Why a job failed: the code, or the status where there is none (ATTEMPT-2). */
export function failureReason({ error, http }: RefusedAnswer): string {
  return error ?? `http_${http}`
}

function classOfStatus(http: number): OutcomeClass | undefined {
  if (TRANSIENT_STATUSES.has(http)) return 'transient'
  return http >= 400 && http < 500 ? 'permanent' : undefined
}

/** A code `constructor` must not find what every object has. */
function own(table: ErrorTaxonomy, key: string): OutcomeClass | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}
