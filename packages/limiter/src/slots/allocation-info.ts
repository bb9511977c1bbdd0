import { type Clock, MINUTE_MS, type ModelLimits } from '@fairlead/core/limits'
import type { ModelPools } from './model-pools.ts'

/** Amounts of the current windows; null where the model has no such limit. */
export interface ModelCapacity {
  readonly tokensPerMinute: number | null
  readonly requestsPerMinute: number | null
  readonly tokensPerDay: number | null
  readonly requestsPerDay: number | null
}

export interface ModelAllocation extends ModelCapacity {
  /** Jobs of this instance at one time; null where nothing is limited. */
  readonly totalSlots: number | null
}

/** How the models are divided among the instances at the moment (SLOT-21). */
export interface AllocationInfo {
  readonly instanceCount: number
  /** This instance's share of what remains, by model. */
  readonly pools: Readonly<Record<string, ModelAllocation>>
  /** What remains for all instances together, by model. */
  readonly dynamicLimits: Readonly<Record<string, ModelCapacity>>
}

export type AllocationListener = (allocation: AllocationInfo) => unknown

/** Null while this instance knows of no model's allocation. */
export function allocationInfoOf(
  models: readonly string[],
  pools: ModelPools,
  nowMs: number,
): AllocationInfo | null {
  const known = models.flatMap((model) => {
    const told = pools.view(model).told(nowMs)
    return told === null ? [] : [{ model, ...told }]
  })
  if (known.length === 0) return null
  const share = known.map(({ model, pool: { shares, totalSlots } }) => {
    return [model, { totalSlots, ...capacityOf(shares) }] as const
  })
  const remaining = known.map(({ model, remaining }) => [model, capacityOf(remaining)] as const)
  return {
    instanceCount: Math.max(...known.map(({ instances }) => instances)),
    pools: Object.fromEntries(share),
    dynamicLimits: Object.fromEntries(remaining),
  }
}

function capacityOf({ tpm, rpm, tpd, rpd }: Omit<ModelLimits, 'maxConcurrency'>): ModelCapacity {
  return {
    tokensPerMinute: tpm,
    requestsPerMinute: rpm,
    tokensPerDay: tpd,
    requestsPerDay: rpd,
  }
}

interface Subscription {
  readonly listener: AllocationListener
  /** As it was told last. */
  text: string
}

/** Tells listeners the allocation, and each one only what it does not know yet. */
export class AllocationWatch {
  readonly #clock: Clock
  readonly #current: () => AllocationInfo | null
  readonly #call: (listener: AllocationListener, info: AllocationInfo) => void
  readonly #subscriptions = new Set<Subscription>()
  #cancelTimer: (() => void) | null = null
  #isClosed = false

  constructor(options: {
    readonly clock: Clock
    readonly current: () => AllocationInfo | null
    readonly call: (listener: AllocationListener, info: AllocationInfo) => void
  }) {
    this.#clock = options.clock
    this.#current = options.current
    this.#call = options.call
  }

  subscribe(listener: AllocationListener): () => void {
    const subscription: Subscription = { listener, text: '' }
    this.#subscriptions.add(subscription)
    this.changed()
    this.#setTimer()
    return () => {
      this.#subscriptions.delete(subscription)
      if (this.#subscriptions.size === 0) this.#stopTimer()
    }
  }

  /** The allocation may be another one than before. */
  changed(): void {
    if (this.#subscriptions.size === 0) return
    const info = this.#current()
    if (info === null) return
    const text = JSON.stringify(info)
    for (const subscription of [...this.#subscriptions]) {
      // One that a listener before it has ended, or that was told by a call within a call.
      if (!this.#subscriptions.has(subscription) || subscription.text === text) continue
      subscription.text = text
      this.#call(subscription.listener, info)
    }
  }

  close(): void {
    this.#isClosed = true
    this.#subscriptions.clear()
    this.#stopTimer()
  }

  /** A new window is a change that nobody announces. */
  #setTimer(): void {
    if (this.#isClosed || this.#cancelTimer !== null || this.#subscriptions.size === 0) return
    const now = this.#clock.now()
    this.#cancelTimer = this.#clock.wakeAt(now - (now % MINUTE_MS) + MINUTE_MS, () => {
      this.#cancelTimer = null
      this.changed()
      this.#setTimer()
    })
  }

  #stopTimer(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
  }
}
