import type { Clock } from '@fairlead/core'
import type { PoolBackend } from '../../slots/model-pools.ts'
import { RedisPools } from '../../slots/redis/redis-pools.ts'
import type { LimiterBackend } from '../limiter-backend.ts'
import type { BackendLoss } from './backend-loss.ts'
import { RedisLimiter } from './redis-limiter.ts'
import type { RedisAddress } from './redis-port.ts'

export interface RedisOptions extends BackendLoss {
  /** Limiters of one name share their limits and models; those of another know nothing of them. */
  readonly name?: string
  /**
   * How long new starts are held up on each limit after Redis was found to have forgotten what was held:
   * for one window, at most 120 s. Off, they go on at once.
   */
  readonly coldStartGuard?: boolean
  /** How long a finished or denied lease id is remembered. */
  readonly rememberMs?: number
  /** For tests: the time is this one's, and not the server's. */
  readonly clock?: Pick<Clock, 'now'>
}

/** Limits, and models, that all instances with this Redis and this name keep together. */
export function redis(
  address: RedisAddress,
  options: RedisOptions = {},
): LimiterBackend & PoolBackend {
  return {
    open: (limits) => new RedisLimiter(address, limits, options),
    openPools: (pools) => new RedisPools(address, pools, options),
  }
}
