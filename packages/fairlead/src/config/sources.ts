import { readFileSync } from 'node:fs'
import { type Field, type SettingPath, settingPaths } from '@fairlead/core/internal'
import { isMap, isScalar, LineCounter, parse, parseDocument, type YAMLMap } from 'yaml'
import { nearest } from './nearest.ts'
import { ALL_SETTINGS } from './settings.ts'

/** Settings as they were written, by path, and where each comes from. */
export interface Written {
  readonly values: ReadonlyMap<string, { readonly value: unknown; readonly from: string }>
  readonly problems: readonly string[]
}

type Values = Map<string, { readonly value: unknown; readonly from: string }>

export const SETTING_PATHS: readonly SettingPath[] = settingPaths(ALL_SETTINGS)
const FIELDS: ReadonlyMap<string, Field<unknown>> = new Map(
  SETTING_PATHS.map(({ path, field }) => [path, field]),
)

/** Settings that every command needs have short names, too. */
export const SHORT_NAMES: Readonly<Record<string, string>> = {
  FAIRLEAD_URL: 'client.url',
  FAIRLEAD_TOKEN: 'client.token',
}

/** The settings in a file of YAML; each is known by its line. */
export function readFile(file: string): Written {
  const lines = new LineCounter()
  const document = parseDocument(readText(file), { lineCounter: lines, prettyErrors: false })
  const locationOf = (offset: number): string => `${file}:${lines.linePos(offset).line}`
  const problems = document.errors.map(
    ({ pos, message }) => `${locationOf(pos[0])}: not YAML: ${message}; correct the line`,
  )
  const values: Values = new Map()
  if (problems.length > 0) return { values, problems }
  if (document.contents === null) return { values, problems }
  if (!isMap(document.contents)) {
    return { values, problems: [`${file}: expected settings by name, as in \`queue:\``] }
  }
  collect(document.contents, '', { values, problems, locationOf })
  return { values, problems }
}

/** The settings among the variables of the environment: FAIRLEAD_QUEUE_BATCH_SIZE and the like. */
export function readEnvironment(env: NodeJS.ProcessEnv): Written {
  const values: Values = new Map()
  const put = (name: string, path: string): void => {
    const raw = env[name]
    if (raw === undefined || raw === '') return
    values.set(path, { value: typed(path, raw), from: `environment ${name}` })
  }
  for (const { path } of SETTING_PATHS) put(variableOf(path), path)
  for (const [name, path] of Object.entries(SHORT_NAMES)) put(name, path)
  return { values, problems: [] }
}

/** Flags: `--set queue.batch_size=64`, and those that stand for one setting each. */
export function readFlags(
  sets: readonly string[],
  named: Readonly<Record<string, { readonly flag: string; readonly raw: string | undefined }>>,
): Written {
  const values: Values = new Map()
  const problems: string[] = []
  for (const pair of sets) {
    const at = pair.indexOf('=')
    const path = pair.slice(0, at === -1 ? undefined : at)
    if (at === -1)
      problems.push(`--set ${pair}: expected <setting>=<value>, as in queue.batch_size=64`)
    else if (!FIELDS.has(path)) problems.push(`--set ${unknownPath(path)}`)
    else values.set(path, { value: typed(path, pair.slice(at + 1)), from: `--set ${path}` })
  }
  for (const [path, { flag, raw }] of Object.entries(named)) {
    if (raw !== undefined) values.set(path, { value: typed(path, raw), from: flag })
  }
  return { values, problems }
}

/** The variable that stands for a setting. */
export function variableOf(path: string): string {
  return `FAIRLEAD_${path.toUpperCase().replaceAll('.', '_')}`
}

interface Collecting {
  readonly values: Values
  readonly problems: string[]
  readonly locationOf: (offset: number) => string
}

function collect(map: YAMLMap, prefix: string, into: Collecting): void {
  for (const { key, value } of map.items) {
    if (!isScalar(key)) continue
    const path = prefix + String(key.value)
    const from = into.locationOf(key.range?.[0] ?? 0)
    if (FIELDS.has(path)) {
      const js = value === null ? null : (value as { toJSON(): unknown }).toJSON()
      into.values.set(path, { value: js, from })
    } else if (isGroup(path)) {
      if (isMap(value)) collect(value, `${path}.`, into)
      // A heading with nothing under it says nothing.
      else if (!isScalar(value) || value.value !== null) {
        into.problems.push(
          `${path}: expected settings under it (${from}); put each on a line of its own`,
        )
      }
    } else into.problems.push(`${unknownPath(path)} (${from})`)
  }
}

function isGroup(path: string): boolean {
  return SETTING_PATHS.some((known) => known.path.startsWith(`${path}.`))
}

/** The problem with a path that leads to no setting: the path that was probably meant, and all there are. */
function unknownPath(path: string): string {
  const { group, names } = around(path)
  const meant = meantPath(path, group, names)
  const hint = meant === null ? '' : ` did you mean ${meant}?`
  const where = group === '' ? 'the top level' : group
  return `${path}: there is no such setting;${hint} ${where} has ${names.join(', ')}`
}

/** The innermost group of a path that exists, and the names in it. */
function around(path: string): { readonly group: string; readonly names: readonly string[] } {
  let group = path.slice(0, Math.max(0, path.lastIndexOf('.')))
  while (group !== '' && !isGroup(group))
    group = group.slice(0, Math.max(0, group.lastIndexOf('.')))
  const prefix = group === '' ? '' : `${group}.`
  const below = SETTING_PATHS.filter((known) => known.path.startsWith(prefix))
  const names = below.map((known) => known.path.slice(prefix.length).split('.')[0] ?? '')
  return { group, names: [...new Set(names)] }
}

/** A name of the same group, or else a setting of that name in another place. */
function meantPath(path: string, group: string, names: readonly string[]): string | null {
  const last = path.slice(path.lastIndexOf('.') + 1)
  const near = nearest(path.slice(group === '' ? 0 : group.length + 1), names)
  if (near !== null) return group === '' ? near : `${group}.${near}`
  const elsewhere = SETTING_PATHS.map((known) => `${known.path}.`)
    .filter((known) => known.includes(`.${last}.`))
    .map((known) => known.slice(0, known.indexOf(`.${last}.`) + 1 + last.length))
  return new Set(elsewhere).size === 1 ? (elsewhere[0] ?? null) : null
}

/** A text as the setting takes it: as it is, or else as YAML has it (numbers, lists, null). */
function typed(path: string, raw: string): unknown {
  if (FIELDS.get(path)?.read(raw) !== undefined) return raw
  try {
    return parse(raw)
  } catch {
    return raw
  }
}

function readText(file: string): string {
  return readFileSync(file, 'utf8')
}
