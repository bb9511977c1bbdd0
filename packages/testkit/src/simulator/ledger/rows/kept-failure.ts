import { decodeCbor, type FailureRow } from '@fairlead/core'
import { broken } from '../../violation.ts'
import type { FailureEntry } from '../book.ts'
import type { FailedAttempt } from '../journal/moment.ts'

const MESSAGE_MAX_BYTES = 4_096
const DETAILS_MAX_BYTES = 16_384

/** Each attempt that failed is stored with its reason, and no other. */
export function checkFailures(
  rows: readonly FailureRow[],
  attempts: readonly FailedAttempt[],
): void {
  const due = new Map(attempts.map((one) => [`${one.job.facts.id}|${one.attempt}`, one]))
  for (const row of rows) {
    const key = `${row.jobId}|${row.attempt}`
    const failed = due.get(key)
    if (failed === undefined) {
      broken('failure-kept', `attempt ${row.attempt} of ${row.jobId} has not failed`)
    }
    if (row.jobSeq !== failed.job.facts.seq) broken('failure-kept', `${key} is of another job`)
    const wrong = wrongFailure(row, failed.failure)
    if (wrong !== null) broken('failure-kept', `the failure of ${key} is kept with ${wrong}`)
    due.delete(key)
  }
  const [missing] = due.keys()
  if (missing !== undefined) broken('failure-kept', `the failure of ${missing} is not stored`)
}

/** The fault of a stored failure, or null: it is kept as it was said, and what is too long is cut (FAIL-2, FAIL-5). */
function wrongFailure(row: FailureRow, due: FailureEntry): string | null {
  if (row.at !== due.at) return `the time ${row.at}, not ${due.at}`
  if (row.code !== due.code) return `the code ${row.code}, not ${due.code}`
  const { words } = due
  if (words === 'engine') return row.message === null || row.details !== null ? 'other words' : null
  if (words === 'none') return row.message !== null || row.details !== null ? 'any words' : null
  if (!isKeptMessage(row.message, words.message ?? '')) return `the message ${row.message}`
  return isKeptDetails(row.details, words.details ?? null) ? null : 'other details'
}

function isKeptMessage(kept: string | null, given: string): boolean {
  if (given === '') return kept === null
  if (Buffer.byteLength(given) <= MESSAGE_MAX_BYTES) return kept === given
  if (kept === null || Buffer.byteLength(kept) > MESSAGE_MAX_BYTES) return false
  const isLong = Buffer.byteLength(kept) > MESSAGE_MAX_BYTES - 8
  return isLong && kept.endsWith('…') && given.startsWith(kept.slice(0, -1).trimEnd())
}

function isKeptDetails(kept: Uint8Array | null, given: Uint8Array | null): boolean {
  if (kept === null || given === null) return kept === given
  if (given.length <= DETAILS_MAX_BYTES) return Buffer.compare(kept, given) === 0
  const told = decodeCbor(kept) as Readonly<Record<string, unknown>>
  return told['truncated'] === true && Number(told['bytes']) === given.length
}
