import { readFileSync } from 'node:fs'
import { type Field, type SettingPath, settingPaths, unknownSetting } from '@fairlead/core'
import { isMap, isScalar, LineCounter, parse, parseDocument, type YAMLMap } from 'yaml'
import { ALL_SETTINGS } from './settings.ts'

/** Settings as they were written, by path, and where each comes from. */
export interface Written {
  readonly values: ReadonlyMap<string, { readonly value: unknown; readonly from: string }>
  readonly problems: readonly string[]
}

type Values = Map<string, { readonly value: unknown; readonly from: string }>

const PATHS: readonly SettingPath[] = settingPaths(ALL_SETTINGS)
const FIELDS: ReadonlyMap<string, Field<unknown>> = new Map(
  PATHS.map(({ path, field }) => [path, field]),
)

/** What commands need everywhere has short names, too. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  FAIRLEAD_URL: 'client.url',
  FAIRLEAD_TOKEN: 'client.token',
}

/** The settings in a file of YAML; each is known by its line. */
export function readFile(file: string): Written {
  const lines = new LineCounter()
  const document = parseDocument(readText(file), { lineCounter: lines, prettyErrors: false })
  const place = (offset: number): string => `${file}:${lines.linePos(offset).line}`
  const problems = document.errors.map(
    ({ pos, message }) => `${place(pos[0])}: not YAML: ${message}; correct the line`,
  )
  const values: Values = new Map()
  if (problems.length > 0) return { values, problems }
  if (document.contents === null) return { values, problems }
  if (!isMap(document.contents)) {
    return { values, problems: [`${file}: expected settings by name, as in \`queue:\``] }
  }
  collect(document.contents, '', { values, problems, place })
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
  for (const { path } of PATHS) put(variableOf(path), path)
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
    else if (!FIELDS.has(path)) problems.push(`--set ${unknownSetting(path, near(path))}`)
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

/** Variables that look like settings and are none; others may have put them there. */
export function strayVariables(env: NodeJS.ProcessEnv): string[] {
  const known = new Set([
    'FAIRLEAD_CONFIG',
    ...Object.keys(SHORT_NAMES),
    ...PATHS.map(({ path }) => variableOf(path)),
  ])
  return Object.keys(env).filter((name) => name.startsWith('FAIRLEAD_') && !known.has(name))
}

interface Collecting {
  readonly values: Values
  readonly problems: string[]
  readonly place: (offset: number) => string
}

function collect(map: YAMLMap, prefix: string, into: Collecting): void {
  for (const { key, value } of map.items) {
    if (!isScalar(key)) continue
    const path = prefix + String(key.value)
    const from = into.place(key.range?.[0] ?? 0)
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
    } else into.problems.push(`${unknownSetting(path, near(path))} (${from})`)
  }
}

function isGroup(path: string): boolean {
  return PATHS.some((known) => known.path.startsWith(`${path}.`))
}

/** The names that are known where this one was written. */
function near(path: string): Set<string> {
  const prefix = path.slice(0, path.lastIndexOf('.') + 1)
  const below = PATHS.filter((known) => known.path.startsWith(prefix))
  return new Set(below.map((known) => known.path.slice(prefix.length).split('.')[0] ?? ''))
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
