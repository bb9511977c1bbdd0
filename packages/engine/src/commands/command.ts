import type {
  AuditHead,
  Caller,
  CompleteRequest,
  JobId,
  JobOrigin,
  LeaseFailure,
  LeaseId,
  Preset,
  ProviderId,
  ProviderOffer,
  ProviderStatus,
  ReserveRequest,
  SessionKey,
  WorkerId,
} from '@fairlead/core'
import type {
  AcceptedRequest,
  Assigned,
  Block,
  BulkAction,
  CloseRequest,
  ComputedClose,
  GivenProof,
  PauseKey,
  ScheduleKey,
  SchedulePlan,
  SessionFacts,
} from '@fairlead/core/internal'

/** A lease and the party that acts on it. */
export interface OnLease {
  readonly leaseId: LeaseId
  readonly by: ProviderId
  /** The worker that acts. If left out, any worker of the provider may act. */
  readonly workerId?: WorkerId | undefined
}

/** A known job, with the payload that a repeated request is compared with. */
export interface KnownJob {
  readonly id: JobId
  readonly payload: Uint8Array
  /** Set if the payload was erased (AUDIT-10) or cannot be decrypted: the other inputs of the job id. */
  readonly erased?: { readonly chainId: bigint; readonly enqueueHeight: bigint }
}

/** Something that happened outside the engine and belongs into the audit log. */
export type OutsideNote =
  /** A client was refused authentication, or refused what it asked for. */
  | {
      readonly type: 'accessRefused'
      /** The method or path that was refused, or `authentication`. */
      readonly subject: string
      /** An address, or the id of a token. */
      readonly by: string
      readonly reason: string
      readonly attempts: number
    }
  /** A client with the right to do so was shown data of a caller. */
  | {
      readonly type: 'dataRead'
      /** The method. */
      readonly subject: string
      /** The id of a token. */
      readonly by: string
      /** The caller that the data belongs to; `several` for a list. */
      readonly caller: string
      readonly reads: number
    }
  /** A backup of the store was made. */
  | {
      readonly type: 'backupMade'
      readonly subject: 'store'
      /** On the machine of the server. */
      readonly path: string
      /** The last batch that it has. */
      readonly batch: number
      readonly bytes: number
    }

/** The journal's facts about a token. They hold no name, and nothing that helps to guess the token. */
export interface TokenFacts {
  readonly id: string
  /** Changes whenever any property of the token changes. */
  readonly digest: string
  readonly isRevoked: boolean
  readonly role: string
  /** The provider, or else the caller that the token's subject stands for. */
  readonly holder: string
  /** In words; empty if the token is not restricted. */
  readonly scope: string
  /** Null if the token never expires. */
  readonly expiresAt: number | null
}

/** Names the actor for the journal where the command does not make it clear. */
export interface Acting {
  /** The id of a token, for example. */
  readonly actor?: string | undefined
}

/** A worker and its provider. */
export interface OfWorker {
  readonly providerId: ProviderId
  readonly workerId: WorkerId
}

/** A request to enqueue a job. It is not checked yet and may be a repeat. `acceptEnqueue` makes it a command. */
export interface EnqueueRequest {
  readonly type: 'enqueue'
  /** In the form of the API. The fields that only a chain has are optional. */
  readonly request: Readonly<Record<string, unknown>>
  /** The random key that the engine made for a request without one. Else null. */
  readonly txHash: Uint8Array | null
  readonly caller: Caller
  readonly tier: string
  readonly origin: JobOrigin | null
  /** The job that this caller enqueued under the same key before; see `LookUps`. */
  readonly before: KnownJob | 'unknown' | null
  /** An operator may name an opening time for a registration's session that differs from the known one. */
  readonly isOperator?: boolean
  /** The block height of a request that came from a chain. Its task_id is then its unique key. */
  readonly enqueueBlock?: bigint | null
  /** Jobs that it depends on and that ended before: if they completed; see `DependencyFacts`. */
  readonly told?: ReadonlyMap<JobId, boolean>
  /** The schedule that it belongs to. */
  readonly firing?: Firing
}

