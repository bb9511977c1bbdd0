import { readdirSync, readFileSync } from 'node:fs'
import type { Figures } from './scenarios.ts'

/** Of /proc/…/stat, behind the name in parentheses: user and system time, in ticks of 10 ms. */
const USER = 11
const SYSTEM = 12
const TICK_US = 10_000

/**
 * The processor time of a span, by thread: that of the main thread, which has the engine and the workers, and that of
 * all others. Without /proc there are no figures.
 */
export class CpuMeter {
  readonly #before = ticksByThread()

  /** Microseconds a job. */
  perJob(jobs: number): Figures {
    const after = ticksByThread()
    if (after.size === 0 || jobs === 0) return {}
    let main = 0
    let others = 0
    for (const [thread, ticks] of after) {
      const spent = (ticks - (this.#before.get(thread) ?? 0)) * TICK_US
      if (thread === String(process.pid)) main += spent
      else others += spent
    }
    return { mainCpu: main / jobs, otherCpu: others / jobs }
  }
}

function ticksByThread(): Map<string, number> {
  const ticks = new Map<string, number>()
  try {
    for (const thread of readdirSync('/proc/self/task')) {
      const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      ticks.set(thread, Number(fields[USER]) + Number(fields[SYSTEM]))
    }
  } catch {
    // Not on Linux, or a thread ended meanwhile.
  }
  return ticks
}
