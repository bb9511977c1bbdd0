import type { JobSummary, WireEvent } from '@fairlead/client'
import { durationText } from '@fairlead/engine'
import type { ProofClaim, ResultOf } from '@fairlead/protocol'
import { shortId } from '../jobs/resolve-task-id.ts'
import { table } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

type Colors = Terminal['colors']
type Entries = ResultOf<'aicf.getTimeline'>['entries']

/** Jobs as a table that is no wider than asked for. */
export function jobsTable(
  jobs: readonly JobSummary[],
  { nowMs, columns }: { readonly nowMs: number; readonly columns: number },
): string[] {
  const rows = jobs.map((job) => [
    shortId(job.task_id),
    job.name ?? '',
    job.kind,
    job.status,
    durationText(Math.max(0, nowMs - job.timestamps.enqueued * 1_000)),
    String(job.retries),
    job.provider_id ?? '',
    job.reason ?? '',
  ])
  return table(
    [
      { title: 'task_id' },
      { title: 'name', cutTo: 8 },
      { title: 'kind' },
      { title: 'status' },
      { title: 'age', align: 'right' },
      { title: 'failures', align: 'right' },
      { title: 'provider', cutTo: 8 },
      { title: 'reason', cutTo: 8 },
    ],
    rows,
    columns,
  )
}

export function progressText(
  progress: Pick<
    NonNullable<ResultOf<'aicf.getJob'>['job']['progress']>,
    'percent' | 'message'
  > | null,
): string {
  if (progress === null) return ''
  const { percent, message } = progress
  return [percent === null ? '' : `${percent} %`, message ?? '']
    .filter((one) => one !== '')
    .join(', ')
}

/** A job with its result, its errors and everything that happened to it. */
export function jobText(
  { job, claim, result }: ResultOf<'aicf.getJob'>,
  entries: Entries,
  { bold }: Colors,
): string[] {
  const { request, timestamps } = job
  const facts: [string, string][] = [
    ['kind', job.kind],
    ['name', job.name ?? ''],
    ['status', job.reason === null ? job.status : `${job.status} (${job.reason})`],
    ['waits', job.wait_reason ?? ''],
    ['progress', progressText(job.progress)],
    ['enqueued', time(timestamps.enqueued)],
    ['caller', `${request.caller} (${request.tier})`],
    ['fee', String(request.max_fee_u64)],
    ['failures', String(job.retries)],
    ...optionFacts(request.options),
    ['provider', job.provider_id ?? 'none yet'],
    ['payload', brief(JSON.stringify(request.payload))],
    ['proof', claim === null ? '' : `${claim.proof_type}, ${claim.status}: ${unitsText(claim)}`],
    ['digest', result?.output_digest ?? ''],
    ['output', result === null ? '' : outputText(result.output)],
  ]
  const shown = facts.filter(([, value]) => value !== '')
  const width = Math.max(...shown.map(([name]) => name.length))
  return [
    bold(job.task_id),
    ...shown.map(([name, value]) => `${name.padEnd(width)}  ${value}`),
    ...errorLines(job, bold),
    '',
    bold('What happened'),
    ...stepLines(entries),
  ]
}

type Job = ResultOf<'aicf.getJob'>['job']

function unitsText({ metrics, block_height }: ProofClaim): string {
  const { ai_units, quantum_units, traps_ratio } = metrics
  const traps =
    traps_ratio === undefined ? '' : `, ${(100 * traps_ratio).toFixed(1)} % of its traps`
  return `${ai_units ?? quantum_units} units${traps}, in block ${block_height}`
}

/** The options that the job was given. */
function optionFacts(options: Job['request']['options']): [string, string][] {
  if (options === null) return []
  const { run_at, attempts, backoff, timeout_ms, priority, tags, dedupe_key } = options
  const { depends_on, on_dependency } = options
  return [
    ['runs at', run_at === undefined ? '' : new Date(run_at).toISOString()],
    ['attempts', attempts === undefined ? '' : String(attempts)],
    ['backoff', backoff === undefined ? '' : backoffText(backoff)],
    ['timeout', timeout_ms === undefined ? '' : durationText(timeout_ms)],
    ['priority', priority === undefined ? '' : String(priority)],
    ['tags', tags?.join(', ') ?? ''],
    ['dedupe key', dedupe_key ?? ''],
    ['after', depends_on?.map(shortId).join(', ') ?? ''],
    ['if one fails', on_dependency ?? ''],
  ]
}

