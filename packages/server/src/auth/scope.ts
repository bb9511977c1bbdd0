import { FairleadError, KIND_NAMES } from '@fairlead/core'
import { invalidParams, isPlainObject } from '@fairlead/core/internal'
import type { Role } from '@fairlead/protocol'
import type { Identity } from './identity.ts'

/**
 * What a token is held to within its role (SCOPE-1). A pattern is a name, or the beginning of names with a `*`
 * behind it. A list that is left out restricts nothing, but for registrations: a provider gets those of the
 * platforms that its token names, and no others.
 */
export interface TokenScope {
  /** Kinds of jobs, or `*`. */
  readonly kinds?: readonly string[]
  /** Patterns of models and task names. */
  readonly models?: readonly string[]
  /** Patterns of booking platforms. */
  readonly platforms?: readonly string[]
  /** Patterns of the keys of limits. */
  readonly limits?: readonly string[]
  readonly readOnly?: true
}

export type ScopeList = 'kinds' | 'models' | 'platforms' | 'limits'

/** Names that a call touches, of one kind. */
export interface Touched {
  readonly list: ScopeList
  readonly names: Iterable<string>
}

const LISTS: readonly ScopeList[] = ['kinds', 'models', 'platforms', 'limits']
const FIELDS: ReadonlySet<string> = new Set([...LISTS, 'readOnly'])
const PATTERNS_MAX = 1_000
const PATTERN_LENGTH_MAX = 256

/** What a provider has of each list where its token does not say. */
const OF_PROVIDERS: TokenScope = {
  kinds: KIND_NAMES.filter((kind) => kind !== 'registration'),
  platforms: [],
}

/** A scope as it was written, checked; null where it restricts nothing. */
export function checkedScope(written: unknown, role: Role): TokenScope | null {
  if (written === undefined || written === null) return null
  if (!isPlainObject(written)) throw invalidParams('scope', 'an object')
  const odd = Object.keys(written).find((field) => !FIELDS.has(field))
  if (odd !== undefined) throw invalidParams('scope', `only the fields ${[...FIELDS].join(', ')}`)
  const scope: Record<string, readonly string[] | true> = {}
  for (const list of LISTS) {
    const patterns = written[list]
    if (patterns !== undefined) scope[list] = checkedPatterns(list, patterns)
  }
  const { readOnly } = written
  if (readOnly !== undefined && typeof readOnly !== 'boolean') {
    throw invalidParams('readOnly', 'true or false')
  }
  if (readOnly === true) scope['readOnly'] = true
  if (role === 'provider') checkRegistrations(scope)
  return Object.keys(scope).length === 0 ? null : scope
}

function checkedPatterns(list: ScopeList, patterns: unknown): readonly string[] {
  if (!Array.isArray(patterns) || patterns.length === 0 || patterns.length > PATTERNS_MAX) {
    throw invalidParams(list, `a list of 1 to ${PATTERNS_MAX} names`)
  }
  for (const pattern of patterns as readonly unknown[]) {
    const isName =
      typeof pattern === 'string' &&
      pattern !== '' &&
      pattern.length <= PATTERN_LENGTH_MAX &&
      pattern.isWellFormed() &&
      !pattern.slice(0, -1).includes('*')
    if (!isName) {
      throw invalidParams(list, 'names of 1 to 256 characters, with a * at the end at most')
    }
    const isKind = pattern === '*' || (KIND_NAMES as readonly string[]).includes(pattern)
    if (list === 'kinds' && !isKind) throw invalidParams(list, `of ${KIND_NAMES.join(', ')}, or *`)
  }
  return patterns as string[]
}

/** One half without the other would look like leave, and give none. */
function checkRegistrations({ kinds = [], platforms }: TokenScope): void {
  const hasKind = kinds.includes('registration') || kinds.includes('*')
  if (hasKind && platforms === undefined) {
    throw invalidParams(
      'platforms',
      'the booking platforms of a provider with the kind registration, or * for all',
    )
  }
  if (!hasKind && platforms !== undefined) {
    throw invalidParams('kinds', 'registration among them, where a provider has platforms')
  }
}

/** Whether any name can be out of the scope of somebody. */
export function isHeldTo({ role, scope }: Identity, list: ScopeList): boolean {
  return scope?.[list] !== undefined || (role === 'provider' && OF_PROVIDERS[list] !== undefined)
}

/** Throws `Forbidden` for the first name that is out of scope (SCOPE-2). */
export function requireTouchable(identity: Identity, { list, names }: Touched): void {
  if (!isHeldTo(identity, list)) return
  const patterns = patternsOf(identity, list)
  for (const name of names) if (!isWithin(patterns, name)) throw outOfScope(identity, list, name)
}

function patternsOf({ scope }: Identity, list: ScopeList): readonly string[] {
  return scope?.[list] ?? OF_PROVIDERS[list] ?? []
}

function isWithin(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  )
}

const NAMED: Readonly<Record<ScopeList, string>> = {
  kinds: 'kind',
  models: 'model or task',
  platforms: 'platform',
  limits: 'limit',
}

function outOfScope(identity: Identity, list: ScopeList, name: string): FairleadError {
  const has = patternsOf(identity, list)
  const shown = name.length > 64 ? `${name.slice(0, 63)}…` : name
  const wanted = [...has, shown].join(',')
  return new FairleadError(
    'Forbidden',
    `the ${NAMED[list]} ${shown} is outside of this token's scope, whose ${list} are ${has.join(', ') || 'none'}; the operator can widen it: ${changeCommand(identity, list, wanted)}`,
    { scope: list, name: shown },
  )
}

/** A registration takes a kind and a platform, so that both are named at once. */
function changeCommand({ tokenId, role, scope }: Identity, list: ScopeList, wanted: string) {
  const start = `fairlead token change ${tokenId}`
  const isFirst = role === 'provider' && scope?.platforms === undefined
  if (list === 'kinds' && isFirst && wanted.endsWith('registration')) {
    return `${start} --kinds ${wanted} --platforms <names>`
  }
  return `${start} --${list} '${wanted}'`
}

/** Throws `Forbidden` for a call that changes something, by a token that may only read (SCOPE-4). */
export function requireWritable({ scope, tokenId }: Identity, method: string): void {
  if (scope?.readOnly !== true) return
  throw new FairleadError(
    'Forbidden',
    `${method} changes something, and this token may only read; the operator can change that: fairlead token change ${tokenId} --no-read-only`,
    { scope: 'read-only' },
  )
}

/** A scope in words, for tables and for the audit log. */
export function scopeText(scope: TokenScope | null): string {
  if (scope === null) return ''
  const lists = LISTS.flatMap((list) => {
    const patterns = scope[list]
    return patterns === undefined ? [] : [`${list} ${patterns.join(', ')}`]
  })
  return [...lists, ...(scope.readOnly === true ? ['read-only'] : [])].join('; ')
}
