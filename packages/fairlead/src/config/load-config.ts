import { existsSync, readFileSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { FairleadError, POLICY_FIELDS, type Policy, parsePolicy } from '@fairlead/core'
import { policySettings, problemList, readSettings, usablePolicy } from '@fairlead/core/internal'
import { parse } from 'yaml'
import { isPostgres } from '../storage/store-address.ts'
import { escaped } from '../terminal/escaped.ts'
import { LinesError } from '../terminal/lines-error.ts'
import { SETTINGS, type Settings } from './settings.ts'
import { readEnvironment, readFile, readFlags, type Written } from './sources.ts'
import { strayWarnings } from './stray-variables.ts'

/** The file that is read where none is named. */
const DEFAULT_FILE = 'fairlead.yaml'

export interface Config {
  readonly settings: Settings
  readonly policy: Policy
  /** The policy as it was written; null where nothing was. */
  readonly writtenPolicy: Readonly<Record<string, unknown>> | null
  /** The file that was read; null where there is none. */
  readonly file: string | null
  /** Where each setting that was written comes from, by path. */
  readonly origins: ReadonlyMap<string, string>
  /** Mistakes that stop nothing, such as variables that stand for no setting. */
  readonly warnings: readonly string[]
}

export interface ConfigInput {
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  /** `--config`. */
  readonly file?: string | undefined
  /** `--set`, as often as it was given. */
  readonly sets?: readonly string[]
  /** Flags that stand for one setting each, by its path. */
  readonly named?: Parameters<typeof readFlags>[1]
}

/**
 * The configuration: flag over environment over file, each setting for itself. Anything wrong is
 * `InvalidParams` with every problem, each with where it was written.
 */
export function loadConfig({ env, cwd, file, sets = [], named = {} }: ConfigInput): Config {
  const found = findFile(file ?? env['FAIRLEAD_CONFIG'], cwd)
  const sources = [
    ...(found === null ? [] : [readFile(found)]),
    readEnvironment(env),
    readFlags(sets, named),
  ]
  const values = new Map(sources.flatMap((source: Written) => [...source.values]))
  const problems = sources.flatMap((source) => [...source.problems])
  const origins = new Map([...values].map(([path, { from }]) => [path, from]))
  const own = [...values].filter(([path]) => !isPolicy(path))
  const ofPolicy = [...values].filter(([path]) => isPolicy(path))
  const wrong: string[] = []
  const settings = readSettings(SETTINGS, nested(own), { name: 'settings', problems: wrong })
  if (settings.store.path === ':memory:') {
    wrong.push('store.path: expected a file; jobs in memory would be gone with the server')
  }
  if (isPostgres(settings.store.path) && !URL.canParse(settings.store.path)) {
    // It may have a password, so it is not repeated.
    wrong.push('store.path: expected postgres://user:password@host:port/database')
  }
  const folder = found === null ? cwd : dirname(found)
  const placed = withPaths(settings, { origins, folder, cwd })
  const pinned = pinnedClasses(placed.attestation.roots, origins, wrong)
  if (pinned !== null) {
    ofPolicy.push([CLASSES, pinned])
    origins.set(CLASSES, pinned.from)
  }
  const writtenPolicy = ofPolicy.length === 0 ? null : nested(ofPolicy)
  const policy = readPolicy(writtenPolicy ?? {}, settings, wrong)
  problems.push(...wrong.map((problem) => withOrigin(problem, origins)))
  if (problems.length > 0) {
    throw new LinesError(
      'InvalidParams',
      `the configuration has ${problemList(problems.map(escaped))}\nNothing was started. The settings are explained in docs/reference/settings.md.`,
      { field: 'configuration', problems },
    )
  }
  return {
    settings: placed,
    policy,
    writtenPolicy,
    file: found,
    origins,
    warnings: strayWarnings(env),
  }
}

const POLICY_PATHS = new Set(policySettings().map(({ path }) => path))

/** What stands in a section that both have is the policy's by its name, else the installation's. */
function isPolicy(path: string): boolean {
  const [section = ''] = path.split('.')
  if (Object.hasOwn(SETTINGS, section)) return POLICY_PATHS.has(path)
  return Object.hasOwn(POLICY_FIELDS, section)
}

/** The file that was named has to be there; the one of the folder may be missing. */
function findFile(named: string | undefined, cwd: string): string | null {
  const file = resolve(cwd, named ?? DEFAULT_FILE)
  if (existsSync(file)) return file
  if (named === undefined) return null
  throw new FairleadError(
    'InvalidParams',
    `--config: there is no file ${file}; name another, or leave it out to go without one`,
    { field: 'config' },
  )
}

function readPolicy(written: unknown, { preset }: Settings, problems: string[]): Policy {
  try {
    return usablePolicy(written, preset)
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error
    problems.push(...((error.details['problems'] ?? [error.message]) as string[]))
    return parsePolicy({}, preset)
  }
}

const CLASSES = 'registry.attestation_classes'

/** The classes of hardware in the file of pinned roots; null if there is none. */
function pinnedClasses(
  file: string | null,
  origins: Config['origins'],
  problems: string[],
): { readonly value: unknown; readonly from: string } | null {
  if (file === null) return null
  if (origins.has(CLASSES)) {
    problems.push(`attestation.roots: expected no file beside ${CLASSES}; keep one of the two`)
    return null
  }
  try {
    return { value: parse(readFileSync(file, 'utf8')) as unknown, from: file }
  } catch (error) {
    problems.push(`attestation.roots: cannot read ${file}: ${(error as Error).message}`)
    return null
  }
}

function withOrigin(problem: string, origins: ReadonlyMap<string, string>): string {
  const from = origins.get(problem.slice(0, problem.indexOf(':')))
  return from === undefined ? problem : `${problem} (${from})`
}

/** Values by path as the tree that they stand in. */
function nested(
  values: readonly (readonly [string, { readonly value: unknown }])[],
): Record<string, unknown> {
  const tree: Record<string, unknown> = {}
  for (const [path, { value }] of values) {
    const keys = path.split('.')
    const last = keys.pop() as string
    let group = tree
    for (const key of keys) {
      group[key] ??= {}
      group = group[key] as Record<string, unknown>
    }
    group[last] = value
  }
  return tree
}

/** Paths of files: what a file says is meant from its own folder, all else from where we are. */
function withPaths(
  settings: Settings,
  given: { readonly origins: Config['origins']; readonly folder: string; readonly cwd: string },
): Settings {
  const resolved = (path: string, value: string): string => {
    if (isAbsolute(value)) return value
    const from = given.origins.get(path)
    const isOfFile = from !== undefined && !from.startsWith('environment ') && !from.startsWith('-')
    return join(isOfFile ? given.folder : given.cwd, value)
  }
  const resolvedOrNull = (path: string, value: string | null): string | null =>
    value === null ? null : resolved(path, value)
  const { tlsCert, tlsKey, tlsClientCa } = settings.server
  const { path } = settings.store
  const store = isPostgres(path) ? path : resolved('store.path', path)
  return {
    ...settings,
    server: {
      ...settings.server,
      tlsCert: resolvedOrNull('server.tls_cert', tlsCert),
      tlsKey: resolvedOrNull('server.tls_key', tlsKey),
      tlsClientCa: resolvedOrNull('server.tls_client_ca', tlsClientCa),
    },
    store: {
      ...settings.store,
      path: store,
      archive: resolvedOrNull('store.archive', settings.store.archive),
    },
    attestation: { roots: resolvedOrNull('attestation.roots', settings.attestation.roots) },
    tokens: { path: resolvedOrNull('tokens.path', settings.tokens.path) },
    signup: {
      ...settings.signup,
      providers: resolvedOrNull('signup.providers', settings.signup.providers),
    },
  }
}
