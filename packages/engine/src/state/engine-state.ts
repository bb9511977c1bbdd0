import {
  type AuditHead,
  ackLease,
  advanceMarket,
  cancelJob,
  changePolicy,
  completeLease,
  declineLease,
  dispatchRound,
  EMPTY_AUDIT,
  enqueueJob,
  FairleadError,
  failLease,
  forgetEnded,
  type Job,
  type JobId,
  keptSince,
  type Lease,
  type LimitView,
  localBeacon,
  type Market,
  matchSeed,
  newProvider,
  type Policy,
  type Provider,
  type ProviderId,
  type ReserveAnswer,
  type ReserveRequest,
  recordHeartbeat,
  registerProvider,
  releaseLease,
  renewLease,
  type Seed,
  setProviderStatus,
  taggedHashHex,
  updateOffer,
  type WorkerId,
} from '@fairlead/core'
import {
  type Assigned,
  connectedWorkers,
  connectWorker,
  disconnectWorker,
  epochOf,
  FOUND_OUTPUT,
  invariant,
  leasesOfWorker,
  newWorkers,
  noticeOf,
  resumeMarket,
  type Snapshot,
  setOpening,
  setWorkerSlots,
  showU64,
  U64_MAX,
  usablePolicy,
  type WriteBatch,
  withdrawLease,
} from '@fairlead/core/internal'
import { actorOf, type Command, type EnqueueCommand, type TokenFacts } from '../commands/command.ts'
import type { LogBatch, LogEntry } from '../log/batch.ts'
import { Digest } from '../log/digest.ts'
import { Changes } from '../projector/changes.ts'
import { roundRow } from '../projector/round-row.ts'
import { leaseTimes } from '../workers/lease-offer.ts'
import { type Deliveries, Outbox } from '../workers/outbox.ts'
import { checkCompletion, resultRow, saysFeeFailed } from './completion.ts'
import { type EngineNote, Journal } from './journal.ts'
import { KnownTokens } from './known-tokens.ts'
import { META, QUEUE_KEYS } from './meta.ts'
import { restoreMarket } from './restore-market.ts'

/** What a batch of commands leads to: rows to write, and then what workers are to be told. */
export interface Outcome extends Rows {
  readonly commands: LogBatch
}

/** The rows that have changed, and what belongs to them. */
export interface Rows extends Deliveries {
  readonly batch: WriteBatch
  /** Jobs that have ended. */
  readonly ended: readonly Job[]
}

/** What came of a command. */
export interface Applied {
  readonly reply: unknown
  /** False: it is as if it had never been given. */
  readonly isChanged: boolean
}

const TICK: Command = { type: 'tick' }
const CHANGED: Applied = { reply: undefined, isChanged: true }

/** How many leases a round gave, and whether there may be work for another one. */
export interface RoundReply {
  readonly assigned: number
  readonly isFull: boolean
}

/**
 * The state machine of the engine. `apply` is synchronous and does no I/O: it checks, changes the
 * state in memory and returns the reply; `takeOutcome` gives what is to be written since the last
 * time. Nothing of it may be seen by anyone before the write has been confirmed (ENGINE-2).
 */
