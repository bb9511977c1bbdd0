import {
  type Clock,
  type JobEstimate,
  type ModelLimits,
  SharedUsage,
  type Usage,
} from '@fairlead/core/limits'
import type { ModelPools, PoolsOptions } from '../model-pools.ts'
import { type Part, type PoolView, wholeAllocation } from '../pool-view.ts'

interface Pool {
  readonly limits: ModelLimits
  readonly usage: SharedUsage
  readonly view: PoolView
  version: number
}

/** Pools of this process alone: it knows at once what remains, and all of that is its own. */
export class MemoryPools implements ModelPools {
  readonly clock: Clock
  readonly #pools: ReadonlyMap<string, Pool>
  #refs = 0

  constructor({ limits, view, clock }: PoolsOptions) {
    this.clock = clock
    this.#pools = new Map(
      Array.from(limits, ([model, given]) => {
        const pool = { limits: given, usage: new SharedUsage(given), view: view(model), version: 0 }
        this.#tell(pool)
        return [model, pool]
      }),
    )
  }

  view(model: string): PoolView {
    return this.#pool(model).view
  }

  own(model: string): { readonly used: Usage; readonly inFlight: number } {
    const { usage } = this.#pool(model)
    return { used: usage.used(this.clock.now()), inFlight: usage.inFlight }
  }

  async join(): Promise<void> {}

  async acquire(model: string, estimate: JobEstimate, count: number): Promise<readonly string[]> {
    const pool = this.#pool(model)
    const refs: string[] = []
    while (refs.length < count) {
      const ref = `${this.#refs++}`
      if (!pool.usage.acquire(ref, estimate, this.clock.now()).allowed) break
      refs.push(ref)
      const start = pool.usage.start(ref)
      if (start !== undefined) pool.view.started(start, pool.version)
    }
    this.#tell(pool)
    return refs
  }

  release(model: string, ref: string, actual: JobEstimate | null): JobEstimate {
    const pool = this.#pool(model)
    const { overage } = pool.usage.release(ref, actual, this.clock.now())
    this.#tell(pool)
    return overage
  }

  async close(): Promise<void> {}

  #tell(pool: Pool): void {
    const now = this.clock.now()
    const used = pool.usage.used(now)
    const whole = wholeAllocation(pool.limits, { birth: '', version: pool.version++, instances: 1 })
    const left = (part: Part | null, taken: number): Part | null =>
      part === null ? null : { ...part, share: Math.max(0, part.limit - taken) }
    const { tpm, rpm, tpd, rpd, concurrency } = whole.parts
    pool.view.learn({
      ...whole,
      ...pool.usage.windows(now),
      parts: {
        tpm: left(tpm, used.tpm),
        rpm: left(rpm, used.rpm),
        tpd: left(tpd, used.tpd),
        rpd: left(rpd, used.rpd),
        concurrency,
      },
    })
  }

  #pool(model: string): Pool {
    return this.#pools.get(model) as Pool
  }
}
