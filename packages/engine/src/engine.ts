import {
  type AuditEntry,
  type AuditHead,
  type Caller,
  type Clock,
  explainWaiting,
  type FailureRow,
  FairleadError,
  hasEnded,
  type JobId,
  type JobOrigin,
  type JobRow,
  type LeaseFailure,
  type LeaseId,
  type LeaseRow,
  type LeaseSource,
  type LeaseTimes,
  type Limiter,
  type Pause,
  type Policy,
  type Preset,
  type Provider,
  type ProviderId,
  type ProviderOffer,
  type ProviderStatus,
  type ResultRow,
  type SessionKey,
  type Store,
  type WorkerId,
} from '@fairlead/core'
import {
  heldByOther,
  invalidParams,
  type PauseKey,
  type StoreReads,
  wholeNumber,
} from '@fairlead/core/internal'
import type { BulkRunner } from './bulk/bulk-runner.ts'
import { readChainFields } from './commands/chain-fields.ts'
import { checkFilter, checkId, type ListFilter } from './commands/check-arguments.ts'
import type {
  Acting,
  EnqueueRequest,
  OnLease,
  OutsideNote,
  Submission,
  TokenFacts,
} from './commands/command.ts'
import { findCut, refusePruned } from './commands/journal-cut.ts'
import { EngineBulk } from './engine-bulk.ts'
import { EngineLimiter } from './engine-limiter.ts'
import { EngineSchedules } from './engine-schedules.ts'
import {
  ATTEMPTS_EXPLAINED,
  type Explanation,
  explainAssigned,
  explainAttempts,
} from './explain/explain.ts'
import { EngineFollowers } from './followers/engine-followers.ts'
import { EngineFund } from './fund/engine-fund.ts'
import type { EpochCloser } from './fund/epoch-closer.ts'
import type { Recover } from './loop/call.ts'
import { type EngineLoop, type EnqueueReply, jobIdOf } from './loop/engine-loop.ts'
import { EngineProgress } from './progress/engine-progress.ts'
import type { LogDesk } from './progress/log-desk.ts'
import type { Projector } from './projector/projector.ts'
import type { RetentionRunner } from './retention/retention-runner.ts'
import { completionDigest } from './state/completion.ts'
import { type EngineEvent, eventOf } from './state/journal.ts'
import { EngineView } from './view/engine-view.ts'
import { withJson } from './view/row-json.ts'
import { guarded, type Subscribers, type Unsubscribe } from './view/subscribers.ts'
import { rowWaitsFor, statusWithReason } from './view/wait-reason.ts'
import type { Connections } from './workers/connections.ts'
import { EngineLeaseSource } from './workers/lease-source.ts'

/** The requester of a job. The authenticating layer fills this in, never the request itself. */
export interface Requester {
  readonly caller: Caller
  readonly tier?: string
  /**
   * An operator may name an opening time for a registration that differs from its session's. It may also enqueue a
   * chain's request for another caller, with its transaction and block.
   */
  readonly isOperator?: boolean
}

/** A lease and its holder. */
export interface Holder {
  readonly leaseId: LeaseId
  readonly by: ProviderId
  /** The worker that acts. If left out, any worker of the provider may act. */
  readonly workerId?: WorkerId | undefined
}

/** The holder's report of finished work. */
export interface Completed extends Holder {
  readonly digest?: string | undefined
  readonly output?: Uint8Array | undefined
  /** The media type of the output. */
  readonly contentType?: string | undefined
  readonly meta?: Uint8Array | undefined
  readonly actualUnits?: number | undefined
  /** Tokens of the prompt and the answer. The number replaces the reserved amount (ADMIT-5). */
  readonly actualTokens?: number | undefined
}

/** The longest page of a list or of a replay. */
const PAGE_MAX = 1_000
/** Rows per read of a list. Commits wait for a read, so each read has to be short. */
const ROWS_AT_ONCE = 100
/** Jobs that one page looks at for their wait reason. */
const LOOKED_MAX = 2_000
/** How many writes `explain` waits for. */
const WRITES_AWAITED = 3

