import type { Requirement } from '@fairlead/core/limits'
import { type CheckedJob, type ModelKeys, type ModelNeeds, modelKeys, modelNeeds } from './job.ts'

/** How long a limit that was not there is believed to be absent (SCHED-8). */
const ABSENT_MS = 1_000

/** A job in its queue, in one object and with nothing that can be made when its turn comes: many may wait. */
export class Entry {
  readonly queue: ModelQueue
  /** As given, or a number that the scheduler makes a name of when someone asks. */
  readonly id: string | number
  /** What `execute` is a method of. */
  readonly given: object
  readonly execute: CheckedJob['execute']
  readonly tenant: string
  readonly isDaily: boolean
  readonly tokens: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  /** New after each denial; the same while the outcome of a reserve is unknown. '' before the first. */
  leaseId = ''
  /** How many lease ids it has had. */
  attempt = 0
  /** Reserved under that id: the same again while the outcome is unknown. */
  asked: readonly Requirement[] = NOTHING_ASKED
  /** Takes back what its caller's signal was asked for, if it has one. */
  stopListening: (() => void) | null = null
  /** Made when the job looks at its signal. */
  controller: AbortController | null = null
  /** Its place among those that run, or -1. */
  runsAt = -1
  /** Whether the limiter may hold something under this id that nobody has heard of. */
  isUnknown = false
  /** Aborted, refused, closed or started: it waits no more. */
  isOver = false

  constructor(
    queue: ModelQueue,
    id: string | number,
    job: CheckedJob,
    resolve: (value: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    this.queue = queue
    this.id = id
    this.given = job.given
    this.execute = job.execute
    this.tenant = job.tenant
    this.isDaily = job.isDaily
    this.tokens = job.tokens
    this.resolve = resolve
    this.reject = reject
  }
}

const NOTHING_ASKED: readonly Requirement[] = []

/** Those that run. They know their places: a set would have to find them. */
export class RunningEntries {
  readonly #entries: Entry[] = []

  get size(): number {
    return this.#entries.length
  }

  add(entry: Entry): void {
    entry.runsAt = this.#entries.length
    this.#entries.push(entry)
  }

  delete(entry: Entry): void {
    const last = this.#entries.pop()
    if (last !== undefined && last !== entry) {
      this.#entries[entry.runsAt] = last
      last.runsAt = entry.runsAt
    }
    entry.runsAt = -1
  }

  [Symbol.iterator](): IterableIterator<Entry> {
    return this.#entries[Symbol.iterator]()
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
  /** How many of its jobs run. */
  running = 0
  readonly #tenants = new Map<string, TenantQueue>()
  readonly #absent = new Set<string>()
  #absentUntil = 0

  constructor(provider: string, model: string) {
    this.provider = provider
    this.model = model
    this.keys = modelKeys(provider, model)
    this.needs = modelNeeds(this.keys)
  }

  /** The keys of this model that had no limit when they were asked for, not long ago. */
  absent(nowMs: number): ReadonlySet<string> {
    if (this.#absent.size > 0 && nowMs >= this.#absentUntil) this.#absent.clear()
    return this.#absent
  }

  /** Takes note that a key has no limit; false if the key is not one of this model's. */
  lacks(key: string, nowMs: number): boolean {
    const { rpm, tpm, concurrency } = this.keys
    if (key !== rpm && key !== tpm && key !== concurrency) return false
    if (this.absent(nowMs).size === 0) this.#absentUntil = nowMs + ABSENT_MS
    this.#absent.add(key)
    return true
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
