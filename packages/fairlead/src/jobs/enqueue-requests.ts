import type { EnqueueOptions, EnqueueRequest, NodeClient } from '@fairlead/client'
import { type Caller, FairleadError, type JobId, parsePolicy } from '@fairlead/core'
import { ATTEMPTS, acceptRequest, ON_DEPENDENCY, PRIORITY } from '@fairlead/core/internal'
import { checkParams, METHODS } from '@fairlead/protocol'
import type { EnqueueFlags } from '../commands/enqueue.ts'
import { duration, jsonObject, misuse, moment, oneOfWords, wholeNumber } from '../flags/flags.ts'
import { inputOf, readFile, STDIN } from '../flags/read-input.ts'
import { escaped } from '../terminal/escaped.ts'
import { LinesError } from '../terminal/lines-error.ts'
import { resolveTaskId } from './resolve-task-id.ts'

const KINDS = ['task', 'ai', 'quantum'] as const

/** Wrong lines that an error lists. */
const LISTED_MAX = 20

/** A request, and the line that it stands on if it comes from a file. */
export interface Wanted {
  readonly request: EnqueueRequest
  readonly line: number | null
}

/** The requests that a command line stands for. */
export function requestsOf(args: readonly string[], flags: EnqueueFlags): Wanted[] {
  if (flags.from !== undefined) {
    if (args.length > 0) throw misuse('--from: expected either a file or a job, not both')
    refuseBeside(flags)
    return requestsIn(flags.from)
  }
  const count = wholeNumber('--count', flags.count, { min: 1, max: 1_000_000 })
  if (count > 1 && flags.key !== undefined) {
    throw misuse('--key: expected no --count with it; jobs with one key are one job')
  }
  const request = oneRequest(args, flags)
  return Array.from({ length: count }, () => ({ request, line: null }))
}

/** The request of one job, given as words. */
export function oneRequest(args: readonly string[], flags: EnqueueFlags): EnqueueRequest {
  const [written, name, input] = args
  if (written === undefined || name === undefined) {
    throw misuse(
      'expected a kind and a name, as in: fairlead enqueue task resize; or --from <file>',
    )
  }
  const kind = oneOfWords('kind', written, KINDS)
  const around = optionsOf(flags)
  if (kind === 'task') {
    const args = jsonObject('input', inputOf(input ?? '{}')) as Record<string, never>
    return { kind, payload: { name, args }, ...around }
  }
  if (kind === 'quantum') {
    const shots = wholeNumber('--shots', flags.shots, { min: 1 })
    return { kind, payload: { circuit: readFile(name), shots }, ...around }
  }
  if (input === undefined) throw misuse('input: expected the prompt, or - to read it')
  const max_tokens = wholeNumber('--max-tokens', flags.maxTokens, { min: 1 })
  const prompt = new TextEncoder().encode(inputOf(input))
  const payload = { model: name, prompt, max_tokens, ...temperatureOf(flags.temperature) }
  return { kind, payload, ...around }
}

function optionsOf(flags: EnqueueFlags): EnqueueOptions {
  const { fee, region, ttl, key } = flags
  return {
    // Checked by the server, which also takes what a number of ours cannot hold.
    ...(fee === undefined
      ? {}
      : { max_fee_u64: Number.isSafeInteger(Number(fee)) ? Number(fee) : fee }),
    ...(region === undefined ? {} : { regions: [...region] }),
    ...(ttl === undefined ? {} : { ttl_abs_secs: Math.ceil(duration('--ttl', ttl) / 1_000) }),
    ...(key === undefined ? {} : { idempotency_key: key }),
    ...courseOf(flags),
  }
}

/** The options of the job, as far as they are given. */
function courseOf(flags: EnqueueFlags): EnqueueOptions {
  const { delay, at, attempts, backoff, timeout, priority, tag, after, dedupeKey } = flags
  const fails = flags.ifDependencyFails
  return {
    ...(delay === undefined ? {} : { delay_ms: duration('--delay', delay) }),
    ...(at === undefined ? {} : { run_at: moment('--at', at, Date.now()) }),
    ...(attempts === undefined ? {} : { attempts: wholeNumber('--attempts', attempts, ATTEMPTS) }),
    ...(backoff === undefined ? {} : { backoff: backoffOf(backoff) }),
    ...(timeout === undefined ? {} : { timeout_ms: duration('--timeout', timeout) }),
    ...(priority === undefined ? {} : { priority: priorityOf(priority) }),
    ...(tag === undefined ? {} : { tags: [...tag] }),
    ...(after === undefined ? {} : { depends_on: [...after] as JobId[] }),
    ...(fails === undefined
      ? {}
      : { on_dependency: oneOfWords('--if-dependency-fails', fails, ON_DEPENDENCY) }),
    ...(dedupeKey === undefined ? {} : { dedupe_key: dedupeKey }),
  }
}

