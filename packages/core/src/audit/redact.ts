import { CBOR_DEPTH_MAX } from '../encoding/cbor.ts'
import { hmacSha256Hex } from '../encoding/hash.ts'
import { isPlainObject } from '../encoding/plain-object.ts'
import type { Policy } from '../policy/policy.ts'

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

// All characters that an address may contain, so that unusual ones are caught too. Every repetition is bounded: the
// time must not grow with the square of the text's length.
const LOCAL = String.raw`[^\s@<>()\[\],;:"\\]`
const LABEL = String.raw`[^\s@<>()\[\],;:"'\\/.]`

/** Personal data in running text that is never part of an id (AUDIT-4). */
const SECRETS: readonly RegExp[] = [
  new RegExp(`${LOCAL}{1,64}@(?:${LABEL}{1,63}\\.){1,8}${LABEL}{2,63}`, 'gu'),
  /\b(?:bearer|basic)\s+[\w.~+/=-]{8,}/giu,
  /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/gu,
]

/** Personal data that a provider's name may resemble: keys, and digits in groups. */
const LOOKALIKES: readonly RegExp[] = [
  /\b(?:sk|pk|api|key|ghp|gho|xox[abps])[-_][\w-]{8,}/giu,
  // +49 170 1234567, (555) 123-4567, 0170 1234567, 4111 1111 1111 1111; dates such as 3.4.2015 or
  // 2015-04-03. Ids, amounts and times in milliseconds have no groups.
  /\+\d(?:[\s()./\p{Pd}]{0,3}\d){6,20}|\(\d{2,5}\)(?:[\s./\p{Pd}]{0,2}\d){5,15}/gu,
  /\b0\d{1,5}[\s/\p{Pd}]\d(?:[\s/\p{Pd}]?\d){3,15}\b/gu,
  /\b\d{2,4}(?:[\s./\p{Pd}]\d{2,4}){2,6}\b|\b\d{1,2}[./\p{Pd}]\d{1,2}[./\p{Pd}]\d{2,4}\b/gu,
]

const PROVIDER_ID = /(provider:[a-z0-9._-]{1,64})/u

/**
 * Makes a function that copies a value with all personal data replaced (AUDIT-3). An identifier becomes a keyed
 * hash, so that entries of one person can still be matched. All other data is removed for good.
 */
export function redactor(policy: Policy, key: Uint8Array): (value: Loggable) => Loggable {
  const isIdentifier = keyMatcher(policy.audit.identifierKeys)
  const isPersonal = keyMatcher(policy.audit.redactKeys)

  const redact = (value: Loggable, depth: number): Loggable => {
    if (typeof value === 'string') return redactText(value)
    if (typeof value !== 'object' || value === null) return value
    if (depth >= CBOR_DEPTH_MAX) return REDACTED
    if (Array.isArray(value)) return value.map((item) => redact(item as Loggable, depth + 1))
    // Bytes and other objects could contain anything.
    if (!isPlainObject(value)) return REDACTED
    const copy: Record<string, Loggable> = Object.create(null)
    for (const [name, item] of Object.entries(value)) {
      copy[freeName(redactText(name), copy)] = field(name, item as Loggable, depth + 1)
    }
    return { ...copy }
  }
  const field = (name: string, value: Loggable, depth: number): Loggable => {
    if (value === null) return null
    const bare = bareName(name)
    if (isIdentifier(bare)) {
      return typeof value === 'object' ? REDACTED : pseudonym(key, String(value))
    }
    return isPersonal(bare) ? REDACTED : redact(value, depth)
  }
  return (value) => redact(value, 0)
}

/** `hmac:` and 16 hex digits. The same person always gives the same text, which cannot be reversed. */
export function pseudonym(key: Uint8Array, identifier: string): string {
  return `hmac:${hmacSha256Hex(key, identifier).slice(0, 16)}`
}

/** Replaces text that looks like personal data. */
export function redactText(text: string): string {
  const open = replaceAll(text, SECRETS)
  // Split with a group, so every second part is a provider's id, which stays as it is.
  const parts = open.split(PROVIDER_ID)
  return parts.map((part, i) => (i % 2 === 1 ? part : replaceAll(part, LOOKALIKES))).join('')
}

function replaceAll(text: string, patterns: readonly RegExp[]): string {
  return patterns.reduce((rest, pattern) => rest.replace(pattern, REDACTED), text)
}

/** Keeps two keys apart that become equal by redaction. */
function freeName(name: string, taken: Readonly<Record<string, unknown>>): string {
  if (!(name in taken)) return name
  for (let n = 2; ; n++) if (!(`${name} ${n}` in taken)) return `${name} ${n}`
}

function keyMatcher(keys: readonly string[]): (name: string) => boolean {
  const patterns = keys.map((key) => {
    const parts = key.split('*').map(bareName)
    return new RegExp(`^${parts.join('.*')}$`, 'u')
  })
  return (name) => patterns.some((pattern) => pattern.test(name))
}

/** Keeps only letters and digits: `parentEmail`, `parent-email` and `PARENT_EMAIL` are one key. */
function bareName(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')
}
