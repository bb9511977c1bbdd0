import {
  type Caller,
  explainWaiting,
  FairleadError,
  hasEnded,
  heldByOther,
  type JobFilter,
  type JobId,
  type JobRow,
  type JournalRow,
  type Lease,
  type LeaseId,
  type LeaseRow,
  type LeaseSource,
  type LeaseTimes,
  type Policy,
  type Preset,
  type Provider,
  type ProviderId,
  type ProviderOffer,
  type ProviderStatus,
  type ResultRow,
  type RoundRow,
  readTxHash,
  type Store,
  toHex,
  type WaitExplanation,
  type WorkerId,
} from '@fairlead/core'
import type { Command } from './command.ts'
import { outputDigest } from './completion.ts'
import type { Connections } from './connections.ts'
import type { EngineLoop } from './engine-loop.ts'
import { type EngineEvent, eventOf } from './journal.ts'
import { leaseTimes } from './lease-offer.ts'
import { EngineLeaseSource } from './lease-source.ts'
import type { Subscribers, Unsubscribe } from './subscribers.ts'

/** Who enqueues: given by whoever authenticated the request, never by the request itself. */
export interface Requester {
  readonly caller: Caller
  readonly tier?: string
}

/** Who holds a lease, and which. */
export interface Holder {
  readonly leaseId: LeaseId
  readonly by: ProviderId
  /** The worker that acts; where it is left out, any of the provider's may. */
  readonly workerId?: WorkerId
}

/** What was done for a job that is assigned or over. */
export interface AssignedExplanation {
  readonly job: JobRow
  readonly leases: readonly LeaseRow[]
  /** The round of its newest lease, while it is kept. */
  readonly round: RoundRow | null
}

/** The longest page of a list or of a replay. */
const PAGE_MAX = 1_000

/**
 * The dispatcher, in this process. A call resolves when what it did is durable, and is rejected with
 * a `FairleadError`; reads see committed state only. Open one with `openEngine`.
 */
export class Engine {
  readonly #loop: EngineLoop
  readonly #store: Store
  readonly #random: () => Uint8Array
  readonly #subscribers: Subscribers
  readonly #connections: Connections

  constructor(parts: {
    readonly loop: EngineLoop
    readonly store: Store
    readonly random: () => Uint8Array
    readonly subscribers: Subscribers
    readonly connections: Connections
  }) {
    this.#loop = parts.loop
    this.#store = parts.store
    this.#random = parts.random
    this.#subscribers = parts.subscribers
    this.#connections = parts.connections
  }

