import type { IndexedItem } from '../collections/indexed-heap.ts'
import { LazyHeap } from '../collections/lazy-heap.ts'
import { type DispatchJob, readyAt } from './dispatch-job.ts'
import { compareInSession, type SessionJob } from './session-order.ts'

const isBefore = (a: DispatchJob, b: DispatchJob): boolean => compareInSession(a.entry, b.entry) < 0

/**
 * The jobs of one session that wait for a send. Those whose time has not come lie in the order of their
 * times; the others in the order of the session, where the first one goes next, retries included.
 */
export class SessionLane implements IndexedItem {
  readonly eventId: string
  /** Its figure in weighted round robin; forgotten with the last live job (DISPATCH-4). */
  credit = 0
  /** Jobs that have joined and not ended. */
  live = 0
  /** Kept by the dispatch key: whether it is among the ready ones, or when it will be. */
  isReady = false
  wakeAt = Infinity
  heapIndex = -1
  readonly #due = new LazyHeap<DispatchJob>({ bitPair: 0, keyOf: readyAt, before: isBefore })
  readonly #ready = new LazyHeap<DispatchJob>({
    bitPair: 1,
    keyOf: ({ entry }) => entry.scheduledTime,
    before: isBefore,
  })

  /** Groups that have opened, each with those who wait for their first attempt and lie in no heap yet. */
  #opened: OpenedGroup[] = []

  constructor(eventId: string) {
    this.eventId = eventId
  }

  /**
   * Takes a group that has opened, in the order of its ranks. They come in when their times do: thousands
   * open at one instant, and few of them are sent then.
   */
  open(
    entries: readonly SessionJob[],
    jobOf: (entry: SessionJob) => DispatchJob | undefined,
  ): void {
    this.#opened.push({ entries, jobOf, next: 0 })
  }

  /** A job that has a send time, or one that waits for its retry. */
  enter(job: DispatchJob): void {
    this.#due.enter(job)
  }

  leave(job: DispatchJob): void {
    this.#due.leave(job)
    this.#ready.leave(job)
  }

  /** From when on it has a ready job: in the past if it has one, infinite if none waits. */
  readyAt(): number {
    return this.#ready.size > 0 ? -Infinity : Math.min(this.#due.topKey(), this.#nextOpened())
  }

  /** Of the jobs that are ready the first in session order (DISPATCH-2). */
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

  /** When the next of those who lie in no heap may be sent. */
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
  /** Undefined for one that has ended. */
  readonly jobOf: (entry: SessionJob) => DispatchJob | undefined
  next: number
}

/** The first of a group that has not ended and was not taken. */
function head(group: OpenedGroup): DispatchJob | null {
  for (; group.next < group.entries.length; group.next++) {
    const job = group.jobOf(group.entries[group.next] as SessionJob)
    if (job !== undefined) return job
  }
  return null
}
