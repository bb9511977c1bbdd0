import type { Limit, Limiter } from '@fairlead/core/limits'

/** Where the limits are kept: `memory()` or `redis(url)`. */
export interface LimiterBackend {
  open(limits: readonly Limit[]): Limiter
}
