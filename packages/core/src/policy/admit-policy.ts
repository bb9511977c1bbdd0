import { isPlainObject } from '../encoding/plain-object.ts'
import { isKindName, KIND_NAMES, type KindName } from '../enqueue/kinds.ts'
import { isLimitKey } from '../limits/limit-definition.ts'
import { REQUIREMENTS_MAX } from '../limits/reserve-request.ts'
import type { Field } from './policy-field.ts'
import { unknownSetting } from './settings-table.ts'

/** The needs of some jobs on the limits before they may go. A null matches all jobs (ADMIT-2). */
export interface AdmitRule {
  readonly kind: KindName | null
  /** The model, or the name of a task. */
  readonly model: string | null
  readonly providerId: string | null
  readonly caller: string | null
  readonly requirements: readonly AdmitRequirement[]
}

export interface AdmitRequirement {
  /** May contain `{caller}`, `{model}` and `{provider}`, which are filled in. */
  readonly key: string
  /** `tokens`: the most that the job can use. */
  readonly amount: number | 'tokens'
}

export const PLACEHOLDERS = ['caller', 'model', 'provider'] as const

const RULES_MAX = 256
const RULE_FIELDS = ['kind', 'model', 'provider_id', 'caller', 'requirements']

/** The setting `admit`: a list of rules. All problems of it are reported at once (POLICY-2). */
export function admitRules(purpose: string): Field<readonly AdmitRule[]> {
  return {
    default: [],
    expected: `a list of at most ${RULES_MAX} rules {kind, model, provider_id, caller, requirements: [{key, amount}]}`,
    purpose,
    read: (written) => {
      const { rules, problems } = readRules(written)
      return rules !== null && problems.length === 0 ? rules : undefined
    },
    problems: (written) => readRules(written).problems,
    show: (rules) => rules.map(showRule),
  }
}

/** The placeholders in a key. */
export function placeholdersIn(key: string): Set<string> {
  return new Set([...key.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] as string))
}

/** The rules are null if the value is no such list. */
function readRules(written: unknown): { rules: readonly AdmitRule[] | null; problems: string[] } {
  const problems: string[] = []
  if (!Array.isArray(written) || written.length > RULES_MAX) return { rules: null, problems }
  return { rules: written.map((rule, i) => readRule(rule, `[${i}]`, problems)), problems }
}

function readRule(written: unknown, at: string, problems: string[]): AdmitRule {
  const given = isPlainObject(written) ? written : {}
  if (given !== written) problems.push(`${at}: expected an object with requirements`)
  for (const name of Object.keys(given)) {
    if (!RULE_FIELDS.includes(name)) problems.push(unknownSetting(`${at}.${name}`, RULE_FIELDS))
  }
  const { kind = null, requirements } = given
  if (kind !== null && !isKindName(kind)) {
    problems.push(`${at}.kind: expected one of ${KIND_NAMES.join(', ')}, or none for all`)
  }
  const rule = {
    kind: isKindName(kind) ? kind : null,
    model: textOf(given, 'model', at, problems),
    providerId: textOf(given, 'provider_id', at, problems),
    caller: textOf(given, 'caller', at, problems),
  }
  const isList = Array.isArray(requirements)
  const count = isList ? requirements.length : 0
  if (count < 1 || count > REQUIREMENTS_MAX) {
    problems.push(`${at}.requirements: expected 1 to ${REQUIREMENTS_MAX} of {key, amount}`)
    return { ...rule, requirements: [] }
  }
  const read = (requirements as unknown[]).map((one, i) =>
    readRequirement(one, rule.kind, `${at}.requirements[${i}]`, problems),
  )
  return { ...rule, requirements: read }
}

function textOf(
  given: Readonly<Record<string, unknown>>,
  field: string,
  at: string,
  problems: string[],
): string | null {
  const value = given[field] ?? null
  if (value === null || (typeof value === 'string' && value !== '')) return value
  problems.push(`${at}.${field}: expected text, or none for all`)
  return null
}

function readRequirement(
  written: unknown,
  kind: KindName | null,
  at: string,
  problems: string[],
): AdmitRequirement {
  const given = isPlainObject(written) ? written : {}
  for (const name of Object.keys(given)) {
    if (name !== 'key' && name !== 'amount') {
      problems.push(unknownSetting(`${at}.${name}`, ['key', 'amount']))
    }
  }
  const { key, amount } = given
  if (!isLimitKey(key)) problems.push(`${at}.key: expected text of 1 to 256 bytes`)
  else {
    const known: readonly string[] = PLACEHOLDERS
    for (const name of placeholdersIn(key)) {
      if (known.includes(name)) continue
      problems.push(`${at}.key: there is no {${name}}; expected {caller}, {model} or {provider}`)
    }
  }
  if (amount === 'tokens') {
    if (kind !== 'ai') problems.push(`${at}.amount: expected kind: ai in a rule that counts tokens`)
  } else if (!Number.isSafeInteger(amount) || (amount as number) < 1) {
    problems.push(`${at}.amount: expected a whole number of at least 1, or "tokens"`)
  }
  return { key: key as string, amount: amount as number | 'tokens' }
}

/** Fields that match all are left out. */
function showRule({ kind, model, providerId, caller, requirements }: AdmitRule): unknown {
  const named = { kind, model, provider_id: providerId, caller }
  const given = Object.entries(named).filter(([, value]) => value !== null)
  return { ...Object.fromEntries(given), requirements }
}
