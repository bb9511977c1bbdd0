import type { Progress } from './simulate.ts'

const WIDTH = 30
/** On a terminal the line is drawn over and over; elsewhere a line now and then will do. */
const DRAW_EVERY_MS = 100
const LINE_EVERY_MS = 5_000

/** Shows how far a simulation is: a bar on a terminal, else a line every few seconds. */
export class ProgressBar {
  readonly #out: NodeJS.WriteStream
  readonly #startedAt = performance.now()
  #shownAt = Number.NEGATIVE_INFINITY

  constructor(out: NodeJS.WriteStream) {
    this.#out = out
    if (!out.isTTY) this.#shownAt = this.#startedAt
  }

  show(progress: Progress): void {
    const now = performance.now()
    if (now - this.#shownAt < (this.#out.isTTY ? DRAW_EVERY_MS : LINE_EVERY_MS)) return
    this.#shownAt = now
    const text = this.#textOf(progress, now)
    this.#out.write(this.#out.isTTY ? `\r\u001b[2K${text}` : `${text}\n`)
  }

  /** Leaves the terminal as it was. */
  clear(): void {
    if (this.#out.isTTY) this.#out.write('\r\u001b[2K')
  }

  #textOf({ steps, stepsMax, seed, scenario }: Progress, now: number): string {
    const share = Math.min(1, steps / stepsMax)
    const full = Math.round(share * WIDTH)
    const bar = `[${'='.repeat(full)}${' '.repeat(WIDTH - full)}]`
    const rate = Math.round((1_000 * steps) / Math.max(1, now - this.#startedAt))
    const parts = [
      `${Math.floor(100 * share)} %`,
      `${grouped(steps)} of ${grouped(stepsMax)} steps`,
      `${grouped(rate)}/s`,
      `seed ${seed} (${scenario})`,
    ]
    return `${this.#out.isTTY ? `${bar} ` : ''}${parts.join('  ')}`
  }
}

export function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, ',')
}
