import { leaseCap } from '@fairlead/core/internal'
import type { Engine } from '@fairlead/engine'
import type { Stats } from '@fairlead/protocol'
import type { Figures } from '../dashboard/figures.ts'
import type { HeapGuard } from '../heap-guard.ts'
import type { EventMeter } from './event-meter.ts'

const BUSIEST = 50

/** The answer to `stats.get`. */
export class ServerStats {
  readonly #engine: Engine
  readonly #meter: EventMeter
  readonly #version: string
  readonly #heap: HeapGuard
  readonly #startedAt: number
  readonly #figures: Figures
  readonly #connections: () => { websocket: number; polls: number }

  constructor(parts: {
    readonly engine: Engine
    readonly meter: EventMeter
    readonly version: string
    readonly connections: () => { websocket: number; polls: number }
    readonly heap: HeapGuard
    readonly figures: Figures
  }) {
    this.#engine = parts.engine
    this.#meter = parts.meter
    this.#version = parts.version
    this.#connections = parts.connections
    this.#heap = parts.heap
    this.#figures = parts.figures
    this.#startedAt = Date.now()
  }

  /** All but what the store has to be asked for. */
  take(): Omit<Stats, 'storage'> {
    const now = Date.now()
    const { queues, leases, workers, providers } = this.#figures.census(now)
    const { totals, rates, shares } = this.#meter
    const { limit, used, live, liveMax } = this.#heap.figures
    return {
      at: now,
      version: this.#version,
      started_at: this.#startedAt,
      queues: queues.map(({ noProvider, notOpen, oldestAt, ...counts }) => ({
        ...counts,
        no_provider: noProvider,
        not_open: notOpen,
        oldest_wait_ms: oldestAt === null ? null : Math.max(0, now - oldestAt),
      })),
      leases,
      providers: { ...providers },
      busiest: this.#busiest(),
      workers,
      totals: { ...totals },
      per_second: {
        enqueued: rates.enqueued.perSecond(now),
        assigned: rates.assigned.perSecond(now),
        completed: rates.completed.perSecond(now),
      },
      fairness: shares.index(now),
      connections: this.#connections(),
      heap: { limit_bytes: limit, used_bytes: used, live_bytes: live, live_max_bytes: liveMax },
    }
  }

  #busiest(): Stats['busiest'] {
    const { view } = this.#engine
    return [...view.providers()]
      .sort((a, b) => b.liveLeases - a.liveLeases || (a.id < b.id ? -1 : 1))
      .slice(0, BUSIEST)
      .map((provider) => ({
        provider_id: provider.id,
        leases: provider.liveLeases,
        lease_cap: leaseCap(provider, view.policy),
        health: provider.health,
      }))
  }
}