/**
 * The dispatcher in this process. A call resolves when its effect is durable, and rejects with a `FairleadError`.
 * Reads see committed state only. Open one with `openEngine`.
 */
export class Engine {
  /** The engine's memory and stored state, for display. */
  readonly view: EngineView
  /** The engine's limits: durable with its state, and shared with the reservations of the queue. */
  readonly limiter: Limiter
  /** Jobs that are enqueued by the clock. */
  readonly schedules: EngineSchedules
  /** Places in the journal that outlive the process. */
  readonly followers: EngineFollowers
  /** Many jobs at once. */
  readonly bulk: EngineBulk
  readonly #runner: BulkRunner
  /** What workers say of their attempts. */
  readonly progress: EngineProgress
  readonly #logs: LogDesk
  readonly #loop: EngineLoop
  readonly #store: Store
  readonly #projector: Projector
  readonly #read: StoreReads
  readonly #random: () => Uint8Array
  readonly #subscribers: Subscribers
  readonly #closer: EpochCloser
  readonly #retention: RetentionRunner
  readonly #connections: Connections
  /** Proofs, attestations, stakes and settlements of a fund. */
  readonly fund: EngineFund

  constructor(parts: {
    readonly loop: EngineLoop
    readonly store: Store
    readonly projector: Projector
    /** Reads that see everything that was answered before. */
    readonly read: StoreReads
    readonly random: () => Uint8Array
    readonly clock: Clock
    readonly runner: BulkRunner
    readonly logs: LogDesk
    readonly subscribers: Subscribers
    readonly connections: Connections
    readonly closer: EpochCloser
    readonly retention: RetentionRunner
  }) {
    this.#loop = parts.loop
    this.#store = parts.store
    this.#projector = parts.projector
    this.#read = parts.read
    this.#random = parts.random
    this.#subscribers = parts.subscribers
    this.#connections = parts.connections
    this.fund = new EngineFund({
      loop: this.#loop,
      read: this.#read,
      random: this.#random,
      closer: parts.closer,
    })
    this.#closer = parts.closer
    this.#retention = parts.retention
    this.limiter = new EngineLimiter(this.#loop)
    this.followers = new EngineFollowers(this.#loop)
    this.#runner = parts.runner
    this.#logs = parts.logs
    const onLease = (command: Submission & OnLease) => this.#onLease<unknown>(command)
    this.progress = new EngineProgress({
      loop: parts.loop,
      logs: parts.logs,
      clock: parts.clock,
      onLease,
    })
    const { loop, read, runner, random } = parts
    this.bulk = new EngineBulk({ loop, read, runner, random })
    this.schedules = new EngineSchedules(this.#loop, parts.clock, this.#random)
    this.view = new EngineView(() => this.#loop.state, this.#read)
  }

  /** Enqueues a job, given in the form of the API. The engine makes a key for a request without one. */
  async enqueue(
    request: Readonly<Record<string, unknown>>,
    by: Requester,
    origin: JobOrigin | null = null,
  ): Promise<JobId> {
    return (await this.accept(request, by, origin)).jobId
  }

  /** The same, and tells if a live job had the dedupe key of the request: the answer is that job (OPTIONS-7). */
  async accept(
    request: Readonly<Record<string, unknown>>,
    by: Requester,
    origin: JobOrigin | null = null,
  ): Promise<{ readonly jobId: JobId; readonly isDuplicate: boolean }> {
    const command = this.#enqueueCommand(request, by, origin)
    const reply = await this.#submit<EnqueueReply>(command)
    return { jobId: jobIdOf(reply), isDuplicate: typeof reply !== 'string' }
  }

  /** Enqueues many jobs at once, each with its own answer, in the order of the requests. */
  async enqueueMany(
    requests: readonly Readonly<Record<string, unknown>>[],
    by: Requester,
  ): Promise<PromiseSettledResult<JobId>[]> {
    if (!Array.isArray(requests as unknown)) throw invalidParams('requests', 'a list')
    const replies = await this.#loop.submitMany<EnqueueReply>(
      requests.map((request) => {
        try {
          return this.#enqueueCommand(request, by, null)
        } catch (error) {
          if (error instanceof FairleadError) return error
          throw error
        }
      }),
    )
    return replies.map((reply) =>
      reply.status === 'fulfilled' ? { ...reply, value: jobIdOf(reply.value) } : reply,
    )
  }

  #enqueueCommand(
    request: Readonly<Record<string, unknown>>,
    by: Requester,
    origin: JobOrigin | null,
  ): EnqueueRequest {
    const requester = fieldsOf(by)
    const { tier = 'FREE', isOperator = false } = requester
    const { caller, enqueueBlock, rest } = readChainFields(fieldsOf(request), requester)
    const { tx_hash: txHash, idempotency_key: key } = rest
    const isNamed = txHash !== undefined || key !== undefined
    return {
      type: 'enqueue',
      request: rest,
      txHash: isNamed ? null : this.#random(),
      caller,
      tier,
      origin,
      before: isNamed ? 'unknown' : null,
      isOperator,
      enqueueBlock,
    }
  }

  async cancel(jobId: JobId, by: Caller | 'operator', acting: Acting | null = null): Promise<void> {
    try {
      await this.#submit({ type: 'cancel', jobId, by }, acting)
    } catch (error) {
      if (isNotFound(error)) await this.#refuseEnded(jobId, by)
      throw error
    }
  }

  async getJob(jobId: JobId): Promise<JobRow> {
    checkId('task_id', jobId)
    const row = await this.#read.job(jobId)
    if (row === null) throw notFound('job', jobId)
    return withJson(row)
  }

  /** Why the newest attempts of a job failed, oldest first (FAIL-3). */
  async failures(jobId: JobId): Promise<readonly FailureRow[]> {
    await this.getJob(jobId)
    return this.#read.failures(jobId)
  }

  /** A page of jobs, by acceptance or newest first. `cursor` fetches the next page; it is null at the end. */
  async listJobs(
    filter: ListFilter = {},
  ): Promise<{ readonly jobs: readonly JobRow[]; readonly cursor: number | null }> {
    checkFilter(filter)
    const { cursor, limit = 100, order = 'oldest', waitReason, ...rest } = filter
    // Jobs in the tables may wait no more; those that do wait are found among the live ones.
    const isAsked = (row: JobRow): boolean =>
      waitReason === undefined || rowWaitsFor(this.#loop.state.market, row) === waitReason
    const wanted = statusWithReason(waitReason, rest.status)
    const size = Math.min(Math.max(1, limit), PAGE_MAX)
    const jobs: JobRow[] = []
    let looked = 0
    let next: number | null = cursor ?? (order === 'oldest' ? 0 : Number.MAX_SAFE_INTEGER)
    while (next !== null && jobs.length < size && looked < LOOKED_MAX) {
      const from = order === 'oldest' ? { afterSeq: next } : { afterSeq: 0, beforeSeq: next }
      const rows = waitReason === undefined ? size - jobs.length : ROWS_AT_ONCE
      const most = Math.min(ROWS_AT_ONCE, rows)
      const page: readonly JobRow[] = await this.#read.jobs({
        ...rest,
        ...wanted,
        ...from,
        limit: most,
      })
      if (waitReason !== undefined) looked += page.length
      let last: number | null = page.length < most ? null : (page.at(-1)?.seq ?? null)
      for (const row of page) {
        if (!isAsked(row)) continue
        jobs.push(withJson(row))
        if (jobs.length < size) continue
        // The page may have more that fit.
        last = row === page.at(-1) ? last : row.seq
        break
      }
      next = last
    }
    return { jobs, cursor: next }
  }

  /** The result of a COMPLETED job. Every other state has an error of its own. */
  async getResult(jobId: JobId): Promise<ResultRow> {
    checkId('task_id', jobId)
    const result = await this.#read.result(jobId)
    if (result !== null) return result
    const { status, reason } = await this.getJob(jobId)
    // The job may have completed between the two reads.
    const written = status === 'COMPLETED' ? await this.#read.result(jobId) : null
    if (written !== null) return written
    if (!hasEnded(status)) {
      throw new FairleadError('NoResultYet', `job ${jobId} is ${status}; ask again later`, {
        status,
      })
    }
    throw noResult({ id: jobId, status, reason }, (await this.#read.failures(jobId)).at(-1))
  }

  async timeline(jobId: JobId): Promise<readonly AuditEntry[]> {
    await this.getJob(jobId)
    return this.#read.timeline(jobId)
  }

  /**
   * Explains why the job waits; once it is assigned, which rounds decided where it went, and its end.
   * `explanationText` puts it in words.
   */
  async explain(jobId: JobId): Promise<Explanation> {
    checkId('task_id', jobId)
    for (let awaited = 0; ; awaited++) {
      // Requested together, so that no write comes in between.
      const read = this.#read
      const [job, leases, failures, timeline] = await Promise.all([
        this.getJob(jobId),
        read.leases(jobId),
        read.failures(jobId),
        read.timeline(jobId),
      ])
      const { market } = this.#loop.state
      const tried = { leases, failures, timeline }
      if (job.status === 'QUEUED' && awaited < WRITES_AWAITED) {
        const waiting = market.jobs.get(jobId)
        if (waiting?.status === 'QUEUED') {
          const attempts = explainAttempts({ ...tried, rounds: [] })
          return { ...explainWaiting(market, waiting), job, ...attempts }
        }
        // A round has assigned it, and the append is in flight. An engine that closes writes it all the same; if
        // the append fails, nobody knows.
        await this.#submit({ type: 'tick' }).catch(() => this.#projector.whole())
        continue
      }
      const heights = leases.slice(-ATTEMPTS_EXPLAINED).map(({ round }) => round)
      const rounds = await Promise.all(heights.map((height) => read.round(height, job.kind)))
      return explainAssigned({ job, ...tried, rounds, at: market.nowMs })
    }
  }

  registerProvider(
    providerId: ProviderId,
    offer: Partial<ProviderOffer>,
    given: Partial<Pick<Provider, 'stake' | 'publicKey'>> = {},
    acting: Acting | null = null,
  ): Promise<Provider> {
    const { stake = 0n, publicKey = null } = fieldsOf(given)
    return this.#submit({ type: 'registerProvider', providerId, offer, stake, publicKey }, acting)
  }

  async updateProvider(
    providerId: ProviderId,
    offer: Partial<ProviderOffer>,
    acting: Acting | null = null,
  ): Promise<void> {
    await this.#submit({ type: 'updateProvider', providerId, offer }, acting)
  }

  /** Gives a provider another key, or none. Its attestation ends with the old one. */
  async setKey(
    providerId: ProviderId,
    publicKey: string | null,
    acting: Acting | null = null,
  ): Promise<void> {
    await this.#submit({ type: 'setKey', providerId, publicKey }, acting)
  }

  async heartbeat(providerId: ProviderId): Promise<void> {
    await this.#submit({ type: 'heartbeat', providerId })
  }

  async setProviderStatus(
    providerId: ProviderId,
    status: ProviderStatus,
    acting: Acting | null = null,
  ): Promise<void> {
    await this.#submit({ type: 'setProviderStatus', providerId, status }, acting)
  }

  /** Adds to the stake and returns the new one. */
  stake(providerId: ProviderId, amount: bigint, acting: Acting | null = null): Promise<bigint> {
    return this.#submit({ type: 'stake', providerId, amount }, acting)
  }

  /** Holds back the jobs that the key names, from the next round on. Leases in hand go on (PAUSE-1). */
  pauseQueue(key: PauseKey, acting: Acting | null = null): Promise<Pause> {
    return this.#submit({ type: 'pauseQueue', ...pausing(key) }, acting)
  }

  /** Ends the pause of exactly this key. False if there is none. */
  resumeQueue(key: PauseKey, acting: Acting | null = null): Promise<boolean> {
    return this.#submit({ type: 'resumeQueue', ...pausing(key) }, acting)
  }

  /** The policy that `setPolicy` would put in force, or the same refusal. */
  checkPolicy(written: unknown, preset: Preset = 'queue'): Policy {
    return this.#loop.state.checkPolicy(written, preset)
  }

  setPolicy(
    written: unknown,
    preset: Preset = 'queue',
    acting: Acting | null = null,
  ): Promise<Policy> {
    return this.#submit({ type: 'setPolicy', written, preset, assigned: 'unknown' }, acting)
  }

  /** Sets when a session opens. From then on registrations for it must name this time (SESSION-9). */
  async setOpening(
    session: SessionKey,
    opensAt: number,
    acting: Acting | null = null,
  ): Promise<void> {
    await this.#submit({ ...session, type: 'setOpening', opensAt }, acting)
  }

  /**
   * Releases the place of an ended registration whose booking outcome is unknown; its user may sign up again
   * (SESSION-10). The caller must have found out that it did not book. False if it holds no place.
   */
  async releasePlace(
    session: SessionKey,
    jobId: JobId,
    by: Caller | 'operator',
    acting: Acting | null = null,
  ): Promise<boolean> {
    const row = await this.getJob(jobId)
    if (by !== 'operator' && by !== row.caller) throw foreignJob(jobId)
    if (row.status !== 'FAILED' && row.status !== 'EXPIRED') {
      throw neverChanges(jobId, row.status)
    }
    const { platform, orgRef, eventId } = session
    const place = { platform, orgRef, eventId, jobId, seq: row.seq }
    return this.#submit<boolean>({ type: 'releasePlace', ...place, actor: by }, acting)
  }

  ack(holder: Holder): Promise<void> {
    return this.#onLease({ type: 'ack', ...holding(holder) })
  }

  /** Returns the lease's times after the renewal. */
  async renew(holder: Holder): Promise<LeaseTimes> {
    const times = await this.#onLease<LeaseTimes>({ type: 'renew', ...holding(holder) })
    return { ...times, at: this.#loop.state.market.nowMs }
  }

  decline(holder: Holder): Promise<void> {
    return this.#onLease({ type: 'decline', ...holding(holder) })
  }

  release(holder: Holder): Promise<void> {
    return this.#onLease({ type: 'release', ...holding(holder) })
  }

  /** The digest may be left out if there is an output; otherwise both must agree (ENGINE-8). */
  complete(completion: Completed): Promise<void> {
    const said = fieldsOf(completion)
    const { leaseId, by, workerId, output = null, contentType = null, meta = null } = said
    const { actualUnits = null, actualTokens = null } = said
    let digest: string
    try {
      digest = completionDigest(said)
    } catch (error) {
      return Promise.reject(error)
    }
    return this.#onLease({
      type: 'complete',
      leaseId,
      by,
      workerId,
      digest,
      output,
      contentType,
      meta,
      actualUnits,
      actualTokens,
    })
  }

  fail(failure: Holder & LeaseFailure): Promise<void> {
    // No failure report of a worker is refused, not even one without a code (FAIL-2).
    return this.#onLease({ ...failure, code: failure?.code ?? 'error', type: 'fail' })
  }

  /** Leases for workers in this process. */
  leaseSource(): LeaseSource {
    return new EngineLeaseSource({
      engine: this,
      loop: this.#loop,
      connections: this.#connections,
    })
  }

  /** The number of the newest event that listeners received. */
  get lastEventSeq(): number {
    return this.#subscribers.lastSeq
  }

  /** Calls the listener for every future event, or for every event after `afterSeq`, without gaps or repeats. */
  async onEvent(listener: (event: EngineEvent) => void, afterSeq?: number): Promise<Unsubscribe> {
    if (typeof listener !== 'function') throw invalidParams('listener', 'a function')
    if (afterSeq === undefined) return this.#subscribers.onEvent(listener)
    wholeNumber('after_seq', afterSeq, { min: 0 })
    refusePruned(afterSeq, this.view.journalCut)
    let last = afterSeq
    // Events that arrive during the replay wait until it is done.
    let waiting: EngineEvent[] | null = []
    const stop = this.#subscribers.onEvent((event) => {
      if (waiting !== null) waiting.push(event)
      // The replay may have read an event that was stored but not yet delivered.
      else if (event.seq > last) listener(event)
    })
    try {
      for (let isMore = true; isMore; ) {
        const entries = await this.#read.journal(last, PAGE_MAX)
        // Entries may have been deleted during the replay.
        refusePruned(last, this.view.journalCut)
        for (const entry of entries) guarded(() => listener(eventOf(entry)))
        last = entries.at(-1)?.seq ?? last
        isMore = entries.length === PAGE_MAX
      }
    } catch (error) {
      stop()
      throw error
    }
    for (const event of waiting) if (event.seq > last) guarded(() => listener(event))
    waiting = null
    return stop
  }

