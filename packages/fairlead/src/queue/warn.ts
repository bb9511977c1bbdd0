import { PermanentError, RetryAfter } from './errors.ts'
import type { RunningJob } from './running-job.ts'

/** Hears what a handler threw, with its job, and what else went wrong. */
export type OnError = (error: unknown, job: RunningJob | null) => void

export const warn: OnError = (error, job) => {
  // Where it was thrown is of use for an error that nobody meant to throw.
  const isMeant = error instanceof PermanentError || error instanceof RetryAfter
  const text = error instanceof Error && !isMeant ? (error.stack ?? String(error)) : String(error)
  const place = job === null ? '' : `${job.name} ${job.id.slice(0, 12)}, attempt ${job.attempt}: `
  process.emitWarning(`${place}${text}`, 'FairleadQueue')
}
