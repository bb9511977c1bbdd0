import type { Requirement } from '@fairlead/core'
import { type CheckedJob, type ModelKeys, type ModelNeeds, modelKeys, modelNeeds } from './job.ts'

/** A job in its queue. What it takes to ask and to run is made when its turn comes: many may wait. */
export class Entry {
  readonly job: CheckedJob
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  requirements: readonly Requirement[] | null = null
  /** New after each denial; the same while the outcome of a reserve is unknown. '' before the first. */
  leaseId = ''
  /** Takes back what its caller's signal was asked for, if it has one. */
  stopListening: (() => void) | null = null
  /** Made when the job looks at its signal. */
  controller: AbortController | null = null
  /** Whether the limiter may hold something under this id that nobody has heard of. */
  isUnknown = false
  /** Aborted, refused, closed or started: it waits no more. */
  isOver = false

  constructor(
    job: CheckedJob,
    resolve: (value: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    this.job = job
    this.resolve = resolve
    this.reject = reject
  }
}

/** The jobs of one tenant, first in, first out. */
export class TenantQueue {
  notBefore = 0
  #entries: Entry[] = []
  #head = 0

  get size(): number {
    return this.#entries.length - this.#head
  }

  add(entry: Entry): void {
    this.#entries.push(entry)
  }

  /** The first that still waits. */
  peek(): Entry | undefined {
    while (this.#entries[this.#head]?.isOver) this.shift()
    return this.#entries[this.#head]
  }

  shift(): void {
    this.#head++
    if (this.#head > 64 && 2 * this.#head > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head)
      this.#head = 0
    }
  }

  *waiting(): IterableIterator<Entry> {
    for (let i = this.#head; i < this.#entries.length; i++) {
      const entry = this.#entries[i] as Entry
      if (!entry.isOver) yield entry
    }
  }
}

/** The jobs for one model of one provider: a queue for each tenant, served in turn (SCHED-1). */
export class ModelQueue {
  readonly provider: string
  readonly model: string
  /** Made once: a map finds a text that it has seen before much faster. */
  readonly keys: ModelKeys
  /** What every job of the model needs, whatever it is. */
  readonly needs: ModelNeeds
  notBefore = 0
  /** The wait is for a job to end, so the next one that ends lifts it. */
  waitsForEnd = false
  /** One reserve at a time: a saturated model is asked once, not once for each job. */
  isAsking = false
  readonly #tenants = new Map<string, TenantQueue>()

  constructor(provider: string, model: string) {
    this.provider = provider
    this.model = model
    this.keys = modelKeys(provider, model)
    this.needs = modelNeeds(this.keys)
  }

  tenant(name: string): TenantQueue {
    let queue = this.#tenants.get(name)
    if (queue === undefined) {
      queue = new TenantQueue()
      this.#tenants.set(name, queue)
    }
    return queue
  }

  /** The tenant whose turn it is; it goes to the end of the line. Those without jobs are forgotten. */
  next(nowMs: number): { tenant: TenantQueue; entry: Entry } | null {
    for (const [name, tenant] of this.#tenants) {
      const entry = tenant.peek()
      if (entry === undefined) this.#tenants.delete(name)
      else if (tenant.notBefore <= nowMs) {
        this.#tenants.delete(name)
        this.#tenants.set(name, tenant)
        return { tenant, entry }
      }
    }
    return null
  }

  /** When something of it may go next; infinity while nothing waits. */
  readyAt(): number {
    let earliest = Number.POSITIVE_INFINITY
    for (const tenant of this.#tenants.values()) {
      if (tenant.peek() !== undefined) earliest = Math.min(earliest, tenant.notBefore)
      if (earliest <= this.notBefore) break
    }
    return Math.max(earliest, this.notBefore)
  }

  *waiting(): IterableIterator<Entry> {
    for (const tenant of this.#tenants.values()) yield* tenant.waiting()
  }
}