const BACKOFF =
  /^(\d+(?:ms|s|m|h|d))(?:,(\d+(?:\.\d{1,3})?))?(?:,(\d+(?:ms|s|m|h|d)))?(?:,(\d{1,3})%)?$/

/** `5s,2,15m,10%`. */
function backoffOf(text: string): EnqueueOptions['backoff'] {
  const [, first, factor = '2', longest = '15m', jitter = '10'] = BACKOFF.exec(text) ?? []
  if (first === undefined) {
    throw misuse(`--backoff: expected a time, and perhaps more, as 5s or 5s,2,15m,10%, got ${text}`)
  }
  return {
    base_ms: duration('--backoff', first),
    factor_permille: Math.round(1_000 * Number(factor)),
    cap_ms: duration('--backoff', longest),
    jitter_permille: 10 * Number(jitter),
  }
}

function priorityOf(text: string): number {
  const size = wholeNumber('--priority', text.replace(/^-/, ''), { max: PRIORITY.max })
  return text.startsWith('-') ? -size : size
}

/** A prefix of an id that `--after` gave becomes the whole id. */
export async function completeIds(wanted: readonly Wanted[], server: NodeClient): Promise<void> {
  const known = new Map<string, JobId>()
  for (const { request, line } of wanted) {
    // A file has whole ids.
    if (line !== null || request.depends_on == null) continue
    for (const [i, id] of request.depends_on.entries()) {
      const whole = known.get(id) ?? (await resolveTaskId(server, id))
      known.set(id, whole as JobId)
      request.depends_on[i] = whole as JobId
    }
  }
}

function temperatureOf(text: string | undefined): { readonly temperature?: number } {
  if (text === undefined) return {}
  const temperature = Number(text)
  if (text.trim() !== '' && temperature >= 0 && temperature <= 2) return { temperature }
  throw misuse(`--temperature: expected a number from 0 to 2, got ${text}`)
}

/** Flags of one job would be ignored for those of a file. */
function refuseBeside(flags: EnqueueFlags): void {
  const { fee, region, ttl, key, temperature, delay, at, attempts, backoff, timeout } = flags
  const { priority, tag, after, dedupeKey, ifDependencyFails } = flags
  const one = { fee, region, ttl, key, temperature, delay, at, attempts, backoff, timeout }
  const other = { priority, tag, after, 'dedupe-key': dedupeKey }
  const all = { ...one, ...other, 'if-dependency-fails': ifDependencyFails }
  const given = Object.entries(all).find(([, value]) => value !== undefined)
  if (given === undefined) return
  throw misuse(`--${given[0]}: expected no --from with it; write the field into each line`)
}

/** All lines are checked before the first is sent: a file with a wrong line enqueues nothing. */
function requestsIn(file: string): Wanted[] {
  const text = new TextDecoder().decode(readFile(file === '-' ? STDIN : file))
  const lines = text
    .split('\n')
    .map((written, i) => ({ written, line: i + 1 }))
    .filter(({ written }) => written.trim() !== '')
  if (lines.length === 0) {
    throw misuse(`--from: expected a request a line, found none in ${file}`)
  }
  const wanted: Wanted[] = []
  const problems: { readonly line: number; readonly message: string }[] = []
  for (const { written, line } of lines) {
    try {
      const request = jsonObject('request', written) as unknown as EnqueueRequest
      checkRequest(request)
      wanted.push({ request, line })
    } catch (error) {
      if (!(error instanceof FairleadError)) throw error
      problems.push({ line, message: error.message })
    }
  }
  if (problems.length === 0) return wanted
  const listed = problems
    .slice(0, LISTED_MAX)
    .map(({ line, message }) => `line ${line}: ${escaped(message)}`)
  if (problems.length > listed.length) listed.push(`… and ${problems.length - listed.length} more`)
  throw new LinesError(
    'InvalidParams',
    `--from: ${problems.length} of ${lines.length} lines of ${file} are wrong; nothing was enqueued\n${listed.join('\n')}`,
    { field: 'from', problems: problems.slice(0, LISTED_MAX) },
  )
}

const DEFAULT_POLICY = parsePolicy({})
/** In the place of fields that only the server knows; they say nothing about the shape. */
const CONTEXT = {
  caller: `0x${'00'.repeat(32)}` as Caller,
  chainId: 1n,
  enqueueHeight: 0n,
  nowMs: 0,
  txHash: new Uint8Array(32),
}

/** The shape of a request. Sizes are the server's to check: its caps may be others than ours. */
function checkRequest(request: EnqueueRequest): void {
  const { kind, payload } = checkParams(METHODS['aicf.enqueue'].params, request)
  // A chain writes kinds as numbers; the server alone reads those.
  if (typeof kind === 'number') return
  try {
    acceptRequest({ kind, payload }, DEFAULT_POLICY, CONTEXT)
  } catch (error) {
    if (!(error instanceof FairleadError) || error.code !== 'LimitExceeded') throw error
  }
}
