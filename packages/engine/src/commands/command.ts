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
import type { AcceptedRequest, Assigned, SessionFacts } from '@fairlead/core/internal'

/** Who may act on a lease, and which. */
export interface OnLease {
  readonly leaseId: LeaseId
  readonly by: ProviderId
  /** The worker that acts; where it is left out, any of the provider's may. */
  readonly workerId?: WorkerId | undefined
}

/** A job with the payload that a request under the same key is compared with. */
export interface KnownJob {
  readonly id: JobId
  readonly payload: Uint8Array
  /** Where nobody has the payload any more (AUDIT-10): what its id was made from beside it. */
  readonly erased?: { readonly chainId: bigint; readonly enqueueHeight: bigint }
}

/** Something that happened outside of the engine, and belongs into the log that everyone can verify. */
export type OutsideNote =
  /** Somebody was not let in, or not let to what it asked for. */
  | {
      readonly type: 'accessRefused'
      /** The method or path that was refused, or `authentication`. */
      readonly subject: string
      /** An address, or the id of a token. */
      readonly by: string
      readonly reason: string
      readonly attempts: number
    }
  /** Somebody who may do so was shown what belongs to a caller. */
  | {
      readonly type: 'dataRead'
      /** The method. */
      readonly subject: string
      /** The id of a token. */
      readonly by: string
      /** Whose it is; `several` for a list. */
      readonly caller: string
      readonly reads: number
    }

/** A token as the journal tells of it: nothing that it could be guessed from, and nobody's name. */
export interface TokenFacts {
  readonly id: string
  /** Changes with anything of the token. */
  readonly digest: string
  readonly isRevoked: boolean
  readonly role: string
  /** The provider, else the caller that its subject stands for. */
  readonly holder: string
  /** In words; empty where it is not restricted. */
  readonly scope: string
  /** Null: it never expires. */
  readonly expiresAt: number | null
}

/** Who is written into the journal as the one who acted, where that is not clear from the command. */
export interface Acting {
  /** The id of a token, for example. */
  readonly actor?: string | undefined
}

/** Which worker of which provider. */
export interface OfWorker {
  readonly providerId: ProviderId
  readonly workerId: WorkerId
}

/** A job as somebody asks for it: not checked yet, and maybe not for the first time. `acceptEnqueue` makes it a command. */
export interface EnqueueRequest {
  readonly type: 'enqueue'
  /** In the form of the API; what only a chain has may be left out. */
  readonly request: Readonly<Record<string, unknown>>
  /** The key that was made for a request without one: nobody has known it before. Else null. */
  readonly txHash: Uint8Array | null
  readonly caller: Caller
  readonly tier: string
  readonly origin: JobOrigin | null
  /** The job that this caller enqueued under the same key before; see `prepareCommands`. */
  readonly before: KnownJob | 'unknown' | null
  /** An operator may open a registration's session at another time than it does. */
  readonly isOperator?: boolean
  /** Of a request from a chain: the height of its block. Its task_id is what makes it unique then. */
  readonly enqueueBlock?: bigint | null
}

/** A job that was checked, has its ids, and is known to be new: nothing is hashed or looked up again. */
export interface EnqueueCommand {
  readonly type: 'enqueue'
  readonly request: JobRequest
  readonly tier: string
  readonly origin: JobOrigin | null
  /** Registrations only. */
  readonly session: SessionFacts | null
}

/** A request that was accepted, with its payload as canonical bytes alone. */
export type JobRequest = Omit<AcceptedRequest, 'payload'>

/** Anything that the engine is handed: a command, or a job that is not accepted yet. */
export type Submission = EnqueueRequest | Exclude<Command, EnqueueCommand>

/**
 * All that can change the state, as data: the same commands at the same times give the same state, bit for bit
 * (ENGINE-1). Whatever comes from outside, such as a random key or a looked-up fact, is in here.
 */
