import {
  type Caller,
  type CborMap,
  decodeCbor,
  FairleadError,
  type JobId,
  type JobRow,
  type JobStatus,
  type SessionKey,
} from '@fairlead/core'
import { invalidParams } from '@fairlead/core/internal'
import type { Engine, EngineEvent, RegistrationFacts } from '@fairlead/engine'
import { freeReference, readReference } from '@fairlead/signup/records'

/** One registration, alive or ended. */
export interface Registration extends SessionKey {
  readonly jobId: JobId
  /** Number of acceptance: they are listed in this order. */
  readonly seq: number
  readonly caller: Caller
  readonly reference: string
  /** When its session opens; it moves with that. */
  scheduledTime: number
  readonly queuedAt: number
  status: JobStatus
}

type Facts = Omit<Registration, 'reference' | 'status'>

/** Those that are remembered; older ones are found by their task id only. */
const KEPT_MAX = 200_000
const PAGE = 1_000
const TASK_ID = /^0x[0-9a-f]{64}$/

const STATUS_AFTER: Readonly<Record<string, JobStatus>> = {
  jobAssigned: 'ASSIGNED',
  jobStarted: 'RUNNING',
  jobRequeued: 'QUEUED',
  jobCompleted: 'COMPLETED',
  jobFailed: 'FAILED',
  jobExpired: 'EXPIRED',
  jobCanceled: 'CANCELED',
}

/** By what it is called in its one form. */
export function unknownRegistration(written: string): FairleadError {
  const id = TASK_ID.test(written) ? written : (readReference(written) ?? written)
  return new FairleadError('NotFound', `there is no registration ${id}`, { id })
}

/**
 * Which registrations there are, by reference and by session: the store knows jobs by their ids. Nothing
 * in it decides, and all of it comes from the store: it is read at the first question, and follows the
 * events from then on. References are given in the order of acceptance, so that they come out alike
 * after a restart (RECEIPT-2).
 */
export class Registrations {
  readonly #engine: Engine
  readonly #byId = new Map<JobId, Registration>()
  readonly #byReference = new Map<string, Registration>()
  /** In order of acceptance. */
  #all: Registration[] = []
  #loading: Promise<void> | null = null
  /** Events that came while the store was read; null when they are followed as they come. */
  #waiting: EngineEvent[] | null = []

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** An event of the engine, after it was committed. */
  see(event: EngineEvent): void {
    if (this.#loading === null || !('jobId' in event)) return
    if (this.#waiting !== null) this.#waiting.push(event)
    else this.#follow(event)
  }

  /** The registration that somebody names by a reference or a task id. */
  async find(id: string): Promise<Registration> {
    await this.#ready()
    if (TASK_ID.test(id)) {
      const known = this.#byId.get(id as JobId) ?? (await this.#fromStore(id as JobId))
      if (known !== null) return known
      throw unknownRegistration(id)
    }
    const reference = readReference(id)
    if (reference === null) {
      throw invalidParams('id', 'a reference such as SCH-7F3K2Q, or a task_id')
    }
    const known = this.#byReference.get(reference)
    if (known !== undefined) return known
    throw unknownRegistration(id)
  }

  /** In order of acceptance, those that `isWanted` behind a number. */
  async list(
    isWanted: (registration: Registration) => boolean,
    page: { readonly after: number; readonly limit: number },
  ): Promise<readonly Registration[]> {
    await this.#ready()
    const found: Registration[] = []
    for (const registration of this.#all) {
      if (registration.seq <= page.after || !isWanted(registration)) continue
      found.push(registration)
      if (found.length === page.limit) break
    }
    return found
  }

  /** How a registration that was just accepted is known. */
  async accepted(jobId: JobId): Promise<Registration> {
    await this.#ready()
    const known = this.#byId.get(jobId)
    if (known !== undefined) return known
    const facts = this.#engine.view.registration(jobId)
    const added = facts === null ? await this.#fromStore(jobId) : this.#add(facts, 'QUEUED')
    if (added !== null) return added
    throw new FairleadError('NotFound', `there is no registration ${jobId}`, { id: jobId })
  }

  #ready(): Promise<void> {
    this.#loading ??= this.#load().catch((error: unknown) => {
      // The next question tries again.
      this.#loading = null
      this.#waiting = []
      throw error
    })
    return this.#loading
  }

  async #load(): Promise<void> {
    const { read } = this.#engine.view
    for (let after = 0, isMore = true; isMore; ) {
      const rows = await read.jobs({ kind: 'registration', afterSeq: after, limit: PAGE })
      const payloads = await read.payloads(rows.map(({ seq }) => seq))
      for (const [i, row] of rows.entries()) this.#addRow(row, payloads[i] ?? null)
      after = rows.at(-1)?.seq ?? after
      isMore = rows.length === PAGE
    }
    // What happened meanwhile is told twice at most, and the second time changes nothing.
    for (const event of this.#waiting ?? []) this.#follow(event)
    this.#waiting = null
  }

  #follow(event: EngineEvent): void {
    if (!('jobId' in event)) return
    if (event.type === 'jobEnqueued') {
      const facts = this.#engine.view.registration(event.jobId)
      if (facts !== null) this.#add(facts, 'QUEUED')
      return
    }
    const known = this.#byId.get(event.jobId)
    if (known !== undefined && event.type === 'jobRescheduled') known.scheduledTime = event.opensAt
    const status = STATUS_AFTER[event.type]
    if (known !== undefined && status !== undefined) known.status = status
  }

  async #fromStore(jobId: JobId): Promise<Registration | null> {
    const { read } = this.#engine.view
    const row = await read.job(jobId)
    if (row?.kind !== 'registration') return null
    const [payload] = await read.payloads([row.seq])
    return this.#byId.get(jobId) ?? this.#addRow(row, payload ?? null)
  }

  #addRow(row: JobRow, payload: Uint8Array | null): Registration | null {
    const { id: jobId, seq, caller, enqueueTs, status } = row
    if (payload === null) return null
    const said = decodeCbor(payload) as CborMap
    const facts = {
      jobId,
      seq,
      caller,
      platform: said['provider'] as string,
      orgRef: said['org_ref'] as string,
      eventId: said['event_id'] as string,
      // One that has ended may have moved, too: its timeline tells.
      scheduledTime:
        this.#engine.view.registration(jobId)?.scheduledTime ?? Number(said['scheduled_time']),
      queuedAt: enqueueTs,
    }
    return this.#add(facts, status)
  }

  #add(facts: Facts | RegistrationFacts, status: JobStatus): Registration {
    const known = this.#byId.get(facts.jobId)
    if (known !== undefined) return known
    const { jobId, seq, caller, platform, orgRef, eventId, scheduledTime, queuedAt } = facts
    const reference = freeReference(jobId, (taken) => this.#byReference.has(taken))
    const place = { platform, orgRef, eventId, scheduledTime, queuedAt }
    const registration = { jobId, seq, caller, reference, ...place, status }
    this.#byId.set(jobId, registration)
    this.#byReference.set(reference, registration)
    this.#insert(registration)
    return registration
  }

  /** Nearly always it is the last. */
  #insert(registration: Registration): void {
    const behind = this.#all.findLastIndex(({ seq }) => seq < registration.seq)
    if (behind === this.#all.length - 1) this.#all.push(registration)
    else this.#all.splice(behind + 1, 0, registration)
    if (this.#all.length <= KEPT_MAX) return
    for (const { jobId, reference } of this.#all.splice(0, KEPT_MAX / 10)) {
      this.#byId.delete(jobId)
      this.#byReference.delete(reference)
    }
  }
}