  /**
   * Deletes journal entries older than `beforeMs` that the policy does not keep, and that no follower has to see
   * (AUDIT-8). The remaining entries are verified from `cut` on.
   */
  async pruneAudit(
    beforeMs: number,
    acting: Acting | null = null,
  ): Promise<{ readonly deleted: number; readonly cut: AuditHead }> {
    wholeNumber('before', beforeMs, { min: 0 })
    // The tick moves the engine's time forward: it stands still while nothing happens.
    await this.#submit({ type: 'tick' })
    const { market, journalCut, followers } = this.#loop.state
    const { nowMs, policy } = market
    const lastSeq = this.#subscribers.lastSeq
    const followed = Math.min(...followers.values())
    const journal = { policy: policy.journal, cut: journalCut, lastSeq, followed }
    const cut = await findCut(this.#read, { beforeMs, nowMs, ...journal })
    if (cut === null) return { deleted: 0, cut: journalCut }
    const deleted = await this.#submit<number>({ type: 'cutJournal', cut }, acting)
    return { deleted, cut: this.#loop.state.journalCut }
  }

  /** Writes an outside event into the audit log. The caller has to limit the volume. */
  async note(note: OutsideNote, acting: Acting | null = null): Promise<void> {
    await this.#submit({ type: 'note', note }, acting)
  }

  /**
   * Writes into the audit log how the tokens differ from the last time (TOKEN-2). From the first token on, the
   * engine remembers that tokens exist.
   */
  async noteTokens(tokens: readonly TokenFacts[], acting: Acting | null = null): Promise<void> {
    await this.#submit({ type: 'noteTokens', tokens }, acting)
  }

  /** Counts from memory, which may be ahead of the store by the writes in flight. */
  stats(): { readonly waiting: Readonly<Record<string, number>>; readonly leases: number } {
    const { queues, sessions, leasesOf } = this.#loop.state.market
    const waiting: Record<string, number> = { registration: sessions.waitingSize }
    for (const [kind, queue] of queues) waiting[kind] = queue.size
    let leases = 0
    for (const held of leasesOf.values()) leases += held.size
    return { waiting, leases }
  }

  /** Answers and writes all pending calls, then closes the store. */
  async close(): Promise<void> {
    // What is left of a close goes on at the next start.
    const closed = this.#closer.stop()
    this.#runner.close()
    this.#retention.close()
    await this.#loop.close()
    await closed
    this.#connections.closeAll()
    this.#logs.close()
    // The next start replays what the tables lack.
    await this.#projector.close().catch(() => undefined)
    await this.#store.close()
  }

  /**
   * Brings everything that was answered into the tables, durably. Resolves with the number of the last batch that
   * they reflect.
   */
  checkpoint(): Promise<number> {
    return this.#projector.sync()
  }

  /** How far the tables are behind the log. */
  get tables(): {
    readonly batch: number
    /** When they last took in changes; null: not since the start. */
    readonly appliedAt: number | null
    /** Changes that they do not have yet. */
    readonly behind: number
  } {
    const { batch, at } = this.#projector.applied
    return { batch, appliedAt: at, behind: this.#projector.behind }
  }

  /** Changes that the tables do not have yet. */
  get changesBehind(): number {
    return this.#projector.behind
  }

  #submit<Reply>(command: Submission, acting: Acting | null = null): Promise<Reply> {
    const actor = acting?.actor
    const given = actor === undefined ? command : ({ ...command, actor } as Submission)
    return this.#loop.submit(given) as Promise<Reply>
  }

  #onLease<Reply = void>(command: Submission & OnLease): Promise<Reply> {
    return this.#loop.submit(command, this.#lookUpLease) as Promise<Reply>
  }

  /** Answers for a lease that only the store still has. It can no longer change, but the answer must be right. */
  readonly #lookUpLease: Recover = async (command, refusal) => {
    const { leaseId } = command as Submission & OnLease
    const row = isNotFound(refusal) ? await this.#read.lease(leaseId) : null
    if (row === null) throw refusal
    this.#onEndedLease(command as Submission & OnLease, row)
  }

