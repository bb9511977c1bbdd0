import type { Logger } from '@fairlead/server'
import type { Progress } from '@fairlead/store/sqlite'

const EVERY_MS = 1_000

/** Logs how far a store of an earlier Fairlead was brought forward: the first line at once, then one a second, and the last. */
export function forwardProgress(store: string, logger: Logger): Progress {
  let dueMs = 0
  return (done, total) => {
    const now = Date.now()
    if (now < dueMs && done < total) return
    dueMs = now + EVERY_MS
    logger.info({ store, done, total }, 'bringing the jobs of an earlier Fairlead forward')
  }
}
