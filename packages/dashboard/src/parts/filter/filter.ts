import { durationMs } from '../../text/duration.ts'

/** What `aicf.listJobs` filters by, as the filter of the page says it. */
export interface JobFilter {
  status?: string
  kind?: string
  name?: string
  error?: string
  wait_reason?: string
  provider_id?: string
  caller?: string
  tag?: string
  idempotency_key?: string
  dedupe_key?: string
  schedule?: string
  task_id_prefix?: string
  since?: number
  until?: number
}

export interface ParsedFilter {
  readonly filter: JobFilter
  /** What is wrong with it, for people; null if nothing is. */
  readonly problem: string | null
}

const STATUSES = ['QUEUED', 'ASSIGNED', 'RUNNING', 'COMPLETED', 'FAILED', 'EXPIRED', 'CANCELED']
const KINDS = ['ai', 'quantum', 'task', 'registration']
export const WAITS = [
  'paused',
  'not_open',
  'scheduled',
  'dependencies',
  'backoff',
  'pacing',
  'budget',
  'proof',
  'no_provider',
  'ready',
]
const AGES = ['15m', '1h', '24h', '7d']

interface Term {
  readonly field: keyof JobFilter
  readonly about: string
  /** All that are taken; or only examples, or none that are known here. */
  readonly values: readonly string[]
  readonly read: (text: string, now: number) => string | number | null
  readonly expected: string
}

const anyText = (text: string): string | null => (text === '' ? null : text)
const oneOf = (values: readonly string[], change: (text: string) => string) => (text: string) =>
  values.find((value) => value === change(text)) ?? null

function word(field: keyof JobFilter, about: string): Term {
  return { field, about, values: [], read: anyText, expected: 'a text' }
}

function choice(
  field: keyof JobFilter,
  about: string,
  values: readonly string[],
  change: (text: string) => string,
): Term {
  return { field, about, values, read: oneOf(values, change), expected: values.join(', ') }
}

function moment(field: 'since' | 'until', about: string): Term {
  const expected =
    'an age such as 90s, 15m, 1h, 2d, or a date such as 2026-11-19 or 2026-11-19T08:00Z'
  return { field, about, values: AGES, read: momentOf, expected }
}

/** Every term of the language, by the word in front of the colon. */
export const TERMS: Readonly<Record<string, Term>> = {
  status: choice('status', 'where the job is', STATUSES, (text) => text.toUpperCase()),
  kind: choice('kind', 'what sort of job', KINDS, (text) => text.toLowerCase()),
  name: word('name', 'model, task name or platform'),
  error: word('error', 'code of the last failed attempt'),
  wait: choice('wait_reason', 'what it waits for', WAITS, (text) => text.toLowerCase()),
  provider: {
    ...word('provider_id', 'who had it last'),
    read: (text) => (text === '' ? null : text.startsWith('provider:') ? text : `provider:${text}`),
  },
  caller: word('caller', 'whose job, as 0x hex'),
  tag: word('tag', 'one of its tags'),
  key: word('idempotency_key', 'idempotency key'),
  dedupe: word('dedupe_key', 'dedupe key'),
  schedule: word('schedule', 'schedule that enqueued it'),
  id: {
    ...word('task_id_prefix', 'first digits of its id'),
    read: (text) => (/^0x[0-9a-f]{8,64}$/i.test(text) ? text.toLowerCase() : null),
    expected: '0x and 8 to 64 hex digits',
  },
  since: moment('since', 'enqueued at or after'),
  until: moment('until', 'enqueued before'),
}

/** Reads `status:FAILED name:email error:timeout since:1h`; the terms are joined by "and". */
export function parseFilter(text: string, now: number): ParsedFilter {
  const filter: Record<string, string | number> = {}
  for (const token of tokensOf(text)) {
    const problem = addTerm(filter, token, now)
    if (problem !== null) return { filter: {}, problem }
  }
  return { filter: filter as JobFilter, problem: null }
}

function addTerm(
  filter: Record<string, string | number>,
  token: string,
  now: number,
): string | null {
  // An id by itself is what people paste.
  if (/^0x[0-9a-f]{8,64}$/i.test(token)) {
    filter['task_id_prefix'] = token.toLowerCase()
    return null
  }
  const colon = token.indexOf(':')
  const name = token.slice(0, colon)
  const term = Object.hasOwn(TERMS, name) ? TERMS[name] : undefined
  if (colon < 0 || term === undefined) {
    const shown = colon < 0 ? token : `${name}:`
    return `There is no term "${shown}". Expected one of ${Object.keys(TERMS).join(', ')}, a colon and a value, or an id.`
  }
  if (term.field in filter) return `"${name}:" is there twice. A filter takes one of each.`
  const value = term.read(unquoted(token.slice(colon + 1)), now)
  if (value === null) return `${name}: expected ${term.expected}.`
  filter[term.field] = value
  return null
}

/** Words between spaces; quotes keep spaces together. */
export function tokensOf(text: string): string[] {
  return text.match(/(?:[^\s"]|"[^"]*"?)+/g) ?? []
}

function unquoted(text: string): string {
  return text.replaceAll('"', '')
}

/** A term as it is written, with quotes where its value needs them. */
export function termText(name: string, value: string): string {
  return /[\s"]/.test(value) ? `${name}:"${value.replaceAll('"', '')}"` : `${name}:${value}`
}

function momentOf(text: string, now: number): number | null {
  const age = durationMs(text)
  if (age !== null) return Math.max(0, now - age)
  if (!/^\d{4}-\d{2}-\d{2}/.test(text)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) || at < 0 ? null : at
}
