import type { Clock } from '@fairlead/core'

/** The longest time that a timer of Node can wait for. */
const TIMER_MAX_MS = 2 ** 31 - 1

/** The wall clock at the start of the process, and steady from there. */
export const systemClock: Clock = {
  now: () => Math.floor(performance.timeOrigin + performance.now()),
  wakeAt: (atMs, wake) => {
    const delay = Math.min(TIMER_MAX_MS, Math.max(0, atMs - systemClock.now()))
    const timer = setTimeout(wake, delay)
    return () => clearTimeout(timer)
  },
}
