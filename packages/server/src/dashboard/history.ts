import type { Engine } from '@fairlead/engine'
import type { ResultOf } from '@fairlead/protocol'
import type { EventMeter } from '../metrics/event-meter.ts'

type Answer = ResultOf<'stats.history'>
type Series = Exclude<keyof Answer, 'at' | 'step_ms'>

const STEP_MS = 5_000
const STEPS_MAX = 180
const COUNTED = ['enqueued', 'assigned', 'completed', 'requeued'] as const

/** The figures of the last quarter of an hour, so that a page that opens has charts at once. */
export class History {
  readonly #engine: Engine
  readonly #meter: EventMeter
  readonly #sample: (nowMs: number) => void
  readonly #timer: NodeJS.Timeout
  readonly #steps: Record<Series, number[]> = {
    enqueued: [],
    assigned: [],
    completed: [],
    failed: [],
    requeued: [],
    waiting: [],
    running: [],
  }
  #before: EventMeter['totals']
  #at = Date.now()

  /** `sample`: called at the end of each step, for figures that need one. */
  constructor(engine: Engine, meter: EventMeter, sample: (nowMs: number) => void) {
    this.#engine = engine
    this.#meter = meter
    this.#sample = sample
    this.#before = { ...meter.totals }
    this.#timer = setInterval(() => this.step(Date.now()), STEP_MS).unref()
  }

  /** Ends a step. */
  step(nowMs: number): void {
    const totals = { ...this.#meter.totals }
    const before = this.#before
    for (const name of COUNTED) this.#push(name, totals[name] - before[name])
    const ended = ({ failed, expired }: EventMeter['totals']): number => failed + expired
    this.#push('failed', ended(totals) - ended(before))
    this.#push('waiting', this.#engine.view.waitingSize)
    this.#push('running', this.#engine.view.running())
    this.#before = totals
    this.#at = nowMs
    this.#sample(nowMs)
  }

  answer(): Answer {
    const copies = Object.entries(this.#steps).map(([name, steps]) => [name, [...steps]])
    const series = Object.fromEntries(copies) as Record<Series, number[]>
    return { at: this.#at, step_ms: STEP_MS, ...series }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #push(name: Series, value: number): void {
    const steps = this.#steps[name]
    steps.push(value)
    if (steps.length > STEPS_MAX) steps.shift()
  }
}
