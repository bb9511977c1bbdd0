/** What may be handed over: a response with its headers, headers, or an error that carries one of them. */
export type FeedbackSource =
  | { readonly headers?: HeadersLike; readonly response?: { readonly headers?: HeadersLike } }
  | HeadersLike
  | Error
  | null

export type HeadersLike =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** What a provider says of one of its limits. */
export interface ProviderLimit {
  readonly limit: number | null
  readonly remaining: number | null
  /** In how many milliseconds it is full again. */
  readonly resetMs: number | null
}

export interface Feedback {
  /** How long the provider wants to be left alone; null if it said nothing. */
  readonly retryAfterMs: number | null
  readonly requests: ProviderLimit
  readonly tokens: ProviderLimit
}

/** Reads what a provider says about its limits, in the ways that OpenAI, Anthropic and HTTP have for it. */
export function readFeedback(source: FeedbackSource, nowMs: number): Feedback {
  const read = reader(source)
  const of = (what: 'requests' | 'tokens'): ProviderLimit => {
    const name = (field: string): string[] => [
      `x-ratelimit-${field}-${what}`,
      `anthropic-ratelimit-${what}-${field}`,
    ]
    return {
      limit: number(first(read, name('limit'))),
      remaining: number(first(read, name('remaining'))),
      resetMs: reset(first(read, name('reset')), nowMs),
    }
  }
  const requests = of('requests')
  const tokens = of('tokens')
  const asked = retryAfter(read, nowMs)
  const usedUp = [requests, tokens]
    .filter(({ remaining }) => remaining === 0)
    .map(({ resetMs }) => resetMs ?? 0)
  const waits = [...(asked === null ? [] : [asked]), ...usedUp]
  return { retryAfterMs: waits.length === 0 ? null : Math.max(...waits), requests, tokens }
}

type Read = (name: string) => string | null

function reader(source: FeedbackSource): Read {
  const headers = headersOf(source)
  if (headers === null) return () => null
  if (isLikeFetch(headers)) return (name) => headers.get(name) ?? null
  const fields = Object.entries(headers as Record<string, string | readonly string[] | undefined>)
  const byName = new Map(fields.map(([name, value]) => [name.toLowerCase(), value]))
  return (name) => {
    const value = byName.get(name)
    return typeof value === 'string' ? value : (value?.[0] ?? null)
  }
}

/** The headers of a response, of an error, of the response inside an error, or themselves. */
function headersOf(source: FeedbackSource): HeadersLike | null {
  if (source === null || typeof source !== 'object') return null
  const carrier = source as { headers?: HeadersLike; response?: { headers?: HeadersLike } }
  if (isHeaders(carrier.headers)) return carrier.headers
  if (isHeaders(carrier.response?.headers)) return carrier.response.headers
  return source instanceof Error ? null : (source as HeadersLike)
}

function isLikeFetch(headers: HeadersLike): headers is { get(name: string): string | null } {
  return typeof (headers as { get?: unknown }).get === 'function'
}

function isHeaders(value: unknown): value is HeadersLike {
  return typeof value === 'object' && value !== null
}

function first(read: Read, names: readonly string[]): string | null {
  for (const name of names) {
    const value = read(name)
    if (value !== null) return value
  }
  return null
}

/** `retry-after-ms`, else `retry-after` in seconds or as a date. */
function retryAfter(read: Read, nowMs: number): number | null {
  const exact = number(read('retry-after-ms'))
  if (exact !== null) return Math.ceil(exact)
  const written = read('retry-after')
  if (written === null) return null
  const seconds = number(written)
  return seconds === null ? dateFromNow(written, nowMs) : Math.ceil(seconds * 1_000)
}

/** A duration (`6m0s`, `1.5s`, `250ms`), a number of seconds, or a date. */
function reset(written: string | null, nowMs: number): number | null {
  if (written === null) return null
  const seconds = number(written)
  if (seconds !== null) return Math.ceil(seconds * 1_000)
  const parts = [...written.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)]
  if (parts.map(([part]) => part).join('') !== written || parts.length === 0) {
    return dateFromNow(written, nowMs)
  }
  return Math.ceil(
    parts.reduce((sum, [, n, unit]) => sum + Number(n) * (UNIT_MS[unit ?? ''] ?? 0), 0),
  )
}

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

function dateFromNow(written: string, nowMs: number): number | null {
  const at = Date.parse(written)
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs)
}

function number(written: string | null): number | null {
  if (written === null || !/^\d+(\.\d+)?$/.test(written.trim())) return null
  return Number(written)
}
