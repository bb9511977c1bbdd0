import type { FairleadError, Limit, Limiter, LimitView } from '@fairlead/core'
import type { Engine } from '@fairlead/engine'
import { createLimiter, redis } from '@fairlead/limiter'
import type { Logger } from '@fairlead/server'
import type { Settings } from '../config/settings.ts'

/**
 * Limits on Redis, for several servers together. The server keeps definitions in its engine as well; a Redis
 * that has lost them gets them back with the next start (HTTP-5). Null where none is configured.
 */
export async function openRedisLimits(
  { url, onBackendLoss, instances }: Settings['redis'],
  { limiter: own, view }: Pick<Engine, 'limiter' | 'view'>,
  logger: Logger,
): Promise<Limiter | null> {
  if (url === null) return null
  const loss = { onBackendLoss, ...(instances === null ? {} : { instances }) }
  // As the policy is at the start.
  const { actualFactorMax } = view.policy.limits
  const shared = createLimiter({ backend: redis(url, { ...loss, actualFactorMax }), limits: [] })
  try {
    await agree(shared, own)
  } catch (err) {
    if ((err as FairleadError).code !== 'StoreUnavailable') {
      await shared.close()
      throw err
    }
    // It does not hold up the start: until it is back nothing is allowed, and all else goes on.
    logger.warn({ err }, 'Redis does not answer: nothing is reserved until it does')
  }
  return {
    define: (limit) => shared.define(limit),
    reset: (key) => shared.reset(key),
    delete: (key) => shared.delete(key),
    list: () => shared.list(),
    get: (key) => shared.get(key),
    reserve: (request) => shared.reserve(request),
    complete: (request) => shared.complete(request),
    reserveMany: (requests) => shared.reserveMany(requests),
    completeMany: (requests) => shared.completeMany(requests),
    close: () => shared.close(),
  }
}

/** Each learns what the other alone has; where both have a limit, each keeps its own. */
async function agree(shared: Limiter, own: Limiter): Promise<void> {
  const [there, here] = [await shared.list(), await own.list()]
  for (const limit of without(here, there)) await shared.define(limit)
  for (const limit of without(there, here)) await own.define(limit, { actor: 'redis' })
}

function without(views: readonly LimitView[], others: readonly LimitView[]): Limit[] {
  const keys = new Set(others.map(({ limit }) => limit.key))
  return views.map(({ limit }) => limit).filter(({ key }) => !keys.has(key))
}
