import {
  type AcceptedRequest,
  type AuditHead,
  acceptRequest,
  ackLease,
  advanceMarket,
  cancelJob,
  changePolicy,
  completeLease,
  connectWorker,
  declineLease,
  disconnectWorker,
  dispatchRound,
  EMPTY_AUDIT,
  enqueueJob,
  epochOf,
  FairleadError,
  FOUND_OUTPUT,
  failLease,
  forgetJob,
  fromHex,
  invariant,
  type Job,
  type JobId,
  type Lease,
  type LimitView,
  leasesOfWorker,
  localBeacon,
  type Market,
  matchSeed,
  newProvider,
  newWorkers,
  noticeOf,
  type Policy,
  type Provider,
  type ProviderId,
  recordHeartbeat,
  registerProvider,
  releaseLease,
  renewLease,
  type Seed,
  type Snapshot,
  sessionFacts,
  setOpening,
  setProviderStatus,
  setWorkerSlots,
  showU64,
  taggedHashHex,
  taskId,
  toHex,
  U64_MAX,
  updateOffer,
  usablePolicy,
  type WorkerId,
  type WriteBatch,
  withdrawLease,
} from '@fairlead/core'
import { Changes } from './changes.ts'
import { actorOf, type Command, type KnownJob, type TokenFacts } from './command.ts'
import { checkCompletion, resultRow, saysFeeFailed } from './completion.ts'
import { type EngineNote, Journal } from './journal.ts'
import { KnownTokens } from './known-tokens.ts'
import { leaseTimes } from './lease-offer.ts'
import { META, QUEUE_KEYS } from './meta.ts'
import { type Deliveries, Outbox } from './outbox.ts'
import { restoreMarket } from './restore-market.ts'
import { roundRow } from './round-row.ts'

