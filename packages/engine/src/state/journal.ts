import type {
  AuditRecord,
  Caller,
  CborMap,
  Job,
  JobId,
  JobOrigin,
  Market,
  MarketEvent,
  Preset,
  ProviderId,
} from '@fairlead/core'
import type { JournalRecord, PauseKey } from '@fairlead/core/internal'
import type { OutsideNote, TokenFacts } from '../commands/command.ts'
import type { Digest } from '../log/digest.ts'

/** Events that the rules of the market do not know but the journal records. */
export type EngineNote = { readonly at: number } & (
  | OutsideNote
  | {
      readonly type: 'policyChanged'
      readonly subject: 'policy'
      readonly preset: Preset
      /** SHA3 of the policy as written. Two entries with the same digest set the same policy. */
      readonly digest: string
    }
  /** The subject is the limit's key. */
  | {
      readonly type: 'limitDefined' | 'limitReset' | 'limitDeleted'
      readonly subject: string
    }
  /** The subject is `token:` and the id. For a removed token nothing else is known. */
  | ({
      readonly type: 'tokenChanged'
      readonly subject: string
      readonly change: 'created' | 'changed' | 'revoked' | 'removed'
    } & Partial<Pick<TokenFacts, 'role' | 'holder' | 'scope' | 'expiresAt'>>)
  | {
      readonly type: 'auditPruned'
      readonly subject: 'audit'
      /** The last entry that was deleted. The rest of the journal is verified from here on. */
      readonly last: number
      readonly hash: string
    }
  /** The subject is the id of the run. */
  | {
      readonly type: 'bulkStarted'
      readonly subject: string
      readonly action: string
      /** Null: with the rights of an operator. */
      readonly caller: Caller | null
      readonly filter: string
      readonly limit: number
    }
  | {
      readonly type: 'bulkProgress' | 'bulkEnded'
      readonly subject: string
      readonly action: string
      readonly caller: Caller | null
      readonly done: number
      readonly skipped: number
    }
  /** The subject is the schedule's id. */
  | {
      readonly type: 'schedulePut'
      readonly subject: string
      readonly caller: Caller
      readonly cron: string
      readonly timezone: string
      readonly overlap: string
      readonly catchUp: string
      readonly nextAt: number | null
    }
  | { readonly type: 'scheduleDeleted'; readonly subject: string; readonly caller: Caller }
  | {
      readonly type: 'scheduleSkipped'
      readonly subject: string
      readonly caller: Caller
      /** `missed`, `overlap`, or the code of the refusal of its job. */
      readonly reason: string
      /** The time that was left out, or the first of several. */
      readonly dueAt: number
      readonly nextAt: number | null
    }
  /** The subject is the kind. */
  | ({
      readonly type: 'queuePaused' | 'queueResumed'
      readonly subject: string
    } & Omit<PauseKey, 'kind'>)
  | {
      readonly type: 'openingSet'
      readonly subject: 'session'
      readonly platform: string
      readonly orgRef: string
      readonly eventId: string
      readonly opensAt: number
    }
  | {
      readonly type: 'clockFixed'
      readonly subject: 'clock'
      /** The last time that the store had seen, and its new time. */
      readonly before: number
      readonly after: number
    }
  | {
      readonly type: 'storeRestored'
      readonly subject: 'store'
      /** The last batch that the backup has. */
      readonly batch: number
    }
  | {
      readonly type: 'replayAccepted'
      readonly subject: 'store'
      /** The batches that were replayed, and those of them that decided otherwise. */
      readonly batches: number
      readonly differences: number
    }
  | { readonly type: 'placeReleased'; readonly jobId: JobId }
  /** For a booked registration: its success fee was not taken (FEE-2). */
  | { readonly type: 'feeFailed'; readonly jobId: JobId }
  | { readonly type: 'providerUpdated'; readonly providerId: ProviderId }
  | {
      readonly type: 'providerStaked'
      readonly providerId: ProviderId
      /** The amount that was added, and the new stake. */
      readonly amount: number | string
      readonly stake: number | string
    }
  | {
      readonly type: 'providerUnstaked'
      readonly providerId: ProviderId
      readonly amount: number | string
      /** The rest of the stake. */
      readonly stake: number | string
      readonly maturesAt: number
    }
  | {
      readonly type: 'keyChanged'
      readonly providerId: ProviderId
      readonly publicKey: string | null
    }
  /** The subject is the account. Its reference may be about people. */
  | {
      readonly type: 'payoutRecorded'
      readonly subject: string
      readonly account: string
      readonly amount: number | string
    }
)

/** An event as subscribers get it. */
export type EngineEvent = (MarketEvent | EngineNote) & { readonly seq: number }

/** One record per transition: audit entry, event and timeline entry in one (ENGINE-3). */
export class Journal {
  #seq: number
  #records: JournalRecord[] = []
  readonly #digest: Digest