/** One step of a schedule of the caller. It counts only while the schedule's next time is `dueAt`. */
export interface Firing {
  readonly id: string
  /** Null if somebody triggered it; its next time then stays as it is. */
  readonly dueAt: number | null
  /** The time that it fires for; null if the times from `dueAt` on are left out. */
  readonly at: number | null
  readonly nextAt: number | null
}

/** A job that was checked, has its ids and is known to be new. It is not hashed or looked up again. */
export interface EnqueueCommand {
  readonly type: 'enqueue'
  readonly request: JobRequest
  readonly tier: string
  readonly origin: RequestOrigin | null
  /** Registrations only. */
  readonly session: SessionFacts | null
  /** The jobs that it depends on and that completed before; null if there are none. */
  readonly completed: readonly JobId[] | null
}

/** The origin of a job that its requester knows. */
export type RequestOrigin = Omit<JobOrigin, 'schedule' | 'scheduledAt'>

/** An accepted request whose payload is kept only as canonical bytes. */
export type JobRequest = Omit<AcceptedRequest, 'payload'>

/**
 * A schedule fires, or leaves times out. All that a calendar says about it is in here, so no replica needs one
 * (SCHEDULE-4).
 */
export type FireCommand = Firing & {
  readonly type: 'fireSchedule'
  readonly caller: Caller
  /** Null if no job is enqueued; `reason` says why. */
  readonly enqueue: Omit<EnqueueCommand, 'type'> | null
  readonly reason: string | null
}

/** Anything that a caller submits to the engine: a command, or a job that is not accepted yet. */
export type Submission = EnqueueRequest | Exclude<Command, EnqueueCommand | FireCommand>

/**
 * All that can change the state, as data. The same commands at the same times give the same state, bit for bit
 * (ENGINE-1). Inputs from outside, such as a random key or a looked-up fact, are part of the command.
 */
