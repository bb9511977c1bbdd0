import {
  type Caller,
  callerOf,
  FairleadError,
  type LeaseSession,
  type Limiter,
  type ProviderId,
  type WorkerHello,
  type WorkerId,
} from '@fairlead/core'
import { invalidParams } from '@fairlead/core/internal'
import type { Acting, Engine } from '@fairlead/engine'
import type { CheckedParamsOf, MethodName, ResultOf } from '@fairlead/protocol'
import type { AccessNotes } from '../auth/access-notes.ts'
import type { Identity } from '../auth/identity.ts'
import type { Figures } from '../dashboard/figures.ts'
import type { History } from '../dashboard/history.ts'
import type { EventHub } from '../events/event-hub.ts'
import type { Wanted } from '../events/peer-subscriptions.ts'
import type { SettlementDesk } from '../fund/settlement-desk.ts'
import type { HeapGuard } from '../heap-guard.ts'
import type { LimitOwners } from '../limit-owners.ts'
import type { ServerLimits } from '../limits.ts'
import type { EventMeter } from '../metrics/event-meter.ts'
import type { ServerStats } from '../metrics/server-stats.ts'
import type { SignupDesk } from '../signup/signup-desk.ts'
import type { StorageDesk } from '../storage-desk.ts'
import type { PollDesk } from '../workers/poll-desk.ts'
import type { ProviderPulse } from '../workers/provider-pulse.ts'

/** The caller's side of a connection that the server can speak on by itself. */
export interface Peer {
  subscribe(hub: EventHub, wanted: Wanted): ResultOf<'events.subscribe'>
  unsubscribe(id: string): boolean
  /** Connects a worker, whose leases are pushed from now on. */
  serve(
    hello: WorkerHello,
    services: Services,
  ): ResultOf<'aicf.pollLeases'> | Promise<ResultOf<'aicf.pollLeases'>>
  session(providerId: ProviderId, workerId: WorkerId): LeaseSession | null
  /** The provider of the workers of this connection, if it is one. */
  onlyProvider(): ProviderId | undefined
}

/** Who calls, and by which way. */
export interface Call {
  readonly identity: Identity
  /** Null over HTTP. */
  readonly socket: Peer | null
  /** Fires when nobody waits for the answer any more. */
  readonly signal: AbortSignal | null
  /** Of the request around it. */
  readonly traceparent: string | null
  readonly requestId: string
}

/** What the server says of itself to everybody. */
export interface Shown {
  readonly version: string
  /** False: pages show no payloads and results. */
  readonly payloads: boolean
}

/** What handlers work with. */
export interface Services {
  readonly engine: Engine
  readonly hub: EventHub
  readonly polls: PollDesk
  readonly pulse: ProviderPulse
  readonly limiter: Limiter
  readonly limitOwners: LimitOwners
  readonly stats: ServerStats
  readonly figures: Figures
  readonly history: History
  readonly meter: EventMeter
  readonly shown: Shown
  readonly storage: StorageDesk
  readonly settlements: SettlementDesk
  readonly signup: SignupDesk
  readonly notes: AccessNotes
  readonly heap: HeapGuard
  readonly limits: ServerLimits
  readonly openRpc: () => Record<string, unknown>
}

export type Handler<Name extends MethodName> = (
  params: CheckedParamsOf<Name>,
  call: Call,
  services: Services,
) => ResultOf<Name> | Promise<ResultOf<Name>>

/** One for every method; a method without one does not compile. */
export type Handlers = { readonly [Name in MethodName]: Handler<Name> }

/** The caller that a token's jobs belong to. */
export function ownCaller({ identity }: Call): Caller {
  let caller = callers.get(identity.subject)
  if (caller === undefined) {
    if (callers.size >= CALLERS_KEPT) callers.clear()
    caller = callerOf(identity.subject)
    callers.set(identity.subject, caller)
  }
  return caller
}

const CALLERS_KEPT = 10_000
const callers = new Map<string, Caller>()

/** A requester is held to its own jobs (AUTH-4). */
export function requireOwnJob(call: Call, caller: Caller, jobId: string): void {
  if (call.identity.role !== 'requester' || caller === ownCaller(call)) return
  throw new FairleadError('Forbidden', `job ${jobId} belongs to another requester`, { jobId })
}

/** The same where what belongs to it is shown: an operator, admin or auditor who reads it is audited (AUDIT-12). */
export function requireReadable(
  call: Call,
  { caller, jobId, method }: { caller: Caller; jobId: string; method: MethodName },
  { notes }: Services,
): void {
  requireOwnJob(call, caller, jobId)
  noteRead(call, method, [caller], { notes })
}

/** What was shown belongs to these callers; whose it is not is audited. */
export function noteRead(
  call: Call,
  method: MethodName,
  callers: readonly Caller[],
  { notes }: Pick<Services, 'notes'>,
): void {
  const own = ownCaller(call)
  const others = new Set(callers.filter((caller) => caller !== own))
  const [only] = others
  if (only !== undefined) notes.read(call.identity, method, others.size === 1 ? only : null)
}

/** An operator or admin who changes something for others is in the audit log by its token (AUTH-7). */
export function actingAs({ identity: { role, tokenId } }: Call): Acting {
  return role === 'operator' || role === 'admin' ? { actor: `token:${tokenId}` } : {}
}

/** The provider that a call is about: that of the token, or the one that somebody else names. */
export function providerOf(call: Call, named: ProviderId | undefined): ProviderId {
  const { role, subject } = call.identity
  if (role === 'provider') {
    if (named === undefined || named === subject) return subject as ProviderId
    throw new FairleadError('Forbidden', `this token is for ${subject}, not for ${named}`, {
      providerId: named,
    })
  }
  const provider = named ?? call.socket?.onlyProvider()
  if (provider !== undefined) return provider
  throw invalidParams('provider_id', 'the id of a provider; the token does not say which')
}

/** True if claims come by the blocks of a chain (CLAIM-3). */
export function hasChain({ view }: Pick<Engine, 'view'>): boolean {
  return view.policy.chain.source === 'blocks'
}
