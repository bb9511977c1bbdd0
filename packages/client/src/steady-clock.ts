import type { Clock } from '@fairlead/core'

/** The longest time that a timer of Node can wait for. */
const TIMER_MAX_MS = 2 ** 31 - 1

/** A clock that is never set: a worker counts how long it still has, not what time it is. */
export const steadyClock: Clock = {
  now: () => Math.floor(performance.timeOrigin + performance.now()),
  wakeAt: (atMs, wake) => {
    const delay = Math.min(TIMER_MAX_MS, Math.max(0, atMs - steadyClock.now()))
    const timer = setTimeout(wake, delay)
    return () => clearTimeout(timer)
  },
}