  /** `seq` is the number of the last entry. Every record goes into the digest. */
  constructor(seq: number, digest: Digest) {
    this.#seq = seq
    this.#digest = digest
  }

  /** The number of the newest record. */
  get seq(): number {
    return this.#seq
  }

  /** `about` is the number of the affected job, if the caller knows it. Otherwise it is looked up. */
  append(event: MarketEvent | EngineNote, actor: string, market: Market, about?: number): void {
    const { type: action, at } = event
    const jobSeq = about ?? jobOf(event, market)?.enqueueSeq ?? null
    const subject = subjectOf(event)
    const seq = ++this.#seq
    const details = detailsOf(event)
    const record = { seq, at, actor, action, subject, details, jobSeq }
    this.#digest.add(pieceOf(event, record, market))
    this.#records.push(record)
  }

  /** Takes the records since the last call. */
  take(): readonly JournalRecord[] {
    const records = this.#records
    this.#records = []
    return records
  }
}

/** A record as text for the digest. A job appears by its number; its first record has its id. */
function pieceOf(
  event: MarketEvent | EngineNote,
  { at, actor, action, subject, details, jobSeq }: JournalRecord,
  { leases }: Market,
): string {
  if (event.type === 'jobAssigned') {
    // The lease id is derived from job, attempt, provider and seed, and not from the worker.
    const workerId = leases.get(event.leaseId)?.workerId ?? ''
    return `${at} assigned ${jobSeq} ${event.leaseId} ${event.deadline} ${workerId}`
  }
  if (event.type === 'jobStarted') return `${at} started ${jobSeq}`
  if (event.type === 'jobCompleted') return `${at} completed ${jobSeq} ${event.digest}`
  if (event.type === 'jobEnqueued') return `${at} enqueued ${jobSeq} ${subject}`
  return `${at} ${actor} ${action} ${subject} ${JSON.stringify(details)}`
}

/** Restores the event of a journal entry. */
export function eventOf(entry: AuditRecord & { readonly seq: number }): EngineEvent {
  const { action: type, at, subject, details, seq } = entry
  // Decided by type, not by the form of the subject: the subject of a limit may be any text.
  const isOfJob =
    type.startsWith('job') ||
    type === 'placeReleased' ||
    type === 'feeFailed' ||
    type === 'proofAccepted' ||
    type === 'proofDropped'
  const about = isOfJob ? { jobId: subject } : {}
  return { type, at, ...about, ...details, seq } as unknown as EngineEvent
}

/** Every field that an event's details can have. The compiler catches one that is missing below. */
type AllDetails<Type extends MarketEvent['type'], Absent extends string = never> = Required<
  Omit<Extract<MarketEvent, { readonly type: Type }>, 'type' | 'at' | 'jobId' | Absent>
>

const NO_DETAILS: CborMap = Object.freeze({})

/** The fields of an event that the entry has no place for. The job id is the subject (ENGINE-3). */
function detailsOf(event: MarketEvent | EngineNote): CborMap {
  // Frequent events are written out, because a rest pattern takes ten times as long.
  if (event.type === 'jobEnqueued' && hasOnlyTrace(event)) {
    const { traceparent } = event
    if (traceparent === undefined) return NO_DETAILS
    return { traceparent } satisfies AllDetails<
      'jobEnqueued',
      'retryOf' | 'txHash' | 'schedule' | 'scheduledAt'
    >
  }
  if (event.type === 'jobAssigned' && event.rank === undefined) {
    const { leaseId, deadline, providerId } = event
    return { leaseId, deadline, providerId } satisfies AllDetails<'jobAssigned', 'rank' | 'task'>
  }
  if (event.type === 'jobCompleted') {
    const { digest, leaseId, providerId } = event
    return { digest, leaseId, providerId } satisfies AllDetails<'jobCompleted'>
  }
  const { type: _type, at: _at, ...rest } = event
  if (!('jobId' in rest)) return rest as CborMap
  const { jobId: _jobId, ...details } = rest
  return details as CborMap
}

function hasOnlyTrace({ retryOf, txHash, schedule }: JobOrigin): boolean {
  return retryOf === undefined && txHash === undefined && schedule === undefined
}

function subjectOf(event: MarketEvent | EngineNote): string {
  if ('jobId' in event) return event.jobId
  if ('leaseId' in event) return event.leaseId
  if ('providerId' in event) return event.providerId
  return 'epochId' in event ? `epoch:${event.epochId}` : event.subject
}

function jobOf(event: MarketEvent | EngineNote, market: Market): Job | undefined {
  if ('jobId' in event) return market.jobs.get(event.jobId)
  return 'leaseId' in event ? market.leases.get(event.leaseId)?.job : undefined
}