export class EngineState {
  readonly market: Market
  readonly #journal: Journal
  readonly #installationSeed: Uint8Array
  #journalCut: AuditHead
  #enqueueSeq: number
  #roundHeight: number
  #actor = 'engine'
  /** The command at hand has changed something that is stored. */
  #isChanged = false
  /** What is recorded in the place of the command at hand, where a part of it changes nothing. */
  #accepted: Command | null = null
  /** Those that changed something since the last outcome. */
  #entries: LogEntry[] = []
  /** When something changed last. */
  #recordedAt: number
  readonly #digest: Digest
  readonly #changes = new Changes(() => {
    this.#isChanged = true
  })
  readonly #tokens: KnownTokens
  #tokensSeen: boolean
  readonly #outbox = new Outbox()
  /** The notice that workers of a provider were told last. It is no part of the state: it decides nothing. */
  readonly #notices = new Map<ProviderId, string>()
  #isPolicyNew = false
  /** As they were last written, by their names. */
  readonly #counters = new Map<string, number | bigint>()
  #erasedBefore: number
  /** The seed of the last round, and what it was made from. */
  #lastSeed: {
    readonly chainId: number | bigint
    readonly epochId: number
    readonly height: number
    readonly seed: Seed
  } | null = null

  constructor(options: {
    readonly snapshot: Snapshot
    readonly policy: Policy
    /** Who got work when, as far back as the windows of requesters reach. */
    readonly assigned: readonly Assigned[]
    readonly installationSeed: Uint8Array
  }) {
    const { snapshot, policy, assigned, installationSeed } = options
    const nowMs = Number(snapshot.meta[META.beat])
    this.#recordedAt = nowMs
    this.#digest = new Digest(Number(snapshot.meta[META.digest] ?? 0))
    this.#journal = new Journal(snapshot.lastEntry, this.#digest)
    this.#installationSeed = installationSeed
    this.#journalCut = cutOf(snapshot)
    this.#enqueueSeq = Number(snapshot.meta[META.enqueueSeq] ?? 0)
    this.#roundHeight = Number(snapshot.meta[META.roundHeight] ?? 0)
    this.#erasedBefore = Number(snapshot.meta[META.erasedBefore] ?? 0)
    this.#tokens = new KnownTokens(snapshot)
    this.#tokensSeen = snapshot.meta[META.tokensSeen] !== undefined
    this.market = restoreMarket({
      snapshot,
      policy,
      nowMs,
      emit: (event, job) => {
        this.#isChanged = true
        this.#journal.append(event, this.#actor, this.market, job?.enqueueSeq)
        if (event.type !== 'leaseCancelled') return
        const lease = this.market.leases.get(event.leaseId)
        if (lease !== undefined) this.#outbox.lost(lease, event.reason)
      },
      touch: {
        limits: () => {
          this.#isChanged = true
        },
        job: (job) => {
          this.#isChanged = true
          this.#changes.jobs.add(job)
        },
        lease: (lease) => {
          this.#isChanged = true
          this.#changes.leases.add(lease)
          if (lease.status === 'EXPIRED') this.#outbox.lost(lease, 'deadline')
        },
        provider: (provider) => {
          this.#isChanged = true
          this.#changes.providers.add(provider)
        },
        failure: ({ job, attempt }, { code, message, details }) => {
          const { id: jobId, enqueueSeq: jobSeq } = job
          const at = this.market.nowMs
          this.#changes.failures.push({ jobId, jobSeq, attempt, at, code, message, details })
        },
        session: this.#changes.sessions.touch,
      },
    })
    this.market.windows.restore(assigned, policy)
    // As they are stored: what a restart writes anew would tell it from one engine that went on.
    this.#noteCounters()
    this.#changes.meta = {}
  }

  /** When something changed last, a sign of life included. */
  get recordedAt(): number {
    return this.#recordedAt
  }

  /** How many commands have changed something since the last batch was taken. */
  get recorded(): number {
    return this.#entries.length
  }

  /** The last entry that was cut off the journal; what is left begins behind it. */
  get journalCut(): AuditHead {
    return this.#journalCut
  }

  /** True once there was a token (TOKEN-1). */
  get tokensSeen(): boolean {
    return this.#tokensSeen
  }

  /**
   * Carries a command out at a time, after all that fell due before it (ENGINE-1), and says whether anything has
   * changed. A refused command throws: then it has changed nothing, and what fell due is a tick of its own.
   */
  apply(command: Command, nowMs: number): Applied {
    const { market } = this
    this.#actor = 'engine'
    this.#isChanged = false
    // Before anything falls due: the gap is charged to nobody.
    if (command.type === 'resume') resumeMarket(market, command.gapMs)
    advanceMarket(market, nowMs)
    forgetEnded(market)
    if (this.#isChanged && command.type !== 'resume') {
      this.#record(TICK)
      if (command.type === 'tick') return CHANGED
      this.#isChanged = false
    }
    this.#actor = actorOf(command)
    this.#accepted = null
    const reply = this.#carryOut(command)
    forgetEnded(market)
    if (this.#isChanged) this.#record(this.#accepted ?? command)
    return { reply, isChanged: this.#isChanged }
  }

  /** A command that changed something is part of what the state comes from; no other is. */
  #record(command: Command): void {
    const at = this.market.nowMs
    this.#recordedAt = at
    this.#entries.push({ command, at })
  }

  #carryOut(command: Command): unknown {
    const { market } = this
    switch (command.type) {
      case 'enqueue':
        return this.#enqueue(command)
      case 'cancel':
        return cancelJob(market, this.#job(command.jobId), command.by)
      case 'ack':
        return void ackLease(market, command)
      case 'renew':
        // As they are now: by the time that this is told, the next renewal may have been applied.
        return leaseTimes(renewLease(market, command), market.nowMs)
      case 'decline':
        return void declineLease(market, command)
      case 'release':
        return void releaseLease(market, command)
      case 'complete':
        return this.#complete(command)
      case 'fail':
        return this.#fail(command)
      case 'withdraw':
        return withdrawLease(market, command.leaseId)
      case 'registerProvider':
        return this.#register(command)
      case 'updateProvider': {
        const provider = this.#provider(command.providerId)
        updateOffer(market, provider, command.offer)
        return this.#note({ type: 'providerUpdated', at: market.nowMs, providerId: provider.id })
      }
      case 'heartbeat':
        return recordHeartbeat(market, this.#provider(command.providerId))
      case 'connectWorker':
        return this.#connect(command)
      case 'setWorkerSlots':
        return setWorkerSlots(market, this.#provider(command.providerId), command)
      case 'disconnectWorker': {
        const provider = this.#provider(command.providerId)
        return disconnectWorker(market, provider, command.workerId)
      }
      case 'setProviderStatus':
        return setProviderStatus(market, this.#provider(command.providerId), command.status)
      case 'stake':
        return this.#stake(command)
      case 'setOpening':
        return this.#setOpening(command)
      case 'releasePlace':
        return this.#releasePlace(command)
      case 'setPolicy':
        return this.#setPolicy(command)
      case 'cutJournal':
        return this.#cutJournal(command.cut)
      case 'note':
        return this.#note({ at: market.nowMs, ...command.note })
      case 'noteTokens':
        return this.#noteTokens(command.tokens)
      case 'defineLimit':
        return this.#defineLimit(command.limit)
      case 'resetLimit': {
        const view = market.limits.reset(command.key, market.nowMs)
        if (view !== null)
          this.#note({ type: 'limitReset', at: market.nowMs, subject: command.key })
        return view
      }
      case 'deleteLimit': {
        const isDeleted = market.limits.delete(command.key, market.nowMs)
        if (isDeleted) this.#note({ type: 'limitDeleted', at: market.nowMs, subject: command.key })
        return isDeleted
      }
      case 'reserveLimits':
        return this.#onLimits(command, (request) => this.#reserve(request))
      case 'completeLimits':
        return this.#onLimits(command, ({ leaseId, actuals = [] }) =>
          market.limits.complete(leaseId, actuals, market.nowMs),
        )
      case 'listLimits': {
        const { key } = command
        if (key === null) return market.limits.list(market.nowMs)
        const view = market.limits.get(key, market.nowMs)
        return view === null ? [] : [view]
      }
      case 'round':
        return this.#round()
      case 'prune':
        return this.#prune()
      case 'resume':
        return this.#resume(command)
      case 'beat':
        this.#isChanged = true
        return undefined
      case 'tick':
        return undefined
    }
  }

  /** Workers that are there hear again what they hold, in case they missed what was stored last (WORKER-7). */
  welcome(sessionOf: (providerId: ProviderId, workerId: WorkerId) => number | null): void {
    const { market } = this
    for (const { provider, workerId } of connectedWorkers(market)) {
      const session = sessionOf(provider.id, workerId)
      if (session === null) continue
      const leases = leasesOfWorker(market, provider, workerId)
      this.#welcome(provider, { workerId, session }, leases)
    }
  }

  /** Who is not present has left by now; the gap was closed before the time moved on. */
  #resume({ present }: Extract<Command, { type: 'resume' }>): void {
    const there = new Set(present.map(({ providerId, workerId }) => `${providerId} ${workerId}`))
    for (const { provider, workerId } of connectedWorkers(this.market)) {
      if (there.has(`${provider.id} ${workerId}`)) continue
      this.#actor = provider.id
      disconnectWorker(this.market, provider, workerId)
    }
  }

  /**
   * Ended jobs are deleted once they have been kept for the horizon (TTL-3), and no sooner than the
   * window of requesters is done with their assignments: these are nowhere else. What registrations say
   * of people goes before, if it is to be kept for less long (AUDIT-10). A result goes with its job, or later.
   */
  #prune(): void {
    const { nowMs, policy } = this.market
    const { quotas, ttl } = policy.queue
    this.#isChanged = true
    this.#changes.sessions.forgetBefore(this.market, keptSince(policy, nowMs))
    const keptSecs = Math.max(ttl.gcHorizonSecs, quotas.requesterWindow?.secs ?? 0)
    this.#changes.pruneEndedBefore = nowMs - 1_000 * keptSecs
    const { resultRetentionSecs } = policy.queue.completion
    if (resultRetentionSecs !== null) {
      this.#changes.pruneResultsBefore = nowMs - 1_000 * Math.max(keptSecs, resultRetentionSecs)
    }
    this.#eraseBefore(nowMs - 1_000 * Math.min(keptSecs, policy.audit.piiRetentionSecs))
  }

  /** Who ends from now on ends later than this, so that no span has to be gone through twice. */
  #eraseBefore(before: number): void {
    if (before <= this.#erasedBefore) return
    const from = this.#changes.eraseEnded?.from ?? this.#erasedBefore
    this.#changes.eraseEnded = { from, before }
    this.#erasedBefore = before
    this.#changes.meta[META.erasedBefore] = String(before)
  }

  /** Ends a batch: gives its commands, what they changed, and what is to be told of it. */
  takeOutcome(): Outcome {
    const commands = this.takeBatch()
    return { commands, ...this.takeRows() }
  }

  /** The commands that changed something since the last batch; they lead here again (ENGINE-1). */
  takeBatch(): LogBatch {
    const entries = this.#entries
    this.#entries = []
    return { entries, digest: this.#digest.sum }
  }

  /**
   * The rows that changed since the last call, as they are after the last command. It is no matter when and how often
   * this is called: it changes nothing that decides, and rows do not tell where batches end.
   */
  takeRows(): Rows {
    this.#noteCounters()
    this.#takeNotices()
    this.#changes.meta[META.beat] = String(this.#recordedAt)
    this.#changes.meta[META.digest] = String(this.#digest.sum)
    const journal = this.#journal.take()
    const { batch, ended } = this.#changes.take({
      market: this.market,
      journal,
      lastSeq: this.#enqueueSeq,
      tokens: this.#tokens.take(),
    })
    return { batch, ended, ...this.#outbox.take() }
  }

  /** Workers hear when something else than before keeps their provider from work (WORKER-15). */
  #takeNotices(): void {
    const { pool, nowMs, policy } = this.market
    const changed = this.#isPolicyNew ? pool.all() : this.#changes.providers
    this.#isPolicyNew = false
    for (const provider of changed) {
      const notice = noticeOf(provider, nowMs, policy)
      const { id: providerId } = provider
      if (notice?.message === this.#notices.get(providerId)) continue
      if (notice === null) this.#notices.delete(providerId)
      else this.#notices.set(providerId, notice.message)
      this.#outbox.notice({ providerId, notice })
    }
  }

  #enqueue({ request, tier, origin, session }: EnqueueCommand): JobId {
    const { jobId: id, caller, kind, maxFee: fee, sizeBytes, demand, regions, needs } = request
    const enqueueSeq = this.#enqueueSeq + 1
    enqueueJob(this.market, {
      id,
      kind,
      caller,
      tier,
      fee,
      sizeBytes,
      demand,
      regions,
      needs,
      ttlAbsSecs: request.ttlAbsSecs,
      origin,
      enqueueSeq,
      // The id comes from caller and key, and nobody has had this key.
      isNew: true,
      session,
    })
    this.#enqueueSeq = enqueueSeq
    this.#changes.requests.push(request)
    return id
  }

  #complete(command: Extract<Command, { type: 'complete' }>): void {
    const { market } = this
    checkCompletion(command, market.policy)
    const isFirst = market.leases.get(command.leaseId)?.status !== 'COMPLETED'
    const lease = completeLease(market, command)
    if (lease.job.status === 'COMPLETED' && isFirst) {
      this.#changes.results.push(resultRow(lease, command, market.nowMs))
      const { id: jobId, enqueueSeq, session } = lease.job
      if (session === null) return
      this.#changes.personalResults.add(enqueueSeq)
      if (saysFeeFailed(command.output)) {
        this.#note({ type: 'feeFailed', at: market.nowMs, jobId })
      }
    }
  }

  /** A lookup may have found that an earlier attempt has booked. */
  #fail(command: Extract<Command, { type: 'fail' }>): void {
    const lease = failLease(this.market, command)
    if (lease.status === 'COMPLETED' && lease.digest !== null) {
      const found = {
        digest: lease.digest,
        output: FOUND_OUTPUT,
        contentType: 'application/cbor',
        meta: null,
        actualUnits: null,
      }
      this.#changes.results.push(resultRow(lease, found, this.market.nowMs))
    }
  }

  #register(command: Extract<Command, { type: 'registerProvider' }>): Provider {
    const { providerId: id, offer, stake } = command
    const lastHeartbeat = this.market.nowMs
    const provider = newProvider({ id, offer, stake, lastHeartbeat, workers: newWorkers() })
    registerProvider(this.market, provider)
    return provider
  }

  #stake({ providerId, amount }: Extract<Command, { type: 'stake' }>): bigint {
    const { market } = this
    const provider = this.#provider(providerId)
    const stake = provider.stake + amount
    if (stake > U64_MAX) {
      throw new FairleadError('LimitExceeded', 'amount_u64: the stake would be over 2^64 − 1', {
        limit: 'amount_u64',
        max: (U64_MAX - provider.stake).toString(),
        observed: amount.toString(),
      })
    }
    provider.stake = stake
    market.pool.touch(provider, market.nowMs)
    market.touch.provider(provider)
    const amounts = { amount: showU64(amount), stake: showU64(stake) }
    this.#note({ type: 'providerStaked', at: market.nowMs, providerId, ...amounts })
    return stake
  }

  #setPolicy(command: Extract<Command, { type: 'setPolicy' }>): Policy {
    const { market } = this
    const { written, preset, assigned } = command
    const policy = usablePolicy(written, preset)
    invariant(assigned !== 'unknown', 'what was assigned before has been looked up')
    const text = JSON.stringify(written)
    const digest = taggedHashHex('fairlead|policy', text)
    this.#note({ type: 'policyChanged', at: market.nowMs, subject: 'policy', preset, digest })
    changePolicy(market, policy)
    this.#isPolicyNew = true
    if (assigned !== null) market.windows.restore(assigned, policy)
    this.#changes.meta[META.policy] = text
    this.#changes.meta[META.preset] = preset
    return policy
  }

  /** Gives how many entries go. */
  #cutJournal(cut: AuditHead): number {
    const { seq, hash } = cut
    const deleted = seq - this.#journalCut.seq
    // Another one may have come first.
    if (deleted <= 0) return 0
    this.#note({ type: 'auditPruned', at: this.market.nowMs, subject: 'audit', last: seq, hash })
    this.#journalCut = { seq, hash }
    this.#changes.cutJournalAt = seq
    this.#changes.meta[META.journalCut] = `${seq} ${hash}`
    return deleted
  }

  #setOpening(command: Extract<Command, { type: 'setOpening' }>): void {
    const { market } = this
    const record = setOpening(market, command, command.opensAt)
    this.#note({ type: 'openingSet', at: market.nowMs, subject: 'session', ...record })
  }

  /** False if it holds none. */
  #releasePlace({ jobId, seq, ...key }: Extract<Command, { type: 'releasePlace' }>): boolean {
    const { market } = this
    const freed = market.seats.release(key, jobId)
    if (freed === null) return false
    market.touch.session.released(freed)
    const note: EngineNote = { type: 'placeReleased', at: market.nowMs, jobId }
    this.#isChanged = true
    this.#journal.append(note, this.#actor, market, seq)
    return true
  }

  /** Each request has an answer of its own. Those that change nothing, wrong ones among them, are not recorded. */
  #onLimits<Call extends Extract<Command, { readonly requests: unknown }>, Answer>(
    command: Call,
    answer: (request: Call['requests'][number]) => Answer,
  ): Answer[] {
    const effective: Call['requests'][number][] = []
    const answers = command.requests.map((request) => {
      this.#isChanged = false
      const answered = answer(request)
      if (this.#isChanged) effective.push(request)
      return answered
    })
    this.#isChanged = effective.length > 0
    if (effective.length < command.requests.length) {
      this.#accepted = { ...command, requests: effective } as Command
    }
    return answers
  }

  #reserve({ leaseId, requirements }: ReserveRequest): ReserveAnswer {
    const { limits, nowMs } = this.market
    const { seq } = limits
    const answer = limits.reserve(leaseId, requirements, nowMs)
    // An id that was remembered already is told what it was told before.
    if (limits.seq !== seq) this.#digest.add(`reserve ${answer.allowed} ${answer.retryAfterMs}`)
    return answer
  }

  #defineLimit(limit: unknown): LimitView {
    const { market } = this
    const view = market.limits.define(limit, market.nowMs)
    this.#note({ type: 'limitDefined', at: market.nowMs, subject: view.limit.key })
    return view
  }

  #noteTokens(tokens: readonly TokenFacts[]): void {
    for (const change of this.#tokens.note(tokens, this.market.nowMs)) this.#note(change)
    if (tokens.length === 0 || this.#tokensSeen) return
    this.#tokensSeen = true
    this.#isChanged = true
    this.#changes.meta[META.tokensSeen] = '1'
  }

  /** For what happened outside of the market; who acted is the one of the command. */
  #note(note: EngineNote): void {
    this.#isChanged = true
    this.#journal.append(note, this.#actor, this.market)
  }

  #connect(command: Extract<Command, { type: 'connectWorker' }>): void {
    const provider = this.#provider(command.providerId)
    this.#welcome(provider, command, connectWorker(this.market, provider, command))
  }

  /** A worker is told what it goes on with; what it has not acked is pushed again. */
  #welcome(
    provider: Provider,
    { workerId, session }: { readonly workerId: WorkerId; readonly session: number },
    leases: readonly Lease[],
  ): void {
    const { nowMs, policy } = this.market
    const times = leases.map((lease) => leaseTimes(lease, nowMs))
    const notice = noticeOf(provider, nowMs, policy)
    this.#outbox.held({ providerId: provider.id, workerId, session, leases: times, notice })
    this.#outbox.offer(leases.filter(({ isAcked }) => !isAcked))
  }

  /** One round; its seed comes from the number of rounds that assigned something before (ID-2). */
  #round(): RoundReply {
    const { market } = this
    const height = this.#roundHeight
    const seed = this.#seed(height)
    const { rounds, leases, moved } = dispatchRound(market, seed)
    for (const lease of leases) this.#changes.newLeases.set(lease, height)
    this.#outbox.offer(moved)
    this.#outbox.offer(leases)
    if (leases.length > 0) {
      this.#roundHeight++
      for (const round of rounds) {
        if (round.assignments.length === 0) continue
        this.#changes.rounds.push(roundRow(round, { market, rounds, height, seed }))
        const counters = market.queues.get(round.kind)?.counters()
        this.#digest.add(`round ${height} ${round.kind} ${counters?.grants} ${counters?.virtual}`)
      }
    }
    const { batchSize } = market.policy.queue
    return {
      assigned: leases.length,
      isFull: rounds.some(({ batch }) => batch.jobs.length === batchSize),
    }
  }

  /** Most rounds assign nothing, and the next one has the same seed. */
  #seed(height: number): Seed {
    const { nowMs, policy } = this.market
    const chainId = policy.chain.id
    const epochId = epochOf(nowMs, policy)
    const last = this.#lastSeed
    if (last?.height === height && last.epochId === epochId && last.chainId === chainId) {
      return last.seed
    }
    const beacon = localBeacon(this.#installationSeed, height)
    const seed = matchSeed({ chainId, epochId, height, beacon })
    this.#lastSeed = { chainId, epochId, height, seed }
    return seed
  }

  #noteCounters(): void {
    for (const [name, value] of this.#counterValues()) this.#noteCounter(name, value)
  }

  *#counterValues(): IterableIterator<readonly [name: string, value: number | bigint]> {
    yield [META.enqueueSeq, this.#enqueueSeq]
    yield [META.roundHeight, this.#roundHeight]
    yield [META.limitSeq, this.market.limits.seq]
    yield [META.limitsFrom, this.market.limits.anewFrom]
    for (const [kind, queue] of this.market.queues) {
      const { grants, virtual } = queue.counters()
      const keys = QUEUE_KEYS[kind]
      yield [keys.grants, grants]
      yield [keys.virtual, virtual]
    }
  }

  /** What is stored already is not written again. */
  #noteCounter(name: string, value: number | bigint): void {
    if (this.#counters.get(name) === value) return
    this.#counters.set(name, value)
    this.#changes.meta[name] = value.toString()
  }

  #job(id: JobId): Job {
    const job = this.market.jobs.get(id)
    if (job !== undefined) return job
    throw new FairleadError('NotFound', `there is no job ${id}`, { jobId: id })
  }

  #provider(id: ProviderId): Provider {
    const provider = this.market.pool.get(id)
    if (provider !== undefined) return provider
    throw new FairleadError('NotFound', `there is no provider ${id}`, { providerId: id })
  }
}

function cutOf({ meta }: Snapshot): AuditHead {
  const [seq, hash] = meta[META.journalCut]?.split(' ') ?? []
  return seq === undefined || hash === undefined ? EMPTY_AUDIT : { seq: Number(seq), hash }
}
