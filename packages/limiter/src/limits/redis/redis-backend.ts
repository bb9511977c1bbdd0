import type { Clock } from '@fairlead/core'
import type { LimiterBackend } from '../limiter-backend.ts'
import { RedisLimiter } from './redis-limiter.ts'
import type { RedisAddress } from './redis-port.ts'

export interface RedisOptions {
  /** Limiters of one name share their limits; those of another know nothing of them. */
  readonly name?: string
  /**
   * How long new starts are held up on each limit after Redis was found to have forgotten what was held:
   * for one window, at most 120 s. Off, they go on at once.
   */
  readonly coldStartGuard?: boolean
  /**
   * While Redis is away: `deny` (default) allows nothing; `local` goes on with an equal share of each limit,
   * `floor(capacity / instances)`, less what this instance holds.
   */
  readonly onBackendLoss?: 'deny' | 'local'
  /** How many instances share the limits; needed for `local`. */
  readonly instances?: number
  /** How long a finished or denied lease id is remembered. */
  readonly rememberMs?: number
  /** For tests: the time is this one's, and not the server's. */
  readonly clock?: Pick<Clock, 'now'>
}

/** Limits that all instances with this Redis and this name keep together. */
export function redis(address: RedisAddress, options: RedisOptions = {}): LimiterBackend {
  return { open: (limits) => new RedisLimiter(address, limits, options) }
}
