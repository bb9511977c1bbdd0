import { isPlainObject } from '../encoding/plain-object.ts'
import type { Field } from './policy-field.ts'

/** Settings by name, in groups. Code writes the names in camelCase, files in snake_case. */
export type SettingsTable = { readonly [key: string]: Field<unknown> | SettingsTable }

/** The values of a table in the shape that code uses. */
export type SettingsOf<T> =
  T extends Field<infer V> ? V : { readonly [K in keyof T]: SettingsOf<T[K]> }

/** A setting with the path under which it is written. */
export interface SettingPath {
  readonly path: string
  readonly field: Field<unknown>
}

interface Reading<Values> {
  /** The name of the whole table, for a problem with all of it. */
  readonly name: string
  /** The values of settings that are not written; if absent, the defaults of the table. */
  readonly base?: Values
  /** Collects a line for every problem, so that one pass repairs all of them (POLICY-2). */
  readonly problems: string[]
}

/** Reads settings in written form (snake_case, some or all) by a table. */
export function readSettings<Table extends SettingsTable>(
  table: Table,
  written: unknown,
  { name, base, problems }: Reading<SettingsOf<Table>>,
): SettingsOf<Table> {
  const from = (base ?? null) as Values | null
  return readGroup(table, written, { name, base: from, prefix: '', problems }) as SettingsOf<Table>
}

/** Every setting of a table by its written path. */
export function settingPaths(table: SettingsTable, prefix = ''): SettingPath[] {
  return Object.entries(table).flatMap(([key, entry]) => {
    const path = prefix + snakeCase(key)
    return isField(entry) ? [{ path, field: entry }] : settingPaths(entry, `${path}.`)
  })
}

/** All values of a table in written form. `readSettings` gives the same values again. */
export function showSettings(table: SettingsTable, values: Values): Values {
  const shown = Object.entries(table).map(([key, entry]) => {
    const value = values[key]
    return [
      snakeCase(key),
      isField(entry) ? entry.show(value) : showSettings(entry, value as Values),
    ]
  })
  return Object.fromEntries(shown) as Values
}

/** The number of problems, and one line for each. */
export function problemList(problems: readonly string[]): string {
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
  return `${count}:\n- ${problems.join('\n- ')}`
}

export function snakeCase(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

type Values = Record<string, unknown>

interface Group {
  readonly name: string
  readonly base: Values | null
  readonly prefix: string
  readonly problems: string[]
}

function readGroup(table: SettingsTable, written: unknown, group: Group): Values {
  const { name, base, prefix, problems } = group
  const given = written === undefined ? {} : written
  if (!isPlainObject(given)) {
    problems.push(`${name}: expected an object of settings`)
    return readGroup(table, {}, group)
  }
  const values: Values = {}
  const known = new Set<string>()
  for (const [key, entry] of Object.entries(table)) {
    const label = snakeCase(key)
    const path = prefix + label
    known.add(label)
    const found = Object.hasOwn(given, label) ? given[label] : undefined
    if (!isField(entry)) {
      const below = base === null ? null : (base[key] as Values)
      const inner = { name: path, base: below, prefix: `${path}.`, problems }
      values[key] = readGroup(entry, found, inner)
      continue
    }
    const inherited = base === null ? entry.default : base[key]
    const value = found === undefined ? inherited : entry.read(found)
    if (value === undefined) {
      const parts = entry.problems?.(found) ?? []
      const whole = `: expected ${entry.expected}, got ${shown(found)}`
      for (const problem of parts.length > 0 ? parts : [whole]) problems.push(path + problem)
      values[key] = entry.default
    } else values[key] = value
  }
  for (const label of Object.keys(given)) {
    if (!known.has(label)) problems.push(unknownSetting(prefix + label, known))
  }
  return values
}

/** The problem with an unknown name, and the name that may have been meant. */
export function unknownSetting(path: string, known: Iterable<string>): string {
  const all = [...known]
  const bare = path
    .slice(path.lastIndexOf('.') + 1)
    .toLowerCase()
    .replaceAll(/[^a-z]/g, '')
  const near = all.find((candidate) => candidate.replaceAll('_', '') === bare)
  const hint = near === undefined ? `expected one of ${all.join(', ')}` : `did you mean ${near}?`
  return `${path}: there is no such setting; ${hint}`
}

function isField(entry: Field<unknown> | SettingsTable): entry is Field<unknown> {
  return typeof (entry as Field<unknown>).read === 'function'
}

function shown(value: unknown): string {
  const text = typeof value === 'bigint' ? `${value}n` : asJson(value)
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

function asJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value
  } catch {
    return `a ${typeof value} that JSON cannot hold`
  }
}
