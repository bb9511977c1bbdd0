import { hmacSha256Hex } from '../hash.ts'
import type { Policy } from '../policy.ts'
import { isPlainObject } from '../policy-field.ts'

/** Any JSON-like value. */
export type Loggable =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly Loggable[]
  | { readonly [key: string]: Loggable }

export const REDACTED = '[redacted]'

/**
 * Personal data in running text (AUDIT-4): e-mail addresses, telephone and card numbers, bearer
 * tokens and API keys. Written to catch too much rather than too little.
 */
const PATTERNS: readonly RegExp[] = [
  /[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu,
  /\b(?:bearer|basic)\s+[\w.~+/=-]{8,}/giu,
  /\b(?:sk|pk|api|key|ghp|xox[abp])[-_][\w-]{8,}/giu,
  // Digits in groups: +49 170 1234567, (555) 123-4567, 0170 1234567, 4111 1111 1111 1111, and dates
  // such as 3.4.2015 or 2015-04-03. Ids, amounts and times in milliseconds have no groups.
  /\+\d[\d ()./-]{6,}\d|\(\d{2,5}\)[\d ./-]{5,}\d|\b0\d{2,5}[ /-]\d{4,}\b/gu,
  /\b\d{2,4}(?:[ ./-]\d{2,4}){2,}\b|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b/gu,
]

/**
 * Makes a function that copies a value with all personal data replaced (AUDIT-3): an identifier by a
 * keyed hash, so that entries of one person can still be told together; everything else for good.
 */
export function redactor(policy: Policy, key: Uint8Array): (value: Loggable) => Loggable {
  const isIdentifier = keyMatcher(policy.audit.identifierKeys)
  const isPersonal = keyMatcher(policy.audit.redactKeys)

  const redact = (value: Loggable): Loggable => {
    if (typeof value === 'string') return redactText(value)
    if (Array.isArray(value)) return value.map(redact)
    if (!isPlainObject(value)) return value
    const entries = Object.entries(value).map(([name, item]) => [
      redactText(name),
      field(name, item as Loggable),
    ])
    return Object.fromEntries(entries) as Loggable
  }
  const field = (name: string, value: Loggable): Loggable => {
    if (value === null) return null
    const spelt = snakeSpelling(name)
    if (isIdentifier(spelt)) {
      return typeof value === 'object' ? REDACTED : pseudonym(key, String(value))
    }
    return isPersonal(spelt) ? REDACTED : redact(value)
  }
  return redact
}

/** `hmac:` and 16 hex digits: the same person gives the same text, and nobody can turn it back. */
export function pseudonym(key: Uint8Array, identifier: string): string {
  return `hmac:${hmacSha256Hex(key, identifier).slice(0, 16)}`
}

/** Replaces what looks like personal data in free text. */
export function redactText(text: string): string {
  return PATTERNS.reduce((rest, pattern) => rest.replace(pattern, REDACTED), text)
}

function keyMatcher(keys: readonly string[]): (name: string) => boolean {
  const patterns = keys.map((key) => {
    const literal = snakeSpelling(key).replaceAll(/[$()+.?[\\\]^{|}]/g, '\\$&')
    return new RegExp(`^${literal.replaceAll('*', '.*')}$`, 'u')
  })
  return (name) => patterns.some((pattern) => pattern.test(name))
}

/** `parentEmail`, `parent-email` and `Parent Email` are one key. */
function snakeSpelling(name: string): string {
  return name
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, '$1_$2')
    .replaceAll(/[\s.-]+/g, '_')
    .toLowerCase()
}
