import { FairleadError, POLICY_FIELDS } from '@fairlead/core'
import {
  type Field,
  isPlainObject,
  type PlatformPolicy,
  type PlatformRows,
  platformPolicy,
  problemList,
  readSettings,
  type SettingsOf,
} from '@fairlead/core/internal'
import { LineCounter, parseDocument } from 'yaml'
import type { Adapter } from '../adapter/adapter.ts'
import { httpAdapter } from '../adapter/http-adapter.ts'
import { ADAPTER_FIELDS } from './adapter-fields.ts'
import { BUDGET_FIELDS, effectiveTaxonomy, givenPolicy } from './budget.ts'
import { PROFILE_FIELDS, type Profile, profileProblems } from './profile.ts'

/** All that is known of one booking site. */
export interface ProviderConfig {
  readonly platform: string
  /** What people call it. */
  readonly displayName: string
  readonly profile: Profile
  readonly policy: PlatformPolicy
  /** Null where no call that books is configured. */
  readonly adapter: Adapter | null
  readonly timeoutMs: number
  readonly lookupSettleMs: number
}

export interface Providers {
  /** Those that are written, without `default`, in the order of the file. */
  readonly platforms: readonly string[]
  get(platform: string): ProviderConfig
  /** What the engine needs to know: budgets, retries, and what an unknown outcome means. */
  readonly rows: PlatformRows
  /** The same as it is written in a policy, under `sessions.platforms`. */
  readonly policySection: Readonly<Record<string, unknown>>
}

const ROW_FIELDS = {
  displayName: displayName(),
  ...BUDGET_FIELDS,
  profile: PROFILE_FIELDS,
  adapter: ADAPTER_FIELDS,
} as const

type Row = SettingsOf<typeof ROW_FIELDS>

const PLATFORM = /^[^\s{}]{1,128}$/u

/**
 * Reads the providers of a YAML text: `default`, and a row each. What a row leaves out it has from its
 * built-in row, then from `default` (PROFILE-2). Wrong: `InvalidParams` with every problem at once.
 */
export function readProviders(
  text: string,
  from: {
    /** Null: secrets are not looked up at all, and the adapters are of no use. */
    readonly env: Readonly<Record<string, string | undefined>> | null
    /** Where relative paths of secrets begin. */
    readonly folder: string
  },
): Providers {
  const problems: string[] = []
  const written = writtenRows(text, problems)
  const read = (name: string, base?: Row): Row => {
    const own: string[] = []
    const options = { name: 'row', problems: own, ...(base === undefined ? {} : { base }) }
    const row = readSettings(ROW_FIELDS, written[name] ?? {}, options)
    problems.push(...own.map((problem) => `providers.${name}.${problem}`))
    return row
  }
  const defaults = read('default')
  const platforms = Object.keys(written).filter((name) => name !== 'default')
  const rows = new Map(platforms.map((name) => [name, read(name, withoutName(defaults))]))
  const policies: PlatformRows = Object.fromEntries(
    [['default', defaults] as const, ...rows].map(([name, row]) => [
      name,
      ruleRow(row, written[name]),
    ]),
  )
  const config = (platform: string, row: Row, problem: (text: string) => void): ProviderConfig => ({
    platform,
    displayName: row.displayName ?? platform,
    profile: row.profile,
    policy: platformPolicy(platform, policies),
    adapter: httpAdapter(row.adapter, row.profile, { ...from, problem }),
    timeoutMs: row.adapter.timeoutMs,
    lookupSettleMs: row.adapter.lookupSettleMs,
  })
  const configs = new Map(
    [...rows].map(([name, row]) => {
      const problem = (text: string) => problems.push(`providers.${name}.${text}`)
      for (const text of profileProblems(row.profile)) problem(text)
      return [name, config(name, row, problem)]
    }),
  )
  if (problems.length > 0) throw wrongProviders(problems)
  return {
    platforms,
    get: (platform) => configs.get(platform) ?? config(platform, defaults, () => {}),
    rows: policies,
    policySection: POLICY_FIELDS.sessions.platforms.show(policies) as Record<string, unknown>,
  }
}

/** The rows as they are written. */
function writtenRows(text: string, problems: string[]): Record<string, unknown> {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  for (const { pos, message } of document.errors) {
    problems.push(`line ${lines.linePos(pos[0]).line}: not YAML: ${message}; correct the line`)
  }
  if (problems.length > 0) return {}
  const whole = plainValue(document, problems)
  if (problems.length > 0) return {}
  const providers = isPlainObject(whole) ? whole['providers'] : undefined
  if (!isPlainObject(providers)) {
    problems.push('providers: expected a map with `default` and a row for each booking site')
    return {}
  }
  for (const other of Object.keys(whole as object).filter((key) => key !== 'providers')) {
    problems.push(`${other}: there is no such setting; expected providers`)
  }
  for (const name of Object.keys(providers)) {
    if (!PLATFORM.test(name)) {
      problems.push(`providers.${name}: expected a name of 1 to 128 characters without spaces`)
    }
  }
  // A heading with nothing under it says nothing.
  return Object.fromEntries(Object.entries(providers).map(([name, row]) => [name, row ?? {}]))
}

/** Aliases that stand for aliases can make a file of a few lines as large as they like; that is refused. */
function plainValue(document: { toJS(): unknown }, problems: string[]): unknown {
  try {
    return document.toJS()
  } catch {
    problems.push('providers: expected a file whose aliases (*name) can be written out; use fewer')
    return undefined
  }
}

/** What a row says to the engine; the profile's part is inherited here, the rest by core's rules. */
function ruleRow(row: Row, written: unknown): Partial<PlatformPolicy> {
  const { profile, adapter, retry } = row
  return {
    ...givenPolicy(row, written),
    idempotencyKeySupported: profile.idempotencyKeySupported === true,
    lookupSupported: adapter.lookup.url !== null,
    errorTaxonomy: effectiveTaxonomy(profile.errorTaxonomy, retry),
  }
}

/** A name is of one row alone. */
function withoutName(defaults: Row): Row {
  return { ...defaults, displayName: null }
}

function wrongProviders(problems: readonly string[]): FairleadError {
  return new FairleadError(
    'InvalidParams',
    `the providers have ${problemList(problems)}\nNothing was changed.`,
    { field: 'providers', problems },
  )
}

function displayName(): Field<string | null> {
  return {
    default: null,
    expected: 'a text of 1 to 100 characters, or null',
    purpose: 'what people call the booking site; null: the name of its row',
    read: (written) =>
      written === null || (typeof written === 'string' && /^.{1,100}$/u.test(written))
        ? written
        : undefined,
    show: (kept) => kept,
  }
}