  /** Takes a job in, in the form of the API; without a key it gets one of its own. */
  async enqueue(request: Readonly<Record<string, unknown>>, by: Requester): Promise<JobId> {
    const isNamed = request['tx_hash'] !== undefined || request['idempotency_key'] !== undefined
    const named = isNamed ? request : { ...request, tx_hash: toHex(this.#random()) }
    const { caller, tier = 'FREE' } = by
    return this.#submit<JobId>({ type: 'enqueue', request: named, caller, tier, before: null })
  }

  /** Many at once, each with its own answer, in the order of the requests. */
  enqueueMany(
    requests: readonly Readonly<Record<string, unknown>>[],
    by: Requester,
  ): Promise<PromiseSettledResult<JobId>[]> {
    return Promise.allSettled(requests.map((request) => this.enqueue(request, by)))
  }

  async cancel(jobId: JobId, by: Caller | 'operator'): Promise<void> {
    if (!this.#loop.state.market.jobs.has(jobId)) this.#refuseEnded(jobId, by)
    await this.#submit({ type: 'cancel', jobId, by })
  }

  getJob(jobId: JobId): JobRow {
    const row = this.#store.read.job(jobId)
    if (row === null) throw notFound('job', jobId)
    return row
  }

  /** A page of jobs in the order of their acceptance; `cursor` is for the next one, null at the end. */
  listJobs(
    filter: Omit<JobFilter, 'afterSeq' | 'limit'> & { cursor?: number; limit?: number } = {},
  ): { readonly jobs: readonly JobRow[]; readonly cursor: number | null } {
    const { cursor = 0, limit = 100, ...rest } = filter
    const size = Math.min(Math.max(1, limit), PAGE_MAX)
    const jobs = this.#store.read.jobs({ ...rest, afterSeq: cursor, limit: size })
    return { jobs, cursor: jobs.length < size ? null : (jobs.at(-1)?.seq ?? null) }
  }

  /** The result of a COMPLETED job; each other state has an error of its own. */
  getResult(jobId: JobId): ResultRow {
    const result = this.#store.read.result(jobId)
    if (result !== null) return result
    const { status, reason } = this.getJob(jobId)
    if (status === 'EXPIRED')
      throw new FairleadError('JobExpired', `job ${jobId} expired`, { reason })
    if (!hasEnded(status)) {
      throw new FairleadError('NoResultYet', `job ${jobId} is ${status}; ask again later`, {
        status,
      })
    }
    throw new FairleadError('InvalidState', `job ${jobId} is ${status} and has no result`, {
      reason,
    })
  }

  timeline(jobId: JobId): readonly JournalRow[] {
    this.getJob(jobId)
    return this.#store.read.timeline(jobId)
  }

  /** Why the job waits; or, once assigned, the round that decided where it went. */
  explain(jobId: JobId): WaitExplanation | AssignedExplanation {
    const { market } = this.#loop.state
    const waiting = market.jobs.get(jobId)
    if (waiting?.status === 'QUEUED') return explainWaiting(market, waiting)
    const job = this.getJob(jobId)
    const leases = this.#store.read.leases(jobId)
    const newest = leases.at(-1)
    const round = newest === undefined ? null : this.#store.read.round(newest.round, job.kind)
    return { job, leases, round }
  }

  registerProvider(
    providerId: ProviderId,
    offer: Partial<ProviderOffer>,
    stake = 0n,
  ): Promise<Provider> {
    return this.#submit({ type: 'registerProvider', providerId, offer, stake })
  }

  async updateProvider(providerId: ProviderId, offer: Partial<ProviderOffer>): Promise<void> {
    await this.#submit({ type: 'updateProvider', providerId, offer })
  }

  async heartbeat(providerId: ProviderId): Promise<void> {
    await this.#submit({ type: 'heartbeat', providerId })
  }

  async setProviderStatus(providerId: ProviderId, status: ProviderStatus): Promise<void> {
    await this.#submit({ type: 'setProviderStatus', providerId, status })
  }

  /** Adds to the stake; gives the new one. */
  stake(providerId: ProviderId, amount: bigint): Promise<bigint> {
    return this.#submit({ type: 'stake', providerId, amount })
  }

  setPolicy(written: unknown, preset: Preset = 'queue'): Promise<Policy> {
    return this.#submit({ type: 'setPolicy', written, preset })
  }

  async ack(holder: Holder): Promise<void> {
    await this.#onLease({ type: 'ack', ...holder })
  }

  /** Gives the times of the lease as they are then. */
  async renew(holder: Holder): Promise<LeaseTimes> {
    const lease = await this.#onLease({ type: 'renew', ...holder })
    return leaseTimes(lease, this.#loop.state.market.nowMs)
  }

  async decline(holder: Holder): Promise<void> {
    await this.#onLease({ type: 'decline', ...holder })
  }

  async release(holder: Holder): Promise<void> {
    await this.#onLease({ type: 'release', ...holder })
  }

  /** With an output its digest may be left out; both must agree (ENGINE-8). */
  async complete(
    completion: Holder & {
      readonly digest?: string
      readonly output?: Uint8Array
      readonly meta?: Uint8Array
      readonly actualUnits?: number
    },
  ): Promise<void> {
    const { output = null, meta = null, actualUnits = null, ...holder } = completion
    const digest = completion.digest ?? (output === null ? '' : outputDigest(output))
    await this.#onLease({ type: 'complete', ...holder, digest, output, meta, actualUnits })
  }

  async fail(
    failure: Holder & { readonly code: string; readonly permanent: boolean },
  ): Promise<void> {
    await this.#onLease({ type: 'fail', ...failure })
  }

  /** Leases for workers in this process. */
  leaseSource(): LeaseSource {
    return new EngineLeaseSource({
      engine: this,
      loop: this.#loop,
      connections: this.#connections,
    })
  }

  /** All events after a number, then those to come. */
  onEvent(listener: (event: EngineEvent) => void, afterSeq?: number): Unsubscribe {
    if (afterSeq !== undefined) {
      for (let seq = afterSeq; ; ) {
        const rows = this.#store.read.journal(seq, PAGE_MAX)
        for (const row of rows) listener(eventOf(row))
        if (rows.length < PAGE_MAX) break
        seq = rows.at(-1)?.seq ?? seq
      }
    }
    return this.#subscribers.onEvent(listener)
  }

  stats(): { readonly waiting: Readonly<Record<string, number>>; readonly leases: number } {
    const { queues, leasesOf } = this.#loop.state.market
    const waiting = Object.fromEntries([...queues].map(([kind, queue]) => [kind, queue.size]))
    let leases = 0
    for (const held of leasesOf.values()) leases += held.size
    return { waiting, leases }
  }

  /** Answers what was asked, writes it, and closes the store. */
  async close(): Promise<void> {
    await this.#loop.close()
    this.#connections.closeAll()
    await this.#store.close()
  }

  #submit<Reply>(command: Command): Promise<Reply> {
    return this.#loop.submit(command) as Promise<Reply>
  }

  async #onLease(command: Command & Holder): Promise<Lease> {
    if (!this.#loop.state.market.leases.has(command.leaseId)) {
      const row = this.#store.read.lease(command.leaseId)
      if (row !== null) return this.#onEndedLease(command, row)
    }
    return this.#submit(command)
  }

  /** A lease that only the store still knows: nothing can change, but the answer must be right. */
  #onEndedLease(command: Command & Holder, row: LeaseRow): Lease {
    if (row.providerId !== command.by) {
      throw new FairleadError('Forbidden', `lease ${row.id} is held by another provider`, {
        leaseId: row.id,
      })
    }
    const { workerId } = command
    if (workerId !== undefined && row.workerId !== null && row.workerId !== workerId) {
      throw heldByOther(row.id, row.workerId)
    }
    const isRepeat = command.type === 'complete' && row.digest === command.digest
    if (isRepeat && row.status === 'COMPLETED') return row as unknown as Lease
    throw new FairleadError('LeaseNotLive', `lease ${row.id} is ${row.status}; stop this attempt`, {
      leaseId: row.id,
      status: row.status,
    })
  }

  #refuseEnded(jobId: JobId, by: Caller | 'operator'): void {
    const row = this.#store.read.job(jobId)
    if (row === null) return
    if (by !== 'operator' && by !== row.caller) {
      throw new FairleadError('Forbidden', `job ${jobId} belongs to another requester`, { jobId })
    }
    throw new FairleadError(
      'InvalidState',
      `job ${jobId} is ${row.status} and never changes again`,
      {
        jobId,
        status: row.status,
      },
    )
  }
}

/** Fills in what an enqueue under a known key must be compared with. */
export function prepareCommand(command: Command, store: Store, policy: Policy): Command {
  if (command.type !== 'enqueue') return command
  let txHash: string
  try {
    txHash = toHex(readTxHash({ ...command.request }, policy))
  } catch {
    return command // It will be refused when it is applied, with the same words.
  }
  const row = store.read.jobByTx(command.caller, txHash)
  if (row === null) return command
  const payload = store.read.payload(row.id) ?? new Uint8Array()
  return { ...command, before: { jobId: row.id, payload } }
}

function notFound(what: 'job', id: string): FairleadError {
  return new FairleadError('NotFound', `there is no ${what} ${id}`, { id })
}
