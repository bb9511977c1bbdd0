import type { Clock, JobEstimate, Usage } from '@fairlead/core/limits'
import { instancesOf } from '../../limits/redis/backend-loss.ts'
import type { RedisOptions } from '../../limits/redis/redis-backend.ts'
import {
  connectRedis,
  type RedisAddress,
  type RedisConnection,
  type Subscriber,
} from '../../limits/redis/redis-port.ts'
import { newId } from '../../new-id.ts'
import type { ModelPools, PoolsOptions } from '../model-pools.ts'
import type { PoolView } from '../pool-view.ts'
import { PoolKeys, readAllocation } from './pool-scripts.ts'
import { RedisModelPool } from './redis-model-pool.ts'
import { ServerClock } from './server-clock.ts'

/** Dropped by the others after three of these without a sign of life (SLOT-13). */
const HEARTBEAT_MS = 5_000

/** Models that all instances with one Redis and one name share. */
export class RedisPools implements ModelPools {
  readonly clock: ServerClock
  readonly #timers: Clock
  readonly #connection: Promise<RedisConnection>
  readonly #pools = new Map<string, RedisModelPool>()
  #subscriber: Subscriber | null = null
  #isClosed = false
  #cancelBeat: (() => void) | null = null

  constructor(address: RedisAddress, pools: PoolsOptions, options: RedisOptions) {
    const { name = 'default', coldStartGuard = true, clock: given } = options
    const instances = instancesOf(options)
    this.clock = new ServerClock(pools.clock, given !== undefined)
    this.#timers = pools.clock
    this.#connection = connectRedis(address)
    // Whoever calls is told.
    this.#connection.catch(() => undefined)
    const shared = {
      connection: this.#connection,
      instance: newId(),
      clock: this.clock,
      now: () => given?.now() ?? ('' as const),
      newRef: counter(),
      hasGuard: coldStartGuard,
      instances,
    }
    for (const [model, limits] of pools.limits) {
      const pool = new RedisModelPool({
        ...shared,
        limits,
        keys: new PoolKeys(name, model),
        view: pools.view(model),
        onChange: () => pools.onChange(model),
      })
      this.#pools.set(model, pool)
    }
    void this.#subscribe()
    this.#beat()
  }

  view(model: string): PoolView {
    return this.#pool(model).view
  }

  own(model: string): { readonly used: Usage; readonly inFlight: number } {
    return this.#pool(model).own()
  }

  join(model: string): Promise<void> {
    return this.#pool(model).join()
  }

  acquire(model: string, estimate: JobEstimate, count: number): Promise<readonly string[]> {
    return this.#pool(model).acquire(estimate, count)
  }

  release(model: string, ref: string, actual: JobEstimate | null): JobEstimate {
    return this.#pool(model).release(ref, actual)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelBeat?.()
    await Promise.all([...this.#pools.values()].map((pool) => pool.leave()))
    this.#subscriber?.disconnect()
    const connection = await this.#connection.catch(() => null)
    connection?.disconnect()
  }

  async #subscribe(): Promise<void> {
    const connection = await this.#connection.catch(() => null)
    if (this.#isClosed || connection === null) return
    const byChannel = new Map([...this.#pools.values()].map((pool) => [pool.channel, pool]))
    this.#subscriber = connection.subscriber()
    this.#subscriber?.on('message', (channel, text) => {
      byChannel.get(channel)?.hear(readAllocation(text))
    })
    await this.#subscriber?.subscribe(...byChannel.keys()).catch(() => undefined)
    // What was told before is learned from the answer to the next call.
    if (!this.#isClosed) for (const pool of this.#pools.values()) void pool.beat()
  }

  #beat(): void {
    for (const pool of this.#pools.values()) void pool.beat()
    this.#cancelBeat = this.#timers.wakeAt(this.#timers.now() + HEARTBEAT_MS, () => this.#beat())
  }

  #pool(model: string): RedisModelPool {
    return this.#pools.get(model) as RedisModelPool
  }
}

function counter(): () => string {
  let last = 0
  return () => `${++last}`
}
