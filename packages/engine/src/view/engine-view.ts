import type {
  AuditHead,
  Caller,
  JobId,
  JobOrigin,
  KindName,
  LeaseId,
  Limit,
  Market,
  Policy,
  Provider,
  ProviderId,
  SessionKey,
  WaitReason,
} from '@fairlead/core'
import {
  type DispatchKey,
  explainSession,
  refusalOf,
  type StoreReads,
  termsNow,
} from '@fairlead/core/internal'
import type { EngineState } from '../state/engine-state.ts'
import { type Census, takeCensus } from './census.ts'
import {
  allRegistrations,
  type KeyFigures,
  keyFigures,
  keyFiguresOf,
  type RegistrationFacts,
  registrationFacts,
  type SessionCounts,
  type SessionEntry,
  sessionCounts,
  sessionEntries,
} from './session-view.ts'

/** What never changes about a job, as far as it is in memory. */
export interface JobFactsInMemory {
  readonly kind: KindName
  readonly caller: Caller
  readonly fee: bigint
  readonly units: number
  readonly enqueueTs: number
  /** Its name: of an ai job the model, of a registration the platform; null for a quantum job. */
  readonly model: string | null
  readonly origin: JobOrigin | null
}

/** What never changes about a lease. */
export interface LeaseFactsInMemory {
  readonly jobId: JobId
  readonly providerId: ProviderId
  readonly caller: Caller
}

/**
 * A look at the engine for those who show it to others: what it has in memory, without waiting, and what
 * is stored. Memory is ahead of the store by what is being written, so of jobs and leases it gives only
 * what never changes.
 */
export class EngineView {
  /** Committed state. */
  readonly read: Omit<StoreReads, 'everything' | 'assignmentsSince' | 'jobsByTx'>
  readonly #state: () => Pick<EngineState, 'market' | 'journalCut' | 'tokensSeen'>

  constructor(
    state: () => Pick<EngineState, 'market' | 'journalCut' | 'tokensSeen'>,
    read: StoreReads,
  ) {
    this.#state = state
    this.read = read
  }

  /** The last entry that was deleted from the journal, before any other with number 0. */
  get journalCut(): AuditHead {
    return this.#state().journalCut
  }

  /** True once there was a token (TOKEN-1). */
  get tokensSeen(): boolean {
    return this.#state().tokensSeen
  }

  /** Jobs that take memory: those that are alive, and those that ended a moment ago. */
  get jobsInMemory(): number {
    return this.#market().jobs.size
  }

  /** Engine time. */
  get now(): number {
    return this.#market().nowMs
  }

  get policy(): Policy {
    return this.#market().policy
  }

  /** Null for a job that has ended, or never was. */
  job(id: JobId): JobFactsInMemory | null {
    const job = this.#market().jobs.get(id)
    if (job === undefined) return null
    const { fee, units, enqueueTs, origin, caller, shape } = job
    const { kind, model } = shape
    return { kind, model, caller, fee, units, enqueueTs, origin }
  }

  lease(id: LeaseId): LeaseFactsInMemory | null {
    const lease = this.#market().leases.get(id)
    if (lease === undefined) return null
    return { jobId: lease.job.id, providerId: lease.provider.id, caller: lease.job.caller }
  }

  /** What holds a waiting job; null where it does not wait (any more). */
  waitReason(id: JobId): WaitReason | null {
    const market = this.#market()
    const job = market.jobs.get(id)
    if (job?.status !== 'QUEUED') return null
    const gate = job.session === null ? null : explainSession(market, job.session).gate.reason
    if (gate !== null) return gate
    if (job.notBefore !== null && job.notBefore > market.nowMs) return 'backoff'
    const terms = termsNow(market)
    const passing = market.pool.passing(job.shape.kind, market.nowMs)
    let isLimited = false
    for (const provider of passing) {
      const refusal = refusalOf(provider, job, terms)
      if (refusal === null) return 'ready'
      isLimited ||= refusal === 'limit_exhausted'
    }
    return isLimited ? 'budget' : 'no_provider'
  }

  /** A limit of the engine as it was defined last; null if there is none. */
  limit(key: string): Limit | null {
    return this.#market().limits.definition(key)
  }

  /** In order of id. */
  providers(): readonly Readonly<Provider>[] {
    return this.#market().pool.all()
  }

  provider(id: ProviderId): Readonly<Provider> | null {
    return this.#market().pool.get(id) ?? null
  }

  /** Null for a job that is no registration, has ended, or never was. */
  registration(id: JobId): RegistrationFacts | null {
    return registrationFacts(this.#market(), id)
  }

  /** Of all registrations that have not ended. */
  registrations(): RegistrationFacts[] {
    return allRegistrations(this.#market())
  }

  /** Sessions that are known, with how many wait and are under way, in the order of their keys. */
  sessions(): SessionCounts[] {
    return sessionCounts(this.#market())
  }

  /** When a session opens; null for one that nobody has named. */
  opensAt(key: SessionKey): number | null {
    return this.#market().seats.opensAt(key)
  }

  /** The registrations of a session that have not ended, in its order. */
  sessionEntries(key: SessionKey): SessionEntry[] {
    return sessionEntries(this.#market(), key)
  }

  /** Where a registration stands among them, from 1, and of how many; 0 for one that has ended. */
  sessionPlace(key: SessionKey, id: JobId): { readonly place: number; readonly of: number } {
    return this.#market().sessions.placeOf(key, id)
  }

  /** What a dispatch key may send now; one that was never used may send all that is configured. */
  dispatchKey(key: DispatchKey): KeyFigures {
    return keyFiguresOf(this.#market(), key)
  }

  /** The same of every one that has been used, in order. */
  dispatchKeys(): KeyFigures[] {
    return keyFigures(this.#market())
  }

  census(): Census {
    return takeCensus(this.#market())
  }

  #market(): Market {
    return this.#state().market
  }
}