function backoffText(backoff: NonNullable<NonNullable<Job['request']['options']>['backoff']>) {
  const { base_ms, factor_permille, cap_ms, jitter_permille } = backoff
  const times = `each ${factor_permille / 1_000} times the one before`
  const most = `at most ${durationText(cap_ms)}`
  return `${durationText(base_ms)}, ${times}, ${most}, jitter ${jitter_permille / 10} %`
}

/** The last error in full, then those of earlier attempts, oldest first; `--json` has all of each. */
function errorLines({ errors }: Job, bold: Colors['bold']): string[] {
  const last = errors.at(-1)
  if (last === undefined) return []
  const lines = ['', bold('Last error'), ...attemptErrorLines(last), ...detailLines(last.details)]
  const earlier = errors.slice(0, -1)
  if (earlier.length === 0) return lines
  return [...lines, '', bold('Earlier errors'), ...earlier.flatMap(attemptErrorLines)]
}

/** The message stands on lines of its own, so that it can be read and copied as it is. */
function attemptErrorLines({ attempt, at, code, message }: Job['errors'][number]): string[] {
  return [
    `  attempt ${attempt}  ${new Date(at).toISOString()}  ${code}`,
    ...(message === null ? [] : indented(textLines(message))),
  ]
}

/** A stack as it was written, the rest as JSON. */
function detailLines(details: unknown): string[] {
  if (typeof details !== 'object' || details === null) return []
  const { stack, ...rest } = details as { readonly stack?: unknown }
  return indented([
    ...(Object.keys(rest).length === 0 ? [] : [JSON.stringify(rest)]),
    ...(typeof stack === 'string' ? textLines(stack) : []),
  ])
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `    ${line}`)
}

/** An error in a sentence: `exit_65: no such file`; further lines of its message stand behind a margin. */
export function errorSentence({
  code,
  message,
}: Pick<NonNullable<Job['last_error']>, 'code' | 'message'>): string[] {
  const [first = '', ...rest] = message === null ? [] : textLines(message)
  return [message === null ? code : `${code}: ${first}`, ...indented(rest)]
}

/** Each step with its time after the first. */
export function stepLines(
  entries: readonly { readonly at: number; readonly action: string; readonly details: object }[],
): string[] {
  const start = entries[0]?.at ?? 0
  return entries.map(({ at, action, details }) => {
    const after = `+${durationText(at - start)}`
    return `${after.padStart(12)}  ${action}${detailText(details, 'jobId')}`
  })
}

/** An event in a line, with its job and the name of that where they are known. */
export function eventLine(
  event: WireEvent,
  job: { readonly id: string | null; readonly name: string | null },
  { dim, bold }: Colors,
): string {
  const { seq, at, type, ...details } = event
  const id = job.id === null ? '' : `  ${shortId(job.id)}`
  const name = job.name === null ? '' : `  ${job.name}`
  const start = `${dim(String(seq).padStart(8))}  ${new Date(at).toISOString()}  ${bold(type)}`
  return `${start}${id}${name}${detailText(details, 'jobId')}`
}

/** Details that are times, in ms since the epoch. */
const TIMES: ReadonlySet<string> = new Set(['deadline', 'notBefore'])
/** Details that are ids of 32 bytes. */
const IDS: ReadonlySet<string> = new Set(['leaseId', 'retryOf'])

function detailText(details: object, leftOut?: string): string {
  const parts = Object.entries(details)
    .filter(([name, value]) => value !== null && name !== leftOut)
    .map(([name, value]) => `${name}=${shownDetail(name, value)}`)
  return parts.length === 0 ? '' : `  ${parts.join(' ')}`
}

function shownDetail(name: string, value: unknown): string {
  if (typeof value === 'number' && TIMES.has(name)) return new Date(value).toISOString()
  if (typeof value !== 'string') return JSON.stringify(value)
  return IDS.has(name) ? shortId(value) : value
}

/** Seconds since the epoch, as the wire has them. */
function time(secs: number): string {
  return new Date(Math.round(secs * 1_000)).toISOString()
}

function outputText(hex: string | null): string {
  if (hex === null) return 'kept elsewhere'
  const bytes = Buffer.from(hex.slice(2), 'hex')
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? brief(text) : brief(hex)
}

function brief(text: string): string {
  return text.length > 400 ? `${text.slice(0, 400)}… (${text.length} characters)` : text
}

/** The lines of somebody else's text, which are shown behind a margin of our own. */
function textLines(text: string): string[] {
  return text.trimEnd().split(/\r?\n/)
}
