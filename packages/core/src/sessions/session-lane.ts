import type { IndexedItem } from '../collections/indexed-heap.ts'
import { LazyHeap } from '../collections/lazy-heap.ts'
import { type DispatchJob, readyAt } from './dispatch-job.ts'
import { compareInSession, type SessionJob } from './session-order.ts'

const isBefore = (a: DispatchJob, b: DispatchJob): boolean => compareInSession(a.entry, b.entry) < 0

/**
 * The jobs of one session that wait for a send. Jobs whose time has not come are in the order of their times. The
 * others are in session order, retries included, and the first of them goes next.
 */
export class SessionLane implements IndexedItem {
  readonly eventId: string
  /** Its credit in weighted round robin; forgotten with the last live job (DISPATCH-4). */
  credit = 0
  /** The number of jobs that have joined and not ended. */
  live = 0
  /** Set by `SessionLanes`: if the lane is among the ready ones, or when it will be. */
  isReady = false
  wakeAt = Infinity
  heapIndex = -1
  readonly #due = new LazyHeap<DispatchJob>({ bitPair: 0, keyOf: readyAt, before: isBefore })
  readonly #ready = new LazyHeap<DispatchJob>({
    bitPair: 1,
    keyOf: ({ entry }) => entry.scheduledTime,
    before: isBefore,
  })

  /** Groups that have opened, each with the jobs that wait for their first attempt and are in no heap yet. */
  #opened: OpenedGroup[] = []

  constructor(eventId: string) {
    this.eventId = eventId
  }

  /**
   * Adds a group that has opened, in the order of its ranks. Its jobs enter a heap when their time comes:
   * thousands open at one instant, and few are sent then.
   */
  open(
    entries: readonly SessionJob[],
    jobOf: (entry: SessionJob) => DispatchJob | undefined,
  ): void {
    this.#opened.push({ entries, jobOf, next: 0 })
  }

  /** Adds a job that has a send time, or that waits for its retry. */
  enter(job: DispatchJob): void {
    this.#due.enter(job)
  }

  leave(job: DispatchJob): void {
    this.#due.leave(job)
    this.#ready.leave(job)
  }

  /** Adopts earlier times of jobs that have left. Call it before they enter again. */
  rebuild(): void {
    this.#due.rebuild()
    this.#ready.rebuild()
  }

  /** When the lane has a ready job: in the past if it has one, infinite if no job waits. */
  readyAt(): number {
    return this.#ready.size > 0 ? -Infinity : Math.min(this.#due.topKey(), this.#nextOpened())
  }

  /** The first of the ready jobs in session order (DISPATCH-2). */
  first(nowMs: number): DispatchJob | undefined {
    for (const group of this.#opened) {
      for (let job = head(group); job !== null && readyAt(job) <= nowMs; job = head(group)) {
        this.#due.enter(job)
        group.next++
      }
    }
    while (this.#due.topKey() <= nowMs) this.#ready.enter(this.#due.pop() as DispatchJob)
    return this.#ready.top()
  }

  /** When the next job that is in no heap may be sent. */
  #nextOpened(): number {
    let at = Infinity
    for (const group of this.#opened) {
      const job = head(group)
      if (job !== null) at = Math.min(at, readyAt(job))
    }
    if (at === Infinity) this.#opened = []
    return at
  }
}

interface OpenedGroup {
  readonly entries: readonly SessionJob[]
  /** Undefined for a job that has ended. */
  readonly jobOf: (entry: SessionJob) => DispatchJob | undefined
  next: number
}

/** The first job of a group that has not ended and was not taken. */
function head(group: OpenedGroup): DispatchJob | null {
  for (; group.next < group.entries.length; group.next++) {
    const job = group.jobOf(group.entries[group.next] as SessionJob)
    if (job !== undefined) return job
  }
  return null
}