/** What a batch of commands leads to: rows to write, and then what workers are to be told. */
export interface Outcome extends Deliveries {
  readonly batch: WriteBatch
  /** Jobs that are to be forgotten then, and keys that the store knows then. */
  readonly ended: readonly Job[]
  readonly keys: readonly string[]
}

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
  /** Jobs by the keys of their callers, until the store is sure to know them. */
  readonly #byKey = new Map<string, KnownJob>()
  #keys: string[] = []
  #storedKeys: string[] = []
  readonly #changes = new Changes()
  readonly #tokens: KnownTokens
  #tokensSeen: boolean
  readonly #outbox = new Outbox()
  /** The notice that workers of a provider were told last. It is no part of the state: it decides nothing. */
  readonly #notices = new Map<ProviderId, string>()
  #isPolicyNew = false
  /** As they were last written, by their names. */
  readonly #counters = new Map<string, number | bigint>()
  #erasedBefore: number
  #lastHeight = { secs: 0, height: 0n }
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
    readonly nowMs: number
    readonly gapMs: number
    readonly installationSeed: Uint8Array
  }) {
    const { snapshot, policy, nowMs, gapMs, installationSeed } = options
    this.#journal = new Journal(snapshot.lastEntry)
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
      gapMs,
      emit: (event, job) => {
        this.#journal.append(event, this.#actor, this.market, job?.enqueueSeq)
        if (event.type !== 'leaseCancelled') return
        const lease = this.market.leases.get(event.leaseId)
        if (lease !== undefined) this.#outbox.lost(lease, event.reason)
      },
      touch: {
        job: (job) => this.#changes.jobs.add(job),
        lease: (lease) => {
          this.#changes.leases.add(lease)
          if (lease.status === 'EXPIRED') this.#outbox.lost(lease, 'deadline')
        },
        provider: (provider) => this.#changes.providers.add(provider),
        failure: ({ job, attempt }, { code, message, details }) => {
          const { id: jobId, enqueueSeq: jobSeq } = job
          const at = this.market.nowMs
          this.#changes.failures.push({ jobId, jobSeq, attempt, at, code, message, details })
        },
        session: this.#changes.sessions.touch,
      },
    })
    // As they are stored: what a restart writes anew would tell it from one engine that went on.
    this.#noteCounters()
    this.#changes.meta = {}
  }

  /** The last entry that was cut off the journal; what is left begins behind it. */
  get journalCut(): AuditHead {
    return this.#journalCut
  }

  /** True once there was a token (TOKEN-1). */
  get tokensSeen(): boolean {
    return this.#tokensSeen
  }

  /** Carries a command out at a time, after all that fell due before it (ENGINE-1). */
  apply(command: Command, nowMs: number): unknown {
    const { market } = this
    this.#actor = 'engine'
    advanceMarket(market, nowMs)
    this.#actor = actorOf(command)
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
        return command.requests.map(({ leaseId, requirements }) =>
          market.limits.reserve(leaseId, requirements, market.nowMs),
        )
      case 'completeLimits':
        return command.requests.map(({ leaseId, actuals = [] }) =>
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
      case 'tick':
        return undefined
    }
  }

  /**
   * After loading: workers that the state has as connected and that are not have left by now
   * (WORKER-7). The others hear again what they hold, in case they missed what was stored last.
   * `sessionOf` gives the number of a worker's session, or null if it has none.
   */
  rejoin(sessionOf: (providerId: ProviderId, workerId: WorkerId) => number | null): void {
    const { market } = this
    for (const provider of market.pool.all()) {
      for (const { id: workerId, goneSince } of [...(provider.workers?.byId.values() ?? [])]) {
        if (goneSince !== null) continue
        const session = sessionOf(provider.id, workerId)
        if (session !== null) {
          const leases = leasesOfWorker(market, provider, workerId)
          this.#welcome(provider, { workerId, session }, leases)
        } else {
          this.apply({ type: 'disconnectWorker', providerId: provider.id, workerId }, market.nowMs)
        }
      }
    }
  }

  /**
   * Ended jobs are deleted once they have been kept for the horizon (TTL-3), and no sooner than the
   * window of requesters is done with their assignments: these are nowhere else. What registrations say
   * of people goes before, if it is to be kept for less long (AUDIT-10). A result goes with its job, or later.
   */
  prune(): void {
    const { nowMs, policy } = this.market
    const { quotas, ttl } = policy.queue
    this.#changes.sessions.forgetBefore(this.market, nowMs - 1_000 * ttl.gcHorizonSecs)
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
    this.#changes.eraseEnded = { from: this.#erasedBefore, before }
    this.#erasedBefore = before
    this.#changes.meta[META.erasedBefore] = String(before)
  }

  /** Everything that changed since the last call. */
  takeOutcome(): Outcome {
    this.#noteCounters()
    this.#takeNotices()
    const journal = this.#journal.take()
    const { batch, ended } = this.#changes.take({
      market: this.market,
      journal,
      lastSeq: this.#enqueueSeq,
      tokens: this.#tokens.take(),
    })
    const keys = this.#keys
    this.#keys = []
    return { batch, ended, keys, ...this.#outbox.take() }
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

  /** To be called when an outcome is stored: what has ended lives on in the store. */
  settle({ ended, keys }: Outcome): void {
    for (const job of ended) forgetJob(this.market, job)
    this.#storedKeys.push(...keys)
  }

  /** To be called before the store is asked for keys: it knows all that were stored by then. */
  forgetStoredKeys(): void {
    for (const key of this.#storedKeys) this.#byKey.delete(key)
    this.#storedKeys = []
  }

  /** The same key again with the same payload is the first job, with another one a conflict. */
  #enqueue(command: Extract<Command, { type: 'enqueue' }>): JobId {
    const { market } = this
    const { txHash, caller, tier, before, isOperator = false, enqueueBlock = null } = command
    invariant(before !== 'unknown', 'what was enqueued before has been looked up')
    const accepted = acceptRequest(command.request, market.policy, {
      caller,
      chainId: market.policy.chain.id,
      enqueueHeight: enqueueBlock ?? this.#height(),
      txHash,
    })
    const isFromChain = enqueueBlock !== null
    const request = isFromChain ? { ...accepted, txHash: accepted.jobId } : accepted
    // Under one that was made for it nobody asks again.
    const key = typeof request.txHash === 'string' ? `${caller}${request.txHash}` : null
    const known = key === null ? undefined : (before ?? this.#byKey.get(key))
    if (known !== undefined) {
      if (isSameRequest(known, request)) return known.id
      throw new FairleadError(
        'IdempotencyConflict',
        'idempotency_key: it was used before for a request with another payload; use a key of its own',
        { field: 'idempotency_key', jobId: known.id },
      )
    }
    const { jobId: id, kind, maxFee: fee, sizeBytes, demand, regions, needs, ttlAbsSecs } = request
    const origin = isFromChain
      ? { ...command.origin, txHash: hexOf(accepted.txHash) }
      : command.origin
    const enqueueSeq = this.#enqueueSeq + 1
    const session = kind === 'registration' ? sessionFacts(request.payload, isOperator) : null
    enqueueJob(market, {
      id,
      kind,
      caller,
      tier,
      fee,
      sizeBytes,
      demand,
      regions,
      needs,
      ttlAbsSecs,
      origin,
      enqueueSeq,
      // The id comes from caller and key, and nobody has had this key.
      isNew: true,
      session,
    })
    this.#enqueueSeq = enqueueSeq
    this.#changes.requests.push(request)
    if (key !== null) {
      this.#byKey.set(key, { id, payload: request.payloadCbor })
      this.#keys.push(key)
    }
    return id
  }

  /** The second of the clock, where no chain has a height. */
  #height(): bigint {
    const secs = Math.floor(this.market.nowMs / 1_000)
    if (secs !== this.#lastHeight.secs) this.#lastHeight = { secs, height: BigInt(secs) }
    return this.#lastHeight.height
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
    this.#journal.append(note, this.#actor, market, seq)
    return true
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
    this.#changes.meta[META.tokensSeen] = '1'
  }

  /** For what happened outside of the market; who acted is the one of the command. */
  #note(note: EngineNote): void {
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
        if (round.assignments.length > 0)
          this.#changes.rounds.push(roundRow(round, { market, rounds, height, seed }))
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
    this.#changes.meta[META.beat] = String(this.market.nowMs)
    this.#noteCounter(META.enqueueSeq, this.#enqueueSeq)
    this.#noteCounter(META.roundHeight, this.#roundHeight)
    this.#noteCounter(META.limitSeq, this.market.limits.seq)
    for (const [kind, queue] of this.market.queues) {
      const { grants, virtual } = queue.counters()
      const keys = QUEUE_KEYS[kind]
      this.#noteCounter(keys.grants, grants)
      this.#noteCounter(keys.virtual, virtual)
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

/** Of a request that was erased in part its id is left, which comes from all of it (ID-1). */
function isSameRequest({ id, payload, erased }: KnownJob, request: AcceptedRequest): boolean {
  if (erased === undefined) return Buffer.compare(payload, request.payloadCbor) === 0
  const { caller, txHash, payloadCbor } = request
  const callerBytes = fromHex(caller)
  const txBytes = typeof txHash === 'string' ? fromHex(txHash) : txHash
  invariant(callerBytes !== null && txBytes !== null, 'ids were checked when they came in')
  return id === taskId({ ...erased, txHash: txBytes, caller: callerBytes, payloadCbor })
}

function hexOf(id: string | Uint8Array): string {
  return typeof id === 'string' ? id : toHex(id)
}

function cutOf({ meta }: Snapshot): AuditHead {
  const [seq, hash] = meta[META.journalCut]?.split(' ') ?? []
  return seq === undefined || hash === undefined ? EMPTY_AUDIT : { seq: Number(seq), hash }
}
