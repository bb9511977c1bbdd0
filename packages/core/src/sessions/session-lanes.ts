import { IndexedHeap } from '../collections/indexed-heap.ts'
import { compareText } from '../encoding/text.ts'
import { invariant } from '../errors.ts'
import type { DispatchJob } from './dispatch-job.ts'
import { SessionLane } from './session-lane.ts'
import { indexAfter } from './session-turns.ts'

/**
 * The sessions of one dispatch key that have a live job. Sessions with a ready job are in key order, the others in
 * the order of the times at which they will have one. So a send looks neither at all sessions nor at all jobs.
 */
export class SessionLanes {
  readonly #byEvent = new Map<string, SessionLane>()
  readonly #ready: SessionLane[] = []
  readonly #waiting = new IndexedHeap<SessionLane>(
    (a, b) => a.wakeAt < b.wakeAt || (a.wakeAt === b.wakeAt && a.eventId < b.eventId),
  )

  get size(): number {
    return this.#byEvent.size
  }

  /** Counts a job that has joined its session. */
  addLive(eventId: string): void {
    let lane = this.#byEvent.get(eventId)
    if (lane === undefined) {
      lane = new SessionLane(eventId)
      this.#byEvent.set(eventId, lane)
    }
    lane.live++
  }

  /** Counts a job that has ended. A session is forgotten with its last job. */
  dropLive(eventId: string): void {
    const lane = this.lane(eventId)
    lane.live--
    if (lane.live > 0) return
    this.#byEvent.delete(eventId)
    this.#setReady(lane, false)
    this.#waiting.remove(lane)
  }

  lane(eventId: string): SessionLane {
    const lane = this.#byEvent.get(eventId)
    invariant(lane !== undefined, 'a session with a live job has a lane')
    return lane
  }

  /** The credits of weighted round robin that are not 0, in key order. */
  credits(): (readonly [eventId: string, credit: number])[] {
    const credits: [string, number][] = []
    for (const { eventId, credit } of this.#byEvent.values()) {
      if (credit !== 0) credits.push([eventId, credit])
    }
    return credits.sort(([a], [b]) => compareText(a, b))
  }

  /** Adds a waiting job of a session. */
  enter(job: DispatchJob): void {
    const lane = this.lane(job.entry.eventId)
    lane.enter(job)
    this.#reposition(lane)
  }

  /** Adds a group of a session that has opened; see `SessionLane.open`. */
  open(eventId: string, ...group: Parameters<SessionLane['open']>): void {
    const lane = this.lane(eventId)
    lane.open(...group)
    this.#reposition(lane)
  }

  leave(job: DispatchJob): void {
    const lane = this.lane(job.entry.eventId)
    lane.leave(job)
    this.#reposition(lane)
  }

  /** The sessions that have a ready job now, in key order. Later calls change the returned list. */
  ready(nowMs: number): readonly SessionLane[] {
    for (let lane = this.#waiting.top(); lane !== undefined; lane = this.#waiting.top()) {
      if (lane.wakeAt > nowMs) break
      lane.first(nowMs)
      this.#reposition(lane)
    }
    return this.#ready
  }

  /** When a session has a ready job: in the past if one has, infinite if no job waits. */
  nextReadyAt(): number {
    return this.#ready.length > 0 ? -Infinity : (this.#waiting.top()?.wakeAt ?? Infinity)
  }

  /** In no particular order. */
  all(): IterableIterator<SessionLane> {
    return this.#byEvent.values()
  }

  #reposition(lane: SessionLane): void {
    const at = lane.readyAt()
    this.#setReady(lane, at === -Infinity)
    const wakeAt = lane.isReady ? Infinity : at
    if (wakeAt === lane.wakeAt) return
    this.#waiting.remove(lane)
    lane.wakeAt = wakeAt
    if (wakeAt < Infinity) this.#waiting.add(lane)
  }

  #setReady(lane: SessionLane, isReady: boolean): void {
    if (lane.isReady === isReady) return
    lane.isReady = isReady
    const behind = indexAfter(this.#ready, lane.eventId)
    if (isReady) this.#ready.splice(behind, 0, lane)
    else this.#ready.splice(behind - 1, 1)
  }
}
