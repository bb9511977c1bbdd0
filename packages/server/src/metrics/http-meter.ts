import { Counter, type Registry } from 'prom-client'

/** Counts requests by route and status. */
export class HttpMeter {
  readonly #requests: Counter<'route' | 'code'>
  readonly #known = new Map<string, { inc(): void }>()

  constructor(registry: Registry) {
    this.#requests = new Counter({
      name: 'fairlead_http_requests_total',
      help: 'Requests by route and HTTP status; what is no route is "other".',
      labelNames: ['route', 'code'],
      registers: [registry],
    })
  }

  count(route: string, status: number): void {
    const key = `${route} ${status}`
    let counter = this.#known.get(key)
    if (counter === undefined) {
      counter = this.#requests.labels(route, String(status))
      this.#known.set(key, counter)
    }
    counter.inc()
  }
}
