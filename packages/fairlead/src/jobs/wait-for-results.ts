import { FairleadError, type JobReceipt, type NodeClient, type ReadResult } from '@fairlead/client'
import type { ResultOf } from '@fairlead/protocol'
import type { Call } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { errorSentence } from '../show/show-jobs.ts'
import type { Terminal } from '../terminal/terminal.ts'

type Job = ResultOf<'aicf.getJob'>['job']
type Output = Pick<Call<never>, 'print' | 'terminal' | 'isJson'>

/** Waits for jobs, prints their results, and tells why those without one ended. */
export async function waitForResults(
  client: NodeClient,
  receipts: readonly JobReceipt[],
  { print, terminal, isJson }: Output,
): Promise<number> {
  const ends = await Promise.all(receipts.map(({ task_id }) => endOf(client, task_id)))
  const results = ends.filter((end): end is ReadResult => 'record' in end)
  const failed = ends.filter((end): end is Job => 'status' in end)
  if (!isJson) for (const result of results) writeOutput(result, terminal)
  else if (results.length > 0) {
    const records = results.map(({ record }) => record)
    print(receipts.length === 1 ? records[0] : records, '')
  }
  for (const job of failed) terminal.note(isJson ? JSON.stringify(failure(job)) : failureLines(job))
  return failed.length === 0 ? EXIT.ok : EXIT.failed
}

/** The result of a job, or the job itself if it ended without one. */
async function endOf(client: NodeClient, taskId: string): Promise<ReadResult | Job> {
  try {
    return await client.waitForResult(taskId)
  } catch (error) {
    if (!(error instanceof FairleadError) || !ENDED.has(error.code)) throw error
    const { job } = await client.getJob(taskId)
    return job
  }
}

/** Codes of jobs that ended without a result. */
const ENDED: ReadonlySet<string> = new Set(['InvalidState', 'JobExpired'])

function failureLines(job: Job): string[] {
  const { task_id, status, reason, last_error } = job
  const why = reason === null ? '' : ` (${reason})`
  const line = `fairlead: job ${task_id} is ${status}${why} and has no result`
  return last_error === null ? [line] : [line, ...errorSentence(last_error)]
}

function failure(job: Job): object {
  const { task_id, status, reason, last_error } = job
  const code = status === 'EXPIRED' ? 'JobExpired' : 'InvalidState'
  const message = failureLines(job)
    .join('\n')
    .replace(/^fairlead: /, '')
  return {
    error: { code, message, details: { task_id, status, reason, last_error }, retryable: false },
  }
}

/**
 * Into a pipe or a file its bytes as they are, text with an end of line. On a screen the lines of a text (TERMINAL-1),
 * of other bytes their number.
 */
function writeOutput({ output, record }: ReadResult, terminal: Terminal): void {
  if (output === null) {
    terminal.note(`The output is kept elsewhere; its digest is ${record.output_digest}.`)
    return
  }
  const text = record.content_type === BYTES ? null : textOf(output)
  if (terminal.screen === null) {
    terminal.raw(output)
    if (text !== null && !text.endsWith('\n')) terminal.raw(Buffer.from('\n'))
  } else if (text !== null) terminal.out(text.replace(/\n$/, '').split('\n'))
  else {
    terminal.note(`The output is ${output.length} bytes, not text; write them to a file: > out`)
  }
}

/** Its worker gave bytes, even if they could be read as text. */
const BYTES = 'application/octet-stream'

/** Null for bytes that are no UTF-8. */
function textOf(output: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(output)
  } catch {
    return null
  }
}
