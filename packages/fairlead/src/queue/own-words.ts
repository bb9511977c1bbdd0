import { FairleadError } from '@fairlead/core'

/** Fields of the wire that have another name in this library. */
const OWN_NAMES: Readonly<Record<string, string>> = {
  args: 'data',
  base_ms: 'base',
  cap_ms: 'max',
  catch_up: 'catchUp',
  dedupe_key: 'dedupeKey',
  delay_ms: 'delay',
  depends_on: 'dependsOn',
  idempotency_key: 'key',
  on_dependency: 'onDependency',
  run_at: 'runAt',
  task_id: 'id',
  timeout_ms: 'timeout',
  wait_reason: 'waitReason',
}

/** Objects of the wire that this library does not have. */
const OUTER: ReadonlySet<string> = new Set(['request', 'payload', 'filter'])

/** No other text looks like these. */
const WORDS = new RegExp(
  `\\b(?:${Object.keys(OWN_NAMES)
    .filter((name) => name.includes('_'))
    .join('|')})\\b`,
  'g',
)

/** Waits for a call. If it is refused, the error names the options of this library; `path` stands before them, as in `jobs[0].`. */
export async function inOwnWords<Answer>(call: Promise<Answer>, path = ''): Promise<Answer> {
  try {
    return await call
  } catch (error) {
    throw ownWords(error, path)
  }
}

/** A refusal that names the options of this library; any other error as it is. */
export function ownWords(error: unknown, path = ''): unknown {
  return renamed(error, (field) => `${path}${ownPath(field)}`)
}

/** The same for a refusal of this library, whose names are its own. */
export async function inPlace<Answer>(path: string, call: Promise<Answer>): Promise<Answer> {
  try {
    return await call
  } catch (error) {
    throw renamed(error, (field) => `${path}${field}`)
  }
}

interface RefusalDetails {
  readonly field?: string
  readonly limit?: string
  readonly problems?: readonly { readonly field: string; readonly expected: string }[]
}

function renamed(error: unknown, rename: (field: string) => string): unknown {
  if (!(error instanceof FairleadError)) return error
  const { field, limit, problems } = error.details as RefusalDetails
  const fields = [field, limit, ...(problems ?? []).map((problem) => problem.field)]
  const known = new Set(fields.filter((name) => typeof name === 'string'))
  if (known.size === 0) return error
  const parts = error.message.split('; ').map((part) => {
    const name = part.slice(0, Math.max(0, part.indexOf(': ')))
    if (!known.has(name)) return inWords(part)
    const rest = part.slice(name.length)
    return `${rename(name)}${inWords(name.endsWith('_ms') ? withUnit(rest) : rest)}`
  })
  const details = {
    ...error.details,
    ...(field === undefined ? {} : { field: rename(field) }),
    ...(limit === undefined ? {} : { limit: rename(limit) }),
    ...(problems === undefined
      ? {}
      : { problems: problems.map((each) => ({ ...each, field: rename(each.field) })) }),
  }
  return new FairleadError(error.code, parts.join('; '), details, { cause: error })
}

/** `request.depends_on.0` is `dependsOn[0]`. Keys of data are the caller's own. */
function ownPath(path: string): string {
  const keys = path.split('.')
  if (keys.length > 1 && OUTER.has(keys[0] ?? '')) keys.shift()
  const isOurs = (i: number): boolean => i === 0 || (i === 1 && keys[0] === 'backoff')
  return keys
    .map((key, i) => {
      if (/^\d+$/.test(key)) return `[${key}]`
      return `${i === 0 ? '' : '.'}${isOurs(i) ? (OWN_NAMES[key] ?? key) : key}`
    })
    .join('')
}

function withUnit(expected: string): string {
  return expected.replace('a whole number', 'a whole number of milliseconds')
}

function inWords(text: string): string {
  return text.replaceAll(WORDS, (word) => OWN_NAMES[word] ?? word)
}
