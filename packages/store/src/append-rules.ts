import { FairleadError } from '@fairlead/core'
import type { LogRecord } from '@fairlead/core/internal'

/** A record whose number is not the next one (LOG-3). After a failed append that is the failed one's number. */
export function notNext(
  where: string,
  { given, next }: { given: number; next: number },
): FairleadError {
  return new FairleadError(
    'StoreUnavailable',
    `log of ${where}: batch ${given} was given, but ${next} is next; give batch ${next} first`,
    { path: where, reason: 'not_next', batch: given, next },
  )
}

/** Another record under the number of one that is stored, or whose outcome nobody knows (LOG-4). */
export function otherRecord(where: string, batch: number): FairleadError {
  return new FairleadError(
    'StoreUnavailable',
    `log of ${where}: batch ${batch} was given before with other bytes; restart from the log`,
    { path: where, reason: 'other_record', batch },
  )
}

/** Records after a batch that the log does not have any more (LOG-6). */
export function trimmedAway(
  where: string,
  { after, first }: { after: number; first: number },
): FairleadError {
  return new FairleadError(
    'StoreUnavailable',
    `log of ${where}: batch ${after + 1} is missing: the log begins at batch ${first}; restore a backup with ` +
      `all batches before it`,
    { path: where, reason: 'trimmed', batch: after + 1, first },
  )
}

export function isSameRecord(a: LogRecord, b: LogRecord): boolean {
  return a.batch === b.batch && a.digest === b.digest && Buffer.compare(a.body, b.body) === 0
}
