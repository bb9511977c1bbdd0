import type { ErrorCode } from '@fairlead/core/errors'

/** What JSON-RPC 2.0 itself has numbers for, where no code of Fairlead says the same. */
export const RPC_ERRORS = {
  parse: { code: -32700, message: 'Parse error' },
  invalidRequest: { code: -32600, message: 'Invalid Request' },
  methodNotFound: { code: -32601, message: 'Method not found' },
} as const

/**
 * The number of each code, fixed for good (RPC-4). Two codes have the standard's own numbers, because
 * they say what it says: wrong params and an internal error.
 */
// biome-ignore format: a table
export const ERROR_NUMBERS: { readonly [Code in ErrorCode]: number } = {
  InvalidParams:       -32602,
  Internal:            -32603,
  LimitExceeded:       -32001,
  IdempotencyConflict: -32002,
  QueueOverCapacity:   -32003,
  NotFound:            -32004,
  NoResultYet:         -32005,
  InvalidState:        -32006,
  LeaseNotLive:        -32007,
  RenewalsExhausted:   -32008,
  JobExpired:          -32009,
  InsufficientStake:   -32010,
  AttestationError:    -32011,
  NullifierReused:     -32012,
  ClaimMismatch:       -32013,
  Unauthorized:        -32014,
  Forbidden:           -32015,
  RateLimited:         -32016,
  NotLeader:           -32017,
  StoreUnavailable:    -32018,
  EventsPruned:        -32019,
  SchedulerClosed:     -32020,
}
