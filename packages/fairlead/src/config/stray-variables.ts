import { nearest } from './nearest.ts'
import { OWN_SECTIONS } from './settings.ts'
import { SETTING_PATHS, SHORT_NAMES, variableOf } from './sources.ts'

/** Variables that `fairlead worker --exec` sets for its program, which may call `fairlead` itself. */
const OF_WORKERS = ['TASK_ID', 'LEASE_ID', 'ATTEMPT', 'KIND', 'MODEL', 'PAYLOAD', 'PROOF_FILE']

const KNOWN: readonly string[] = [
  'FAIRLEAD_CONFIG',
  // Of workers; it has a secret, and is no setting.
  'FAIRLEAD_PROVIDER_KEY',
  ...Object.keys(SHORT_NAMES),
  ...SETTING_PATHS.map(({ path }) => variableOf(path)),
]

/** Variables that look like settings and are none. Others may have put them there, so they only warn. */
export function strayVariables(env: NodeJS.ProcessEnv): string[] {
  const known = new Set([...KNOWN, ...OF_WORKERS.map((name) => `FAIRLEAD_${name}`)])
  return Object.keys(env).filter((name) => name.startsWith('FAIRLEAD_') && !known.has(name))
}

const PAGE = 'docs/reference/settings.md lists all settings'

/** Warnings for variables that stand for no setting, with the names that were probably meant. */
export function strayWarnings(env: NodeJS.ProcessEnv): string[] {
  const found = strayVariables(env).map((name) => ({ name, near: nearest(name, KNOWN) }))
  const unlike = found.filter(({ near }) => near === null).map(({ name }) => name)
  const warnings = found
    .filter(({ near }) => near !== null)
    .map(({ name, near }) => `${name}: ignored, no such setting; did you mean ${near}? ${PAGE}`)
  if (unlike.length > 0) {
    warnings.push(`${unlike.join(', ')}: ignored, no such setting; expected ${known()}; ${PAGE}`)
  }
  return warnings
}

/** The policy has more than a hundred settings, so one of them stands for all. */
function known(): string {
  const own = SETTING_PATHS.filter(({ path }) => OWN_SECTIONS.has(path.split('.')[0] ?? ''))
  const names = ['FAIRLEAD_CONFIG', ...Object.keys(SHORT_NAMES)]
  names.push(...own.map(({ path }) => variableOf(path)))
  return `one of ${names.join(', ')}, or a setting of the policy such as ${variableOf('queue.batch_size')}`
}
