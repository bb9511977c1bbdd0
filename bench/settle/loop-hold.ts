import { readFileSync } from 'node:fs'

/** The longest time between two turns of the loop. */
export interface Held {
  readonly wallMs: number
  /** Processor time of this thread alone; the wall time where the system does not tell. */
  readonly cpuMs: number
}

/**
 * Watches for how long this thread's loop is held. On a busy machine the scheduler takes a thread off its processor for
 * longer than any of its own work takes, so the time on the processor is told too.
 */
export class LoopHold {
  #wallMs = performance.now()
  #cpuMs = threadCpuMs()
  #longest: Held = { wallMs: 0, cpuMs: 0 }
  readonly #timer = setInterval(() => this.#tick(), 1)

  stop(): Held {
    this.#tick()
    clearInterval(this.#timer)
    return this.#longest
  }

  #tick(): void {
    const [wallMs, cpuMs] = [performance.now(), threadCpuMs()]
    const wall = wallMs - this.#wallMs
    const cpu = cpuMs === null || this.#cpuMs === null ? wall : cpuMs - this.#cpuMs
    this.#longest = {
      wallMs: Math.max(this.#longest.wallMs, wall),
      cpuMs: Math.max(this.#longest.cpuMs, cpu),
    }
    this.#wallMs = wallMs
    this.#cpuMs = cpuMs
  }
}

/** Linux counts it in nanoseconds; null elsewhere. */
function threadCpuMs(): number | null {
  try {
    const [spent] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')
    return Number(spent) / 1e6
  } catch {
    return null
  }
}
