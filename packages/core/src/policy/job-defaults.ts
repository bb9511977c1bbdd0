import { isPlainObject } from '../encoding/plain-object.ts'
import { FairleadError } from '../errors.ts'
import {
  ATTEMPTS,
  BACKOFF_FIELDS,
  type Backoff,
  PRIORITY,
  RETENTION_SECS,
  readBackoff,
  showBackoff,
  TIMEOUT_MS,
} from '../options/job-options.ts'
import { type Field, limit } from './policy-field.ts'
import { readSettings, type SettingsOf, showSettings } from './settings-table.ts'

/** The settings for the jobs of a kind, or the tasks of a name, that name no option of their own (OPTIONS-10). */
// biome-ignore format: one setting a line, as in the table of all settings
export const JOB_DEFAULTS = {
  attempts: limit(null, ATTEMPTS, 'charged failures that end such a job; null is queue.retries.attempt_max'),
  backoff: backoff('wait after a failed attempt; null is the backoff of queue.retries'),
  timeoutMs: limit(null, TIMEOUT_MS, 'longest time of an attempt from its ack'),
  priority: limit(null, PRIORITY, 'rank among the jobs of the same caller, under tenant fairness; null is 0'),
  retentionSecs: limit(null, RETENTION_SECS, 'how long such a job is kept after its end; null is queue.ttl.gc_horizon_secs'),
} as const

export type JobDefaults = SettingsOf<typeof JOB_DEFAULTS>

const NAMES_MAX = 1_000
const NAME_MAX = 1_024

/** The setting `tasks`: the same settings for single names of tasks. */
export function taskDefaults(purpose: string): Field<Readonly<Record<string, JobDefaults>>> {
  const names = Object.keys(showSettings(JOB_DEFAULTS, NO_DEFAULTS)).join(', ')
  return {
    default: {},
    expected: `an object of at most ${NAMES_MAX} names of tasks, each with some of ${names}`,
    purpose,
    read: (written) => {
      const { tasks, problems } = readTasks(written)
      return tasks !== null && problems.length === 0 ? tasks : undefined
    },
    problems: (written) => readTasks(written).problems,
    show: (tasks) =>
      Object.fromEntries(
        Object.entries(tasks).map(([name, defaults]) => [name, showGiven(defaults)]),
      ),
  }
}

/** The defaults of a task that no setting names. */
const NO_DEFAULTS: JobDefaults = {
  attempts: null,
  backoff: null,
  timeoutMs: null,
  priority: null,
  retentionSecs: null,
}

function readTasks(written: unknown): {
  readonly tasks: Record<string, JobDefaults> | null
  readonly problems: string[]
} {
  const problems: string[] = []
  if (!isPlainObject(written) || Object.keys(written).length > NAMES_MAX) {
    return { tasks: null, problems }
  }
  const tasks: Record<string, JobDefaults> = {}
  for (const [name, settings] of Object.entries(written)) {
    const at = `.${name.slice(0, 64)}`
    if (name === '' || name.length > NAME_MAX) problems.push(`${at}: expected the name of a task`)
    const found: string[] = []
    tasks[name] = readSettings(JOB_DEFAULTS, settings, { name: at, problems: found })
    problems.push(...found.map((line) => (line.startsWith(at) ? line : `${at}.${line}`)))
  }
  return { tasks, problems }
}

function showGiven(defaults: JobDefaults): Record<string, unknown> {
  const shown = showSettings(JOB_DEFAULTS, defaults)
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== null))
}

function backoff(purpose: string): Field<Backoff | null> {
  return {
    default: null,
    expected: `{${Object.entries(BACKOFF_FIELDS)
      .map(([name, { min, max }]) => `${name}: ${min} to ${max}`)
      .join(', ')}}, or null for none`,
    purpose,
    read: (written) => {
      if (written === null) return null
      try {
        return readBackoff(written)
      } catch (error) {
        if (error instanceof FairleadError) return undefined
        throw error
      }
    },
    show: (value) => value && showBackoff(value),
  }
}