export type Command =
  | EnqueueCommand
  | ({ readonly type: 'cancel'; readonly jobId: JobId; readonly by: Caller | 'operator' } & Acting)
  | ({ readonly type: 'ack' | 'renew' | 'decline' | 'release' } & OnLease)
  | ({
      readonly type: 'complete'
      readonly digest: string
      readonly output: Uint8Array | null
      /** What the bytes of the output are; left out or null where nobody said. */
      readonly contentType?: string | null
      readonly meta: Uint8Array | null
      readonly actualUnits: number | null
      /** Of the prompt and of the answer; where it is left out, the estimate stays. */
      readonly actualTokens?: number | null
    } & OnLease)
  | ({ readonly type: 'fail' } & LeaseFailure & OnLease)
  /** Its offer could not be brought to the worker. */
  | { readonly type: 'withdraw'; readonly leaseId: LeaseId }
  | ({
      readonly type: 'registerProvider'
      readonly providerId: ProviderId
      readonly offer: Partial<ProviderOffer>
      readonly stake: bigint
    } & Acting)
  | ({
      readonly type: 'updateProvider'
      readonly providerId: ProviderId
      readonly offer: Partial<ProviderOffer>
    } & Acting)
  | { readonly type: 'heartbeat'; readonly providerId: ProviderId }
  | ({
      readonly type: 'connectWorker'
      /** The connection that hears of it, by its number in this process; it decides nothing. */
      readonly session: number
      readonly slots: number
      /** The leases that it still has; null: it does not say. */
      readonly holds: readonly LeaseId[] | null
    } & OfWorker)
  | ({ readonly type: 'setWorkerSlots'; readonly slots: number } & OfWorker)
  | ({ readonly type: 'disconnectWorker' } & OfWorker)
  | ({
      readonly type: 'setProviderStatus'
      readonly providerId: ProviderId
      readonly status: ProviderStatus
    } & Acting)
  | ({ readonly type: 'stake'; readonly providerId: ProviderId; readonly amount: bigint } & Acting)
  | ({
      readonly type: 'setPolicy'
      readonly written: unknown
      readonly preset: Preset
      /** What was assigned before, where its window reaches further back; see `prepareCommands`. */
      readonly assigned: readonly Assigned[] | 'unknown' | null
    } & Acting)
  /** A limit in the form of the API, new or changed. */
  | ({ readonly type: 'defineLimit'; readonly limit: unknown } & Acting)
  | ({ readonly type: 'resetLimit' | 'deleteLimit'; readonly key: string } & Acting)
  | { readonly type: 'reserveLimits'; readonly requests: readonly ReserveRequest[] }
  | { readonly type: 'completeLimits'; readonly requests: readonly CompleteRequest[] }
  /** All limits as they are then, or the one of a key. */
  | { readonly type: 'listLimits'; readonly key: string | null }
  /** Entries up to this one are deleted; what is left begins behind it. */
  | ({ readonly type: 'cutJournal'; readonly cut: AuditHead } & Acting)
  /** Something that happened outside of the engine. */
  | ({ readonly type: 'note'; readonly note: OutsideNote } & Acting)
  /** All the tokens that there are; what differs from the last time is written into the journal. */
  | ({ readonly type: 'noteTokens'; readonly tokens: readonly TokenFacts[] } & Acting)
  /** When a session opens, whatever its jobs say. */
  | ({ readonly type: 'setOpening'; readonly opensAt: number } & SessionKey & Acting)
  /** The place of a registration that has ended, and of which nobody knows whether it booked. */
  | ({
      readonly type: 'releasePlace'
      readonly jobId: JobId
      /** Number of acceptance. */
      readonly seq: number
    } & SessionKey &
      Acting)
  | { readonly type: 'round' }
  /** Ended jobs, results and what people have said go when they have been kept for long enough (TTL-3, AUDIT-10). */
  | { readonly type: 'prune' }
  /**
   * Nobody could reach the engine for so long: after a start, a failed write or a standstill (ENGINE-4). Workers
   * that are not present have left by now (WORKER-7).
   */
  | { readonly type: 'resume'; readonly gapMs: number; readonly present: readonly OfWorker[] }
  /** Nothing but the time. */
  | { readonly type: 'tick' }
  /** A sign of life: the engine was there at this time. */
  | { readonly type: 'beat' }

/** Who is written into the journal as the one who acted. */
export function actorOf(command: Command): string {
  if ('actor' in command && command.actor !== undefined) return command.actor
  switch (command.type) {
    case 'enqueue':
      return command.request.caller
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
      return command.providerId
    case 'setProviderStatus':
    case 'stake':
    case 'setPolicy':
    case 'setOpening':
    case 'releasePlace':
    case 'cutJournal':
    case 'defineLimit':
    case 'resetLimit':
    case 'deleteLimit':
      return 'operator'
    case 'withdraw':
    case 'note':
    case 'noteTokens':
    case 'reserveLimits':
    case 'completeLimits':
    case 'listLimits':
    case 'round':
    case 'prune':
    case 'resume':
    case 'tick':
    case 'beat':
      return 'engine'
  }
}
