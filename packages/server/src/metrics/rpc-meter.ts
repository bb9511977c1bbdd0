import { Counter, Histogram, type Registry } from 'prom-client'

/** Counts calls by method and by what became of them. */
export class RpcMeter {
  readonly #calls: Counter<'method' | 'code'>
  readonly #seconds: Histogram<'method'>
  readonly #known = new Map<string, { inc(): void }>()
  readonly #timed = new Map<string, { observe(seconds: number): void }>()

  constructor(registry: Registry) {
    this.#calls = new Counter({
      name: 'fairlead_rpc_requests_total',
      help: 'Calls by method and outcome (ok, or the code of the error).',
      labelNames: ['method', 'code'],
      registers: [registry],
    })
    this.#seconds = new Histogram({
      name: 'fairlead_rpc_duration_seconds',
      help: 'Time from reading a call to its answer. Long polls wait on purpose.',
      labelNames: ['method'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
      registers: [registry],
    })
  }

  /** Names of methods and codes only: what a caller makes up would be a label without bounds. */
  count(method: string, code: string, ms: number): void {
    const key = `${method} ${code}`
    let counter = this.#known.get(key)
    if (counter === undefined) {
      counter = this.#calls.labels(method, code)
      this.#known.set(key, counter)
    }
    counter.inc()
    let timer = this.#timed.get(method)
    if (timer === undefined) {
      timer = this.#seconds.labels(method)
      this.#timed.set(method, timer)
    }
    timer.observe(ms / 1_000)
  }
}
