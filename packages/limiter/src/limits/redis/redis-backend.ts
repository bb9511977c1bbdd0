import { type Clock, invalidParams, isTextWithin, wholeNumber } from '@fairlead/core/limits'
import { knownFields } from '../../known-fields.ts'
import type { PoolBackend } from '../../slots/model-pools.ts'
import { RedisPools } from '../../slots/redis/redis-pools.ts'
import type { LimiterBackend } from '../limiter-backend.ts'
import { type BackendLoss, instancesOf } from './backend-loss.ts'
import { RedisLimiter } from './redis-limiter.ts'
import { checkAddress, type RedisAddress } from './redis-port.ts'

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
  /** How many lease ids are remembered at most; beyond that the oldest are forgotten. */
  readonly leasesMax?: number
  /** How many times what was reserved an actual counts at most, if that is more than the capacity; 16 if left out. */
  readonly actualFactorMax?: number
  /** For tests: the time is this one's, and not the server's. */
  readonly clock?: Pick<Clock, 'now'>
}

/** Limits, and models, that all instances with this Redis and this name keep together. */
export function redis(
  address: RedisAddress,
  options: RedisOptions = {},
): LimiterBackend & PoolBackend {
  checkAddress(address)
  checkOptions(options)
  return {
    open: (limits) => new RedisLimiter(address, limits, options),
    openPools: (pools) => new RedisPools(address, pools, options),
  }
}

const NAME_BYTES_MAX = 256

function checkOptions(options: RedisOptions): void {
  const {
    name = 'default',
    coldStartGuard = true,
    rememberMs = 0,
    leasesMax = 1,
    actualFactorMax = 1,
  } = knownFields('options', options, [
    'name',
    'coldStartGuard',
    'rememberMs',
    'leasesMax',
    'actualFactorMax',
    'clock',
    'onBackendLoss',
    'instances',
  ])
  if (!isTextWithin(name, NAME_BYTES_MAX)) {
    throw invalidParams('name', `text of 1 to ${NAME_BYTES_MAX} bytes`)
  }
  if (typeof coldStartGuard !== 'boolean') throw invalidParams('coldStartGuard', 'true or false')
  wholeNumber('rememberMs', rememberMs, { min: 0 })
  wholeNumber('leasesMax', leasesMax, { min: 1 })
  wholeNumber('actualFactorMax', actualFactorMax, { min: 1 })
  instancesOf(options)
}
