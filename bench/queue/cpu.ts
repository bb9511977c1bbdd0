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
  readonly #pid: number
  readonly #before: ReadonlyMap<string, number>

  /** Of this process, or of another one. */
  constructor(pid: number = process.pid) {
    this.#pid = pid
    this.#before = ticksByThread(pid)
  }

  /** Microseconds a job. */
  perJob(jobs: number): Figures {
    const after = ticksByThread(this.#pid)
    if (after.size === 0 || jobs === 0) return {}
    let main = 0
    let others = 0
    for (const [thread, ticks] of after) {
      const spent = (ticks - (this.#before.get(thread) ?? 0)) * TICK_US
      if (thread === String(this.#pid)) main += spent
      else others += spent
    }
    return { mainCpu: main / jobs, otherCpu: others / jobs }
  }
}

function ticksByThread(pid: number): Map<string, number> {
  const ticks = new Map<string, number>()
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      ticks.set(thread, Number(fields[USER]) + Number(fields[SYSTEM]))
    }
  } catch {
    // Not on Linux, or a thread ended meanwhile.
  }
  return ticks
}