export type Command =
  | EnqueueCommand
  | ({ readonly type: 'cancel'; readonly jobId: JobId; readonly by: Caller | 'operator' } & Acting)
  | ({ readonly type: 'ack' | 'renew' | 'decline' | 'release' } & OnLease)
  | ({
      readonly type: 'complete'
      readonly digest: string
      readonly output: Uint8Array | null
      /** The media type of the output; left out or null if the worker named none. */
      readonly contentType?: string | null
      readonly meta: Uint8Array | null
      readonly actualUnits: number | null
      /** Tokens of the prompt and the answer. If left out, the estimate stays. */
      readonly actualTokens?: number | null
      /** The output of a registration says that its fee was not taken (FEE-2). The output itself may be sealed. */
      readonly isFeeFailed?: boolean | undefined
    } & OnLease)
  | ({ readonly type: 'fail' } & LeaseFailure & OnLease)
  /** The offer of this lease could not be delivered to the worker. */
  | { readonly type: 'withdraw'; readonly leaseId: LeaseId }
  | ({
      readonly type: 'registerProvider'
      readonly providerId: ProviderId
      readonly offer: Partial<ProviderOffer>
      readonly stake: bigint
      /** The key of its proofs as 0x hex. */
      readonly publicKey?: string | null | undefined
    } & Acting)
  | ({
      readonly type: 'updateProvider'
      readonly providerId: ProviderId
      readonly offer: Partial<ProviderOffer>
    } & Acting)
  | { readonly type: 'heartbeat'; readonly providerId: ProviderId }
  | ({
      readonly type: 'connectWorker'
      /** The number of the worker's connection in this process. It influences no decision. */
      readonly session: number
      readonly slots: number
      /** The leases that the worker still has; null if it does not say. */
      readonly holds: readonly LeaseId[] | null
    } & OfWorker)
  | ({ readonly type: 'setWorkerSlots'; readonly slots: number } & OfWorker)
  | ({ readonly type: 'disconnectWorker' } & OfWorker)
  | ({
      readonly type: 'setProviderStatus'
      readonly providerId: ProviderId
      readonly status: ProviderStatus
    } & Acting)
  | ({
      readonly type: 'stake' | 'unstake'
      readonly providerId: ProviderId
      readonly amount: bigint
    } & Acting)
  /** Gives a provider another key, or none. */
  | ({
      readonly type: 'setKey'
      readonly providerId: ProviderId
      readonly publicKey: string | null
    } & Acting)
  /** `value`: 32 random bytes as 0x hex. */
  | { readonly type: 'openChallenge'; readonly providerId: ProviderId; readonly value: string }
  | ({
      readonly type: 'attest'
      readonly providerId: ProviderId
      readonly className: string
      /** Certificates in DER, leaf first. */
      readonly chain: readonly Uint8Array[]
      readonly signature: Uint8Array
    } & Acting)
  /** `by` is the provider that calls; null for an operator. */
  | ({
      readonly type: 'submitProof'
      readonly proof: GivenProof
      readonly by: ProviderId | null
    } & Acting)
  | ({ readonly type: 'applyBlock'; readonly block: Block<GivenProof> } & Acting)
  | ({
      readonly type: 'recordPayout'
      readonly account: string
      readonly amount: bigint
      readonly reference: string
    } & Acting)
  /** Judges the epoch and freezes the input of its batch. The audit entry is the newest that is durable. */
  | ({ readonly type: 'closeEpoch' } & CloseRequest & Acting)
  /** The batch of the epoch that is being closed; null if it has none. */
  | {
      readonly type: 'settleEpoch'
      readonly epochId: number
      readonly batchId: string | null
      /** Not recorded: a replica computes it again. */
      readonly computed?: ComputedClose | undefined
    }
  | ({
      readonly type: 'setPolicy'
      readonly written: unknown
      readonly preset: Preset
      /** Earlier assignments, needed if the new window reaches further back; see `LookUps`. */
      readonly assigned: readonly Assigned[] | 'unknown' | null
    } & Acting)
  /** A limit in the form of the API, new or changed. */
  | ({ readonly type: 'defineLimit'; readonly limit: unknown } & Acting)
  | ({ readonly type: 'resetLimit' | 'deleteLimit'; readonly key: string } & Acting)
  | { readonly type: 'reserveLimits'; readonly requests: readonly ReserveRequest[] }
  | { readonly type: 'completeLimits'; readonly requests: readonly CompleteRequest[] }
  /** Lists all limits, or the one with this key. */
  | { readonly type: 'listLimits'; readonly key: string | null }
  /** Deletes journal entries up to and including this one. */
  | ({ readonly type: 'cutJournal'; readonly cut: AuditHead } & Acting)
  /** Something that happened outside of the engine. */
  | ({ readonly type: 'note'; readonly note: OutsideNote } & Acting)
  /** All tokens that exist. Differences from the last time go into the journal. */
  | ({ readonly type: 'noteTokens'; readonly tokens: readonly TokenFacts[] } & Acting)
  /** Sets when a session opens, regardless of the times in its jobs. */
  | ({ readonly type: 'setOpening'; readonly opensAt: number } & SessionKey & Acting)
  /** Releases the place of an ended registration whose booking outcome is unknown. */
  | ({
      readonly type: 'releasePlace'
      readonly jobId: JobId
      /** Number of acceptance. */
      readonly seq: number
    } & SessionKey &
      Acting)
  /** Holds jobs back, or lets them go again (PAUSE-1). */
  | ({ readonly type: 'pauseQueue' | 'resumeQueue' } & PauseKey & Acting)
  /** A schedule that is new or changed. `firstAt` is its next time, unless its times stay the same. */
  | ({ readonly type: 'putSchedule'; readonly firstAt: number } & SchedulePlan & Acting)
  | ({ readonly type: 'deleteSchedule' } & ScheduleKey & Acting)
  | FireCommand
  /** Acts on all jobs that fit a filter. */
  | ({
      readonly type: 'startBulk'
      readonly id: string
      readonly action: BulkAction
      readonly by: Caller | 'operator'
      /** As JSON. */
      readonly filter: string
      readonly limit: number
    } & Acting)
  /** A worker says how far it has come, which also acks its lease (PROGRESS-1). */
  | ({
      readonly type: 'progress'
      readonly percent: number | null
      readonly message: string | null
    } & OnLease)
  /** The next jobs of a bulk run. It counts only if the run stands at `from`. */
  | {
      readonly type: 'stepBulk'
      readonly id: string
      readonly from: number
      readonly to: number
      /** The number of jobs that were looked at. */
      readonly looked: number
      /** The jobs to cancel, or those that were enqueued again. */
      readonly ids: readonly JobId[]
      readonly isLast: boolean
    }
  /** Notes how far a follower of the journal has come; null ends it (FOLLOW-1). */
  | { readonly type: 'follow'; readonly id: string; readonly seq: number | 'now' | null }
  /** Deletes these jobs, which ended before a time and are kept no longer (TTL-5). */
  | {
      readonly type: 'forgetJobs'
      /** Numbers of acceptance. */
      readonly seqs: readonly number[]
      readonly endedBefore: number
    }
  | { readonly type: 'round' }
  /** Tells the next jobs that waited for jobs that have ended (OPTIONS-8). */
  | { readonly type: 'cascade' }
  /** Deletes ended jobs, results and personal data that were kept for long enough (TTL-3, AUDIT-10). */
  | { readonly type: 'prune' }
  /**
   * The engine was unreachable for `gapMs`: after a start, a failed write or a standstill (ENGINE-4). Workers that
   * are not in `present` count as disconnected (WORKER-7).
   */
  | { readonly type: 'resume'; readonly gapMs: number; readonly present: readonly OfWorker[] }
  /** Only advances the time. */
  | { readonly type: 'tick' }
  /** A heartbeat: the engine was running at this time. */
  | { readonly type: 'beat' }

