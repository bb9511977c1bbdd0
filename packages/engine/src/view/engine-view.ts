import type {
  AuditHead,
  Caller,
  JobId,
  JobOrigin,
  KindName,
  LeaseId,
  Limit,
  LimitView,
  Market,
  Pause,
  Policy,
  Provider,
  ProviderId,
  Schedule,
  SessionKey,
  WaitReason,
} from '@fairlead/core'
import type { DispatchKey, ScheduleKey, StoreReads } from '@fairlead/core/internal'
import type { Check } from '../explain/verdict.ts'
import type { EngineState } from '../state/engine-state.ts'
import { type BudgetFigures, budgetFigures } from './budgets.ts'
import { type Census, takeCensus } from './census.ts'
import { fairnessOf, type KindFairness, type Served } from './fairness.ts'
import { type QueueFigures, queueFigures } from './queue-figures.ts'
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
import { waitReasonOf } from './wait-reason.ts'
import { type Blocker, blockersOf } from './waiting/blockers.ts'
import { ruledOut } from './waiting/ruled-out.ts'
import { scanWaiting, type WaitingScan } from './waiting/scan.ts'

/** Facts about a job in memory that never change. */
export interface JobFactsInMemory {
  readonly kind: KindName
  readonly caller: Caller
  readonly tier: string
  readonly fee: bigint
  readonly units: number
  readonly enqueueTs: number
  /** The model of an AI job or the platform of a registration; null for a quantum job. */
  readonly model: string | null
  readonly origin: JobOrigin | null
  readonly tags: readonly string[]
}

/** What the waiting jobs wait for. */
export interface Waiting {
  readonly scan: WaitingScan
  readonly blockers: readonly Blocker[]
  readonly ruledOut: readonly Check[]
}

/** Facts about a lease that never change. */
export interface LeaseFactsInMemory {
  readonly jobId: JobId
  readonly providerId: ProviderId
  readonly caller: Caller
}

/**
 * A view of the engine for display: its memory, without waiting, and the stored state. Memory may be ahead of the
 * store by the writes in flight. So `job` and `lease` give only facts that never change.
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

  /** The last entry deleted from the journal; its number is 0 if none was deleted. */
  get journalCut(): AuditHead {
    return this.#state().journalCut
  }

  /** True once there was a token (TOKEN-1). */
  get tokensSeen(): boolean {
    return this.#state().tokensSeen
  }

  /** Jobs that use memory: live jobs, and jobs that ended a moment ago. */
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
    const { fee, units, enqueueTs, origin, caller, shape, options } = job
    const { kind, model, tier } = shape
    const tags = options?.tags ?? []
    return { kind, model, caller, tier, fee, units, enqueueTs, origin, tags }
  }

  lease(id: LeaseId): LeaseFactsInMemory | null {
    const lease = this.#market().leases.get(id)
    if (lease === undefined) return null
    return { jobId: lease.job.id, providerId: lease.provider.id, caller: lease.job.caller }
  }

  /** The reason why a job waits; null if it does not wait (any more). */
  waitReason(id: JobId): WaitReason | null {
    return waitReasonOf(this.#market(), id)
  }

  /** A limit of the engine as last defined; null if there is none. */
  limit(key: string): Limit | null {
    return this.#market().limits.definition(key)
  }

  schedule(key: ScheduleKey): Schedule | null {
    return this.#market().schedules.get(key)
  }

  /** In order of kind, name and caller. */
  pauses(): Pause[] {
    return this.#market().pauses.list()
  }

  /** The ready jobs by kind and name, of one caller or of all. */
  queues(caller: Caller | null): QueueFigures[] {
    return queueFigures(this.#market(), caller)
  }

  /** Ordered by id. */
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

  /** All registrations that have not ended. */
  registrations(): RegistrationFacts[] {
    return allRegistrations(this.#market())
  }

  /** The known sessions in key order, with counts of waiting and in-flight registrations. */
  sessions(): SessionCounts[] {
    return sessionCounts(this.#market())
  }

  /** When a session opens; null for an unknown session. */
  opensAt(key: SessionKey): number | null {
    return this.#market().seats.opensAt(key)
  }

  /** The registrations of a session that have not ended, in its order. */
  sessionEntries(key: SessionKey): SessionEntry[] {
    return sessionEntries(this.#market(), key)
  }

  /** A registration's place in its session, from 1, and the number in line. The place of an ended one is 0. */
  sessionPlace(key: SessionKey, id: JobId): { readonly place: number; readonly of: number } {
    return this.#market().sessions.placeOf(key, id)
  }

  /** The current send budget of a dispatch key. An unused key has its whole configured budget. */
  dispatchKey(key: DispatchKey): KeyFigures {
    return keyFiguresOf(this.#market(), key)
  }

  /** The budgets of all dispatch keys that were used, in order. */
  dispatchKeys(): KeyFigures[] {
    return keyFigures(this.#market())
  }

  /** `waiting`: what was just looked at; else it is looked at now. */
  census(waiting?: Waiting): Census {
    return takeCensus(this.#market(), waiting?.scan)
  }

  /** What all waiting jobs wait for, of one caller or of all. It takes some milliseconds: keep it for a moment. */
  waiting(caller: Caller | null, nowMs: number): Waiting {
    const market = this.#market()
    const scan = scanWaiting(market, { caller, nowMs })
    const blockers = blockersOf(market, scan)
    return { scan, blockers, ruledOut: ruledOut(market, blockers, scan.at) }
  }

  /** The live leases of one caller, or of all. */
  running(caller: Caller | null = null): number {
    let running = 0
    for (const leases of this.#market().leasesOf.values()) {
      if (caller === null) running += leases.size
      else for (const { job } of leases.values()) if (job.caller === caller) running++
    }
    return running
  }

  /** All waiting jobs. */
  get waitingSize(): number {
    const { queues, sessions } = this.#market()
    let size = sessions.waitingSize
    for (const queue of queues.values()) size += queue.size
    return size
  }

  /** `served`: what each caller was given of late. */
  fairness(
    { scan }: Waiting,
    served: (kind: KindName) => ReadonlyMap<Caller, Served>,
  ): KindFairness[] {
    return fairnessOf(this.#market(), scan, served)
  }

  /** Tells of one limit of the engine after another who holds how much of it. */
  budgets(): (view: LimitView) => BudgetFigures {
    return budgetFigures(this.#market())
  }

  #market(): Market {
    return this.#state().market
  }
}
