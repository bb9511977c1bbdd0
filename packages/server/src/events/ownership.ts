import type { Caller, JobId, LeaseId, ProviderId } from '@fairlead/core'
import { callerOf } from '@fairlead/core'
import type { EngineEvent, EngineView, LiveProgress } from '@fairlead/engine'
import type { Identity } from '../auth/identity.ts'

/** Whether an event is for somebody; a promise where the store has to be asked. */
export type EventFilter = (event: EngineEvent) => boolean | Promise<boolean>

interface LeaseOwners {
  readonly jobId: JobId
  readonly providerId: ProviderId
}

/** Events that name their owner. */
const OF_CALLERS: ReadonlySet<string> = new Set([
  'schedulePut',
  'scheduleDeleted',
  'scheduleSkipped',
  'bulkStarted',
  'bulkProgress',
  'bulkEnded',
])

/** What is remembered of whose is what. */
const KEPT = 50_000

/**
 * Who may hear of an event: a requester of its own jobs, a provider of its own leases and of itself, all
 * others of everything (AUTH-4). Events name a job or a lease, not whose it is; that is looked up in
 * memory, and in the store once it has ended.
 */
export class Ownership {
  readonly #view: EngineView
  readonly #callers = new Map<JobId, Caller | null>()
  readonly #leases = new Map<LeaseId, LeaseOwners | null>()

  constructor(view: EngineView) {
    this.#view = view
  }

  /** Null: everything. */
  filterFor({ role, subject }: Identity): EventFilter | null {
    if (role === 'requester') {
      const own = callerOf(subject)
      return (event) => this.#isOfCaller(event, own)
    }
    if (role === 'provider') return (event) => this.#isOfProvider(event, subject as ProviderId)
    return null
  }

  /** Whether live progress is for somebody. */
  progressFor({ role, subject }: Identity): (progress: LiveProgress) => boolean {
    if (role === 'requester') {
      const own = callerOf(subject)
      return ({ caller }) => caller === own
    }
    if (role === 'provider') return ({ providerId }) => providerId === subject
    return () => true
  }

  #isOfCaller(event: EngineEvent, own: Caller): boolean | Promise<boolean> {
    if ('jobId' in event) return then(this.#callerOf(event.jobId), (caller) => caller === own)
    if (OF_CALLERS.has(event.type) && 'caller' in event) return event.caller === own
    if (!('leaseId' in event)) return false
    const owners = this.#ownersOf(event.leaseId)
    return then(
      owners,
      async (found) => found !== null && (await this.#callerOf(found.jobId)) === own,
    )
  }

  #isOfProvider(event: EngineEvent, own: ProviderId): boolean | Promise<boolean> {
    if ('providerId' in event) return event.providerId === own
    if (!('leaseId' in event)) return false
    return then(this.#ownersOf(event.leaseId), (found) => found?.providerId === own)
  }

  #callerOf(id: JobId): Caller | null | Promise<Caller | null> {
    const known = this.#callers.get(id) ?? this.#view.job(id)?.caller
    if (known !== undefined) return keep(this.#callers, id, known)
    return this.#view.read.job(id).then((row) => keep(this.#callers, id, row?.caller ?? null))
  }

  #ownersOf(id: LeaseId): LeaseOwners | null | Promise<LeaseOwners | null> {
    const known = this.#leases.get(id) ?? this.#view.lease(id)
    if (known !== null && known !== undefined) return keep(this.#leases, id, known)
    return this.#view.read
      .lease(id)
      .then((row) =>
        keep(this.#leases, id, row && { jobId: row.jobId, providerId: row.providerId }),
      )
  }
}

function keep<Key, Value>(kept: Map<Key, Value>, key: Key, value: Value): Value {
  if (kept.size >= KEPT) kept.clear()
  kept.set(key, value)
  return value
}

/** Without a turn of the event loop where none is needed: there are many events. */
function then<Value>(
  given: Value | Promise<Value>,
  step: (value: Value) => boolean | Promise<boolean>,
): boolean | Promise<boolean> {
  return given instanceof Promise ? given.then(step) : step(given)
}
