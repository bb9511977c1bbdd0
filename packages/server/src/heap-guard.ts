import { constants, PerformanceObserver } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { FairleadError } from '@fairlead/core'

/** The heap is looked at so often at the most. */
const SAMPLE_MS = 100
/** Of a job in memory, rounded up; the next major collection tells the truth. */
const JOB_BYTES = 1_024
/** Of a server without jobs, rounded up. */
const BASE_BYTES = 24 * 1_024 * 1_024
/** So many times what may be alive is too much, whatever it is. */
const TRANSIENT_MAX = 2
/** Beyond this part of the heap there may be no time left for a collection. */
const USED_MAX = 0.85
const RETRY_AFTER_MS = 5_000

/** The heap of the process, in bytes. */
export interface HeapFigures {
  readonly limit: number
  readonly used: number
  /** What is alive, as far as that is known. */
  readonly live: number
  /** Enqueues are refused while more than this is alive. */
  readonly liveMax: number
}

interface HeapParts {
  /** Of the whole heap: what may be alive in it before enqueues are refused. */
  readonly sharePercent: number
  /** Jobs that are in memory. */
  readonly jobs: () => number
  readonly read?: () => { readonly limit: number; readonly used: number }
  readonly nowMs?: () => number
}

/**
 * Refuses enqueues before the heap is full, so that the server neither dies of jobs nor has more of them than it could
 * load again at its next start (HEAP-1): while it loads, there are the rows beside the jobs. What is used has garbage in
 * it, so that what is alive is measured after each major collection; jobs that came since are estimated.
 */
export class HeapGuard {
  readonly #share: number
  readonly #jobs: () => number
  readonly #read: NonNullable<HeapParts['read']>
  readonly #nowMs: () => number
  readonly #observer: PerformanceObserver
  #collected = { live: 0, jobs: 0 }
  #sample: { readonly limit: number; readonly used: number }
  #sampledAt: number

  constructor({ sharePercent, jobs, read = readHeap, nowMs = () => performance.now() }: HeapParts) {
    this.#share = sharePercent / 100
    this.#jobs = jobs
    this.#read = read
    this.#nowMs = nowMs
    this.#sample = read()
    this.#sampledAt = nowMs()
    this.#observer = new PerformanceObserver((list) => {
      if (list.getEntries().some(isMajor)) this.noteCollection()
    })
    this.#observer.observe({ entryTypes: ['gc'] })
  }

  /** After a major collection: what is used now is alive. */
  noteCollection(): void {
    this.#sample = this.#read()
    this.#sampledAt = this.#nowMs()
    this.#collected = { live: this.#sample.used, jobs: this.#jobs() }
  }

  get figures(): HeapFigures {
    const now = this.#nowMs()
    if (now - this.#sampledAt >= SAMPLE_MS) {
      this.#sample = this.#read()
      this.#sampledAt = now
    }
    const { limit, used } = this.#sample
    const { live, jobs } = this.#collected
    const jobsNow = this.#jobs()
    const measured = live + Math.max(0, jobsNow - jobs) * JOB_BYTES
    const liveMax = Math.floor(limit * this.#share)
    // Long answers are alive too, and soon gone: they must not keep jobs of others out.
    const lasting = Math.min(measured, BASE_BYTES + jobsNow * JOB_BYTES)
    return { limit, used, live: measured > TRANSIENT_MAX * liveMax ? measured : lasting, liveMax }
  }

  /** Before a job is accepted. */
  refuseWhenFull(): void {
    const { limit, used, live, liveMax } = this.figures
    if (live <= liveMax && used <= limit * USED_MAX) return
    throw new FairleadError(
      'QueueOverCapacity',
      'the memory of the server is as full of jobs as it may be; try again later, or give the server a larger heap',
      { retry_after_ms: RETRY_AFTER_MS, reason: 'memory' },
    )
  }

  close(): void {
    this.#observer.disconnect()
  }
}

function readHeap(): { readonly limit: number; readonly used: number } {
  const { heap_size_limit: limit, used_heap_size: used } = getHeapStatistics()
  return { limit, used }
}

/** Node gives its `detail`; the types do not know it everywhere. */
function isMajor(entry: object): boolean {
  const { detail } = entry as { readonly detail?: unknown }
  const { kind } = (detail ?? {}) as { readonly kind?: number }
  return kind === constants.NODE_PERFORMANCE_GC_MAJOR
}