/** The actor that the journal names for a command. */
export function actorOf(command: Command): string {
  if ('actor' in command && command.actor !== undefined) return command.actor
  switch (command.type) {
    case 'enqueue':
      return command.request.caller
    case 'putSchedule':
    case 'deleteSchedule':
    case 'fireSchedule':
      return command.caller
    case 'startBulk':
    case 'progress':
    case 'cancel':
    case 'ack':
    case 'renew':
    case 'decline':
    case 'release':
    case 'complete':
    case 'fail':
      return command.by
    case 'registerProvider':
    case 'updateProvider':
    case 'heartbeat':
    case 'connectWorker':
    case 'setWorkerSlots':
    case 'disconnectWorker':
    case 'openChallenge':
    case 'attest':
    case 'unstake':
      return command.providerId
    case 'submitProof':
      return command.by ?? 'operator'
    case 'setProviderStatus':
    case 'stake':
    case 'setKey':
    case 'applyBlock':
    case 'recordPayout':
    case 'setPolicy':
    case 'setOpening':
    case 'releasePlace':
    case 'cutJournal':
    case 'defineLimit':
    case 'resetLimit':
    case 'deleteLimit':
    case 'pauseQueue':
    case 'resumeQueue':
      return 'operator'
    case 'stepBulk':
    case 'follow':
    case 'forgetJobs':
    case 'withdraw':
    case 'closeEpoch':
    case 'settleEpoch':
    case 'note':
    case 'noteTokens':
    case 'reserveLimits':
    case 'completeLimits':
    case 'listLimits':
    case 'round':
    case 'cascade':
    case 'prune':
    case 'resume':
    case 'tick':
    case 'beat':
      return 'engine'
  }
}
