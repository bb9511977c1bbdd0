import { KIND_NAMES } from '@fairlead/core'
import {
  type Field,
  int,
  isPlainObject,
  readSettings,
  type SettingsOf,
  showSettings,
} from '@fairlead/core/internal'
import { TOPICS } from '@fairlead/protocol/rpc'
import { isNetwork } from '@fairlead/server/networks'

/** One webhook as it is configured (HOOK-1). */
// biome-ignore format: one setting a line, as in the table of all settings
const HOOK_FIELDS = {
  url: text('a URL that begins with https:// or http:// and has no password', 'where deliveries are posted to', isUrl),
  events: texts(`names of events, of ${TOPICS.join(', ')}, or *`, 'events that are delivered', (one) => one === '*' || (TOPICS as readonly string[]).includes(one)),
  secret: text('${env:NAME} or ${file:path}', 'what deliveries are signed with', isReference),
  filter: {
    kind: texts(`some of ${KIND_NAMES.join(', ')}`, 'kinds of jobs', (one) => (KIND_NAMES as readonly string[]).includes(one)),
    name: texts('texts', 'models and names of tasks', isGiven),
    tag: texts('texts', 'jobs with one of these tags', isGiven),
    caller: texts('ids of 0x and 64 hex digits', 'callers', (one) => /^0x[0-9a-f]{64}$/.test(one)),
    providerId: texts('texts', 'providers', isGiven),
  },
  allow: texts('addresses such as 10.0.0.7, or networks such as 10.0.0.0/8', 'private addresses that may be called all the same', isNetwork),
  attempts: int(12, { min: 1, max: 1_000 }, 'tries of one delivery'),
  timeoutMs: int(10_000, { min: 100, max: 60_000 }, 'how long a try may take'),
} as const

export type HookSettings = SettingsOf<typeof HOOK_FIELDS>
export type HookFilter = HookSettings['filter']

const ID = /^[a-z0-9][a-z0-9_-]{0,31}$/
const HOOKS_MAX = 100

/** The setting `hooks`: webhooks by id. */
export function hooksField(): Field<Readonly<Record<string, HookSettings>>> {
  return {
    default: {},
    expected: `an object of at most ${HOOKS_MAX} webhooks by id, each with url, events and secret`,
    purpose: 'webhooks by id, each with url, events, secret, filter, allow, attempts, timeout_ms',
    read: (written) => {
      const { hooks, problems } = readHooks(written)
      return hooks !== null && problems.length === 0 ? hooks : undefined
    },
    problems: (written) => readHooks(written).problems,
    show: (hooks) =>
      Object.fromEntries(
        Object.entries(hooks).map(([id, hook]) => [id, showSettings(HOOK_FIELDS, hook)]),
      ),
  }
}

function readHooks(written: unknown): {
  readonly hooks: Record<string, HookSettings> | null
  readonly problems: string[]
} {
  const problems: string[] = []
  if (!isPlainObject(written) || Object.keys(written).length > HOOKS_MAX) {
    return { hooks: null, problems }
  }
  const hooks: Record<string, HookSettings> = {}
  for (const [id, settings] of Object.entries(written)) {
    const at = `.${id.slice(0, 64)}`
    if (!ID.test(id)) {
      problems.push(`${at}: expected an id of 1 to 32 of a–z, 0–9, dash and underscore`)
    }
    const found: string[] = []
    const hook = readSettings(HOOK_FIELDS, settings, { name: at, problems: found })
    hooks[id] = hook
    problems.push(...found.map((line) => (line.startsWith(at) ? line : `${at}.${line}`)))
    if (found.length > 0) continue
    for (const name of ['url', 'secret'] as const) {
      const { expected } = HOOK_FIELDS[name]
      if (hook[name] === '') problems.push(`${at}.${name}: expected ${expected}, and found none`)
    }
    if (hook.events.length === 0) problems.push(`${at}.events: expected at least one event, or *`)
  }
  return { hooks, problems }
}

function text(expected: string, purpose: string, is: (one: string) => boolean): Field<string> {
  return {
    default: '',
    expected,
    purpose,
    read: (written) => (typeof written === 'string' && is(written) ? written : undefined),
    // A URL with a password, or a secret itself, is not repeated.
    problems: () => [`: expected ${expected}, and nothing else`],
    show: (kept) => kept,
  }
}

/** A list of texts; one text alone stands for a list of it. */
function texts(
  expected: string,
  purpose: string,
  is: (one: string) => boolean,
): Field<readonly string[]> {
  return {
    default: [],
    expected,
    purpose,
    read: (written) => {
      const list: unknown[] = Array.isArray(written) ? written : [written]
      const isSound = list.every((one) => typeof one === 'string' && is(one))
      return isSound && list.length <= 100 ? (list as string[]) : undefined
    },
    show: (kept) => kept,
  }
}

function isGiven(one: string): boolean {
  return one !== ''
}

function isUrl(one: string): boolean {
  if (!URL.canParse(one)) return false
  const { protocol, username, password } = new URL(one)
  return ['https:', 'http:'].includes(protocol) && username === '' && password === ''
}

function isReference(one: string): boolean {
  return /^\$\{(?:env:[A-Za-z_][A-Za-z0-9_]*|file:[^}]+)\}$/.test(one)
}