  /** Accepts a repeat of the same completion and refuses everything else. */
  #onEndedLease(command: Submission & OnLease, row: LeaseRow): void {
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
    if (isRepeat && row.status === 'COMPLETED') return
    throw new FairleadError('LeaseNotLive', `lease ${row.id} is ${row.status}; stop this attempt`, {
      leaseId: row.id,
      status: row.status,
    })
  }

  async #refuseEnded(jobId: JobId, by: Caller | 'operator'): Promise<void> {
    const row = await this.#read.job(jobId)
    if (row === null) return
    if (by !== 'operator' && by !== row.caller) throw foreignJob(jobId)
    throw neverChanges(jobId, row.status)
  }
}

/**
 * Plain JavaScript may pass anything in place of an object. Such a value has no fields, and the missing field is
 * refused by name (ENGINE-11).
 */
function fieldsOf<Given extends object>(given: Given): Given {
  return typeof given === 'object' && given !== null ? given : ({} as Given)
}

function holding(holder: Holder): OnLease {
  const { leaseId, by, workerId } = fieldsOf(holder)
  return { leaseId, by, workerId }
}

function pausing(key: PauseKey): PauseKey {
  const { kind, name, caller } = fieldsOf(key)
  return { kind, name, caller }
}

function foreignJob(jobId: JobId): FairleadError {
  return new FairleadError('Forbidden', `job ${jobId} belongs to another requester`, { jobId })
}

function neverChanges(jobId: JobId, status: JobRow['status']): FairleadError {
  return new FairleadError('InvalidState', `job ${jobId} is ${status} and never changes again`, {
    jobId,
    status,
  })
}

function isNotFound(error: unknown): boolean {
  return error instanceof FairleadError && error.code === 'NotFound'
}

/** Includes the last failure: a caller that may read a job's result may also read why there is none. */
function noResult(
  { id, status, reason }: Pick<JobRow, 'id' | 'status' | 'reason'>,
  failure: FailureRow | undefined,
): FairleadError {
  const why = reason === null ? '' : ` (${reason})`
  const said = [failure?.code, failure?.message].filter((text) => text != null).join(': ')
  const text = `job ${id} is ${status}${why} and has no result${said === '' ? '' : `; ${said}`}`
  const { code, message, attempt, at } = failure ?? {}
  const lastError = failure === undefined ? null : { code, message, attempt, at }
  return new FairleadError(status === 'EXPIRED' ? 'JobExpired' : 'InvalidState', text, {
    reason,
    last_error: lastError,
  })
}

function notFound(what: 'job', id: string): FairleadError {
  return new FairleadError('NotFound', `there is no ${what} ${id}`, { id })
}
