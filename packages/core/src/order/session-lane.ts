import { type DispatchJob, readyAt } from './dispatch-job.ts'
import type { IndexedItem } from './indexed-heap.ts'
import { LazyHeap } from './lazy-heap.ts'
import { compareInSession } from './session-order.ts'

const isBefore = (a: DispatchJob, b: DispatchJob): boolean => compareInSession(a.place, b.place) < 0

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
  readonly #due = new LazyHeap<DispatchJob>({ place: 0, keyOf: readyAt, before: isBefore })
  readonly #ready = new LazyHeap<DispatchJob>({
    place: 1,
    keyOf: ({ place }) => place.scheduledTime,
    before: isBefore,
  })

  constructor(eventId: string) {
    this.eventId = eventId
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
    return this.#ready.size > 0 ? -Infinity : this.#due.topKey()
  }

  /** Of the jobs that are ready the first in session order (DISPATCH-2). */
  first(nowMs: number): DispatchJob | undefined {
    while (this.#due.topKey() <= nowMs) this.#ready.enter(this.#due.pop() as DispatchJob)
    return this.#ready.top()
  }
}
