import type { HttpAnswer } from '../adapter/adapter.ts'

/** Nobody waits longer than a day for a seat. */
const LONGEST_MS = 86_400_000

/**
 * How long an answer asks to wait, in ms; undefined where it does not say. A date is meant on the
 * platform's clock, so it is counted from the `Date` of the same answer (EXECUTE-5).
 */
export function retryAfterMs(
  headers: HttpAnswer['headers'],
  answeredAt: number,
): number | undefined {
  const written = textOf(headers['retry-after'])
  if (written === undefined) return undefined
  if (/^\d+(?:\.\d+)?$/.test(written)) return bounded(Math.ceil(Number(written) * 1_000))
  const until = httpDate(written)
  if (Number.isNaN(until)) return undefined
  const said = httpDate(textOf(headers['date']))
  return bounded(until - (Number.isNaN(said) ? answeredAt : said))
}

/** A date as HTTP has them; NaN for anything else, of which `Date.parse` would take a good deal. */
export function httpDate(text: string | undefined): number {
  const isDate =
    text !== undefined && /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} .* GMT$/.test(text)
  return isDate ? Date.parse(text) : Number.NaN
}

function textOf(header: string | string[] | undefined): string | undefined {
  return (Array.isArray(header) ? header[0] : header)?.trim()
}

function bounded(ms: number): number {
  return Math.min(LONGEST_MS, Math.max(0, ms))
}
