import type { JobSummary, WireEvent } from '@fairlead/client'
import { durationText } from '@fairlead/engine'
import type { ResultOf } from '@fairlead/protocol'
import { table } from './table.ts'
import type { Terminal } from './terminal.ts'

type Colors = Terminal['colors']
type Entries = ResultOf<'aicf.getTimeline'>['entries']

/** Jobs as a table. */
export function jobsTable(jobs: readonly JobSummary[]): string {
  const rows = jobs.map((job) => [
    job.task_id,
    job.kind,
    job.status,
    time(job.timestamps.enqueued),
    String(job.retries),
    job.provider_id ?? '',
    job.reason ?? '',
  ])
  return table(
    [
      { title: 'task_id' },
      { title: 'kind' },
      { title: 'status' },
      { title: 'enqueued' },
      { title: 'retries', align: 'right' },
      { title: 'provider' },
      { title: 'reason' },
    ],
    rows,
  )
}

/** A job with its result and what happened to it. */
export function jobText(
  { job, result }: ResultOf<'aicf.getJob'>,
  entries: Entries,
  { bold }: Colors,
): string {
  const { request, timestamps } = job
  const facts: [string, string][] = [
    ['kind', job.kind],
    ['status', job.reason === null ? job.status : `${job.status} (${job.reason})`],
    ['enqueued', time(timestamps.enqueued)],
    ['caller', `${request.caller} (${request.tier})`],
    ['fee', String(request.max_fee_u64)],
    ['retries', String(job.retries)],
    ['provider', job.provider_id ?? 'none yet'],
    ['payload', brief(JSON.stringify(request.payload))],
  ]
  if (job.wait_reason !== null) facts.splice(2, 0, ['waits', job.wait_reason])
  if (result !== null) {
    facts.push(['digest', result.output_digest], ['output', outputText(result.output)])
  }
  const width = Math.max(...facts.map(([name]) => name.length))
  const lines = facts.map(([name, value]) => `${name.padEnd(width)}  ${value}`)
  return [bold(job.task_id), ...lines, '', bold('What happened'), ...stepLines(entries)].join('\n')
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

/** An event in a line. */
export function eventLine(event: WireEvent, { dim, bold }: Colors): string {
  const { seq, at, type, ...details } = event
  return `${dim(String(seq).padStart(8))}  ${new Date(at).toISOString()}  ${bold(type)}${detailText(details)}`
}

/** Details that are times, in ms since the epoch. */
const TIMES: ReadonlySet<string> = new Set(['deadline', 'notBefore'])

function detailText(details: object, leftOut?: string): string {
  const parts = Object.entries(details)
    .filter(([name, value]) => value !== null && name !== leftOut)
    .map(([name, value]) => `${name}=${shownDetail(name, value)}`)
  return parts.length === 0 ? '' : `  ${parts.join(' ')}`
}

function shownDetail(name: string, value: unknown): string {
  if (typeof value === 'number' && TIMES.has(name)) return new Date(value).toISOString()
  return typeof value === 'string' ? value : JSON.stringify(value)
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
