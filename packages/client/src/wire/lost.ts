import { FairleadError } from '@fairlead/core/errors'

/** Nobody answers. Retryable, like a store that takes no writes: the caller cannot tell the two apart. */
export function unreachable(url: string, why: string): FairleadError {
  return new FairleadError(
    'StoreUnavailable',
    `no server answers at ${url} (${why}); start one with \`fairlead serve\`, or give another address`,
    { reason: 'unreachable', url },
  )
}

/** The connection ended with calls under way: whether they were carried out is not known. */
export function connectionLost(why: string): FairleadError {
  return new FairleadError(
    'StoreUnavailable',
    `the connection was lost (${why}); whether the call was carried out is not known`,
    { reason: 'connection_lost' },
  )
}

export function isConnectionLost(error: unknown): boolean {
  return error instanceof FairleadError && error.details['reason'] === 'connection_lost'
}

/** Whether a call that was refused so may have been carried out all the same. */
export function mayHaveHappened(error: FairleadError): boolean {
  return error.code === 'StoreUnavailable' && error.details['reason'] !== 'unreachable'
}

/** May the same call succeed later without a change? */
export function isRetryable(error: unknown): error is FairleadError {
  return error instanceof FairleadError && error.retryable
}

export function closedForGood(): FairleadError {
  return new FairleadError('SchedulerClosed', 'the client was closed; connect again')
}
