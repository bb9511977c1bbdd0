import type { Clock } from '@fairlead/core/limits'

/** The longest time that a timer of Node can wait for. */
const TIMER_MAX_MS = 2 ** 31 - 1

/** Read once: it is a getter, and slower than the clock itself. */
const ORIGIN_MS = performance.timeOrigin

/** The wall clock at the start of the process, and steady from there. */
export const systemClock: Clock = {
  now: () => Math.floor(ORIGIN_MS + performance.now()),
  wakeAt: (atMs, wake) => {
    const delay = Math.min(TIMER_MAX_MS, Math.max(0, atMs - systemClock.now()))
    const timer = setTimeout(wake, delay)
    return () => clearTimeout(timer)
  },
}
