import {
  type AuditHead,
  ackLease,
  advanceMarket,
  type BulkRun,
  cancelJob,
  cascade,
  changePolicy,
  completeLease,
  declineLease,
  dispatchRound,
  EMPTY_AUDIT,
  enqueueJob,
  FairleadError,
  failLease,
  forgetEnded,
  fromHex,
  hasEnded,
  type Job,
  type JobId,
  type JobOrigin,
  keptSince,
  type Lease,
  type LimitView,
  localBeacon,
  type Market,
  matchSeed,
  newProvider,
  type Pause,
  type Policy,
  type Preset,
  type Provider,
  type ProviderId,
  type ReserveAnswer,
  type ReserveRequest,
  recordHeartbeat,
  registerProvider,
  releaseLease,
  renewLease,
  type Schedule,
  type Seed,
  setProviderStatus,
  taggedHash,
  taggedHashHex,
  updateOffer,
  type WorkerId,
} from '@fairlead/core'
import {
  type Assigned,
  admitProvider,
  applyBlock,
  attestProvider,
  beginClose,
  type Claim,
  computeClose,
  connectedWorkers,
  connectWorker,
  disconnectWorker,
  epochOf,
  FOUND_OUTPUT,
  invalidParams,
  invariant,
  isSamePlan,
  isTimedOut,
  type JournalRecord,
  leasesOfWorker,
  limitExceeded,
  longestRetentionSecs,
  newWorkers,
  noticeOf,
  openChallenge,
  type PauseKey,
  type Progress,
  putOver,
  RETENTION_SECS,
  readPublicKey,
  replaceKey,
  resumeMarket,
  type ScheduleKey,
  type Snapshot,
  setOpening,
  settleEpoch,
  setWorkerSlots,
  showU64,
  stakeProvider,
  submitProof,
  unstakeProvider,
  usablePolicy,
  type WriteBatch,
  withdrawLease,
} from '@fairlead/core/internal'
import {
  actorOf,
  type Command,
  type EnqueueCommand,
  type FireCommand,
  type TokenFacts,
} from '../commands/command.ts'
import type { LogBatch, LogEntry } from '../log/batch.ts'
import { Digest } from '../log/digest.ts'
import { putBulkRun } from '../projector/bulk-rows.ts'
import { Changes } from '../projector/changes.ts'
import { putFollower, restoreFollowers } from '../projector/follower-rows.ts'
import { putPause } from '../projector/pause-rows.ts'
import { putProgress, restoreProgress } from '../projector/progress-rows.ts'
import { roundRow } from '../projector/round-row.ts'
import { putSchedule } from '../projector/schedule-rows.ts'
import { leaseTimes } from '../workers/lease-offer.ts'
import { type Deliveries, Outbox } from '../workers/outbox.ts'
import { resultClaim, resultRow } from './completion.ts'
import { HeldResults } from './held-results.ts'
import { type EngineNote, Journal } from './journal.ts'
import { KnownTokens } from './known-tokens.ts'
import { META, QUEUE_KEYS } from './meta.ts'
import { restoreMarket } from './restore-market.ts'

/** A batch of commands, and what to tell once it is stored. */
export interface Outcome extends Deliveries {
  readonly commands: LogBatch
  /** The events of the batch. */
  readonly journal: readonly JournalRecord[]
  /** Jobs that have ended. */
  readonly ended: readonly Job[]
}

/** The result of one command. */
export interface Applied {
  readonly reply: unknown
  /** False if the command had no effect; it is then not recorded. */
  readonly isChanged: boolean
}

/** The most followers of the journal. */
const FOLLOWERS_MAX = 100

type StakeCommand = Extract<Command, { readonly type: 'stake' | 'unstake' }>

const TICK: Command = { type: 'tick' }
const CHANGED: Applied = { reply: undefined, isChanged: true }

/** The number of leases that a round gave. `isFull` is true if another round may find work. */
export interface RoundReply {
  readonly assigned: number
  readonly isFull: boolean
}

/**
 * The state machine of the engine. `apply` is synchronous and does no I/O: it checks, changes the state in memory
 * and returns the reply. `takeOutcome` returns the changes to write since the last call. None of them may become
 * visible before the write is confirmed (ENGINE-2).
 */
export class EngineState {
  readonly market: Market
  readonly #journal: Journal
  readonly #installationSeed: Uint8Array
  #journalCut: AuditHead
  #enqueueSeq: number
  #roundHeight: number
  #actor = 'engine'
  /** True if the current command has changed something that is stored. */
  #isChanged = false
  /** Recorded in place of the current command if a part of it has no effect. */
  #accepted: Command | null = null
  /** The commands that changed something since the last outcome. */
  #entries: LogEntry[] = []
  /** When something last changed. */
  #recordedAt: number
  readonly #digest: Digest
  readonly #changes = new Changes(() => {
    this.#isChanged = true
  })
  readonly #tokens: KnownTokens
  readonly #held: HeldResults
  /** Of live jobs whose workers have said it. */
  readonly #progress: Map<JobId, Progress>
  readonly #followers: Map<string, number>
  #tokensSeen: boolean
  readonly #outbox = new Outbox()
  /** The last notice that workers of a provider received. It is not part of the state: it influences no decision. */
  readonly #notices = new Map<ProviderId, string>()
  #isPolicyNew = false
  /** Providers that changed since the last outcome. */
  #touched = new Set<Provider>()
  /** Jobs that have ended since the last outcome. */
  #ended: Job[] = []
  /** The counters as last written, by name. */
  readonly #counters = new Map<string, number | bigint>()
  #erasedBefore: number
  /** The seed of the last round, and its inputs. */
  #lastSeed: {
    readonly chainId: number | bigint
    readonly epochId: number
    readonly height: number
    readonly seed: Seed
  } | null = null

  constructor(options: {
    readonly snapshot: Snapshot
    readonly policy: Policy
    /** Past assignments, as far back as the windows of requesters reach. */
    readonly assigned: readonly Assigned[]
  }) {
    const { snapshot, policy, assigned } = options
    const nowMs = Number(snapshot.meta[META.beat])
    this.#recordedAt = nowMs
    this.#digest = new Digest(Number(snapshot.meta[META.digest] ?? 0))
    this.#journal = new Journal(snapshot.lastEntry, this.#digest)
    this.#installationSeed = beaconSeed(snapshot)
    this.#journalCut = cutOf(snapshot)
    this.#enqueueSeq = Number(snapshot.meta[META.enqueueSeq] ?? 0)
    this.#roundHeight = Number(snapshot.meta[META.roundHeight] ?? 0)
    this.#erasedBefore = Number(snapshot.meta[META.erasedBefore] ?? 0)
    this.#tokens = new KnownTokens(snapshot)
    this.#held = new HeldResults(snapshot)
    this.#progress = restoreProgress(snapshot)
    this.#followers = restoreFollowers(snapshot)
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
        dependencies: () => {
          this.#isChanged = true
        },
        job: (job) => {
          this.#isChanged = true
          this.#changes.jobs.add(job)
          if (job.endedAt !== null) this.#ended.push(job)
          // `#prove` takes the result of a job that has just completed.
          if (job.proofAwaitedSince === null && job.status !== 'COMPLETED') {
            this.#held.release(job.id)
          }
          if (!hasEnded(job.status) || !this.#progress.delete(job.id)) return
          putProgress(this.#changes.lanes, job.id, null)
        },
        lease: (lease) => {
          this.#isChanged = true
          this.#changes.leases.add(lease)
          if (lease.status === 'EXPIRED') {
            this.#outbox.lost(lease, isTimedOut(lease) ? 'timeout' : 'deadline')
          }
        },
        provider: (provider) => {
          this.#isChanged = true
          this.#changes.providers.add(provider)
          this.#touched.add(provider)
        },
        fund: () => {
          this.#isChanged = true
        },
        proved: (lease, claim, finalizedHeight) => this.#prove(lease, claim, finalizedHeight),
        failure: ({ job, attempt }, { code, message, details }) => {
          const { id: jobId, enqueueSeq: jobSeq } = job
          const at = this.market.nowMs
          this.#changes.failures.push({ jobId, jobSeq, attempt, at, code, message, details })
        },
        session: this.#changes.sessions.touch,
      },
    })
    this.market.windows.restore(assigned, policy)
    // The counters are already stored. If a restart wrote them again, its rows would differ from those of an engine
    // that kept running.
    this.#noteCounters()
    this.#changes.meta = {}
  }

  /** When something last changed, heartbeats included. */
  get recordedAt(): number {
    return this.#recordedAt
  }

  /** Jobs that have ended since the last `takeOutcome`. */
  get ended(): readonly Job[] {
    return this.#ended
  }

  /** The number of the last job that was accepted. */
  get enqueueSeq(): number {
    return this.#enqueueSeq
  }

  /** The number of the newest entry of the journal. */
  get journalSeq(): number {
    return this.#journal.seq
  }

  /** How many commands have changed something since the last `takeOutcome`. */
  get recorded(): number {
    return this.#entries.length
  }

  /** The last entry that was cut off the journal. The journal now begins after it. */
  get journalCut(): AuditHead {
    return this.#journalCut
  }

  /** True once there was a token (TOKEN-1). */
  get tokensSeen(): boolean {
    return this.#tokensSeen
  }

  /**
   * Applies a command at `nowMs`, after everything that fell due before it (ENGINE-1). A refused command throws
   * and changes nothing. Work that fell due before it is recorded as a tick.
   */
  apply(command: Command, nowMs: number): Applied {
    const { market } = this
    this.#actor = 'engine'
    this.#isChanged = false
    // The gap is closed before anything falls due, so that it is charged to nobody.
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
    this.#admit(command)
    forgetEnded(market)
    if (this.#isChanged) {
      // A gap moves deadlines of leases that no record of the journal names again. Without one, the journal has
      // all that a resume did.
      if (command.type === 'resume' && command.gapMs > 0)
        this.#digest.add(`resume ${command.gapMs}`)
      this.#record(this.#accepted ?? command)
    }
    return { reply, isChanged: this.#isChanged }
  }

  /** Records a command that changed something. Replicas need these commands and no others. */
  #record(command: Command): void {
    const at = this.market.nowMs
    this.#recordedAt = at
    this.#entries.push({ command, at })
  }

  #carryOut(command: Command): unknown {
    const { market } = this
    switch (command.type) {
      case 'enqueue':
        return this.#enqueue(command, command.origin)
      case 'cancel':
        return cancelJob(market, this.#job(command.jobId), command.by)
      case 'ack':
        return void ackLease(market, command)
      case 'renew':
        // Computed now: by the time that this reply is sent, the next renewal may have been applied.
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
      case 'unstake':
        return this.#unstake(command)
      case 'setKey':
        return this.#setKey(command)
      case 'openChallenge': {
        const { providerId, value } = command
        const challenge = openChallenge(market, this.#provider(providerId), value)
        this.#digest.add(`challenge ${market.nowMs} ${providerId} ${value}`)
        return challenge
      }
      case 'attest':
        return attestProvider(market, this.#provider(command.providerId), command)
      case 'submitProof':
        return submitProof(market, { ...command.proof, by: command.by })
      case 'applyBlock': {
        const answer = applyBlock(market, command.block)
        const { head, finalHeight, accepted, refused } = answer
        // One that changed nothing is not recorded, and no replica hears of it.
        if (this.#isChanged)
          this.#digest.add(`block ${market.nowMs} ${head} ${finalHeight} ${accepted} ${refused}`)
        return answer
      }
      case 'recordPayout':
        return this.#recordPayout(command)
      case 'closeEpoch':
        return this.#beginClose(command)
      case 'settleEpoch':
        return this.#settleEpoch(command)
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
      case 'pauseQueue':
        return this.#pause(command)
      case 'resumeQueue':
        return this.#resumeQueue(command)
      case 'progress':
        return this.#noteProgress(command)
      case 'follow':
        return this.#follow(command)
      case 'startBulk':
        return this.#startBulk(command)
      case 'stepBulk':
        return this.#stepBulk(command)
      case 'putSchedule':
        return this.#putSchedule(command)
      case 'deleteSchedule':
        return this.#deleteSchedule(command)
      case 'fireSchedule':
        return this.#fire(command)
      case 'round':
        return this.#round()
      case 'cascade':
        return cascade(market)
      case 'prune':
        return this.#prune()
      case 'forgetJobs':
        return this.#forgetJobs(command)
      case 'resume':
        return this.#resume(command)
      case 'beat':
        this.#isChanged = true
        return undefined
      case 'tick':
        return undefined
    }
  }

  /** Tells connected workers again what they hold, in case they missed the last stored change (WORKER-7). */
  welcome(sessionOf: (providerId: ProviderId, workerId: WorkerId) => number | null): void {
    const { market } = this
    for (const { provider, workerId } of connectedWorkers(market)) {
      const session = sessionOf(provider.id, workerId)
      if (session === null) continue
      const leases = leasesOfWorker(market, provider, workerId)
      this.#welcome(provider, { workerId, session }, leases)
    }
  }

  /** Disconnects workers that are not in `present`. `resumeMarket` closed the gap before the time moved on. */
  #resume({ present }: Extract<Command, { type: 'resume' }>): void {
    const there = new Set(present.map(({ providerId, workerId }) => `${providerId} ${workerId}`))
    for (const { provider, workerId } of connectedWorkers(this.market)) {
      if (there.has(`${provider.id} ${workerId}`)) continue
      this.#actor = provider.id
      disconnectWorker(this.market, provider, workerId)
    }
  }

  /**
   * Deletes ended jobs after the longest retention (TTL-3). Jobs with a shorter one are named by `forgetJobs`.
   * Personal data of registrations is erased earlier if its
   * retention is shorter (AUDIT-10). A result is deleted with its job or later.
   */
  #prune(): void {
    const { nowMs, policy } = this.market
    const { quotas, ttl } = policy.queue
    this.#isChanged = true
    this.#changes.sessions.forgetBefore(this.market, keptSince(policy, nowMs))
    const keptSecs = Math.max(ttl.gcHorizonSecs, quotas.requesterWindow?.secs ?? 0)
    this.#changes.pruneEndedBefore = nowMs - 1_000 * longestRetentionSecs(policy)
    const { resultRetentionSecs } = policy.queue.completion
    if (resultRetentionSecs !== null) {
      this.#changes.pruneResultsBefore = nowMs - 1_000 * Math.max(keptSecs, resultRetentionSecs)
    }
    this.#eraseBefore(nowMs - 1_000 * Math.min(keptSecs, policy.audit.piiRetentionSecs))
  }

  /** Looking at them is the caller's part: the state has no ended jobs. A job is kept for an hour in any case. */
  #forgetJobs({ seqs, endedBefore }: Extract<Command, { type: 'forgetJobs' }>): void {
    const { nowMs, policy } = this.market
    if (seqs.length === 0 || endedBefore > nowMs - 1_000 * RETENTION_SECS.min) return
    this.#isChanged = true
    const { resultRetentionSecs } = policy.queue.completion
    const resultsBefore = resultRetentionSecs === null ? null : nowMs - 1_000 * resultRetentionSecs
    this.#changes.prunedJobs.push({ seqs, resultsBefore })
  }

  /** Jobs that end from now on end after `before`, so no span is scanned twice. */
  #eraseBefore(before: number): void {
    if (before <= this.#erasedBefore) return
    const from = this.#changes.eraseEnded?.from ?? this.#erasedBefore
    this.#changes.eraseEnded = { from, before }
    this.#erasedBefore = before
    this.#changes.meta[META.erasedBefore] = String(before)
  }

  /**
   * Ends a batch. Takes the commands that changed something since the last call, which lead to this state again
   * (ENGINE-1), and the messages about them.
   */
  takeOutcome(): Outcome {
    this.#takeNotices()
    const entries = this.#entries
    this.#entries = []
    const ended = this.#ended
    this.#ended = []
    const journal = this.#journal.take()
    for (const record of journal) this.#changes.journal.push(record)
    return { commands: { entries, digest: this.digest }, journal, ended, ...this.#outbox.take() }
  }

  /** Covers every decision until now (COMMAND-5). */
  get digest(): number {
    return this.#digest.sum
  }

  /**
   * True if jobs were pruned since the last `takeRows`. Rows have to be taken before the next batch then: a job of
   * that may have the key of a pruned one, and rows of one take may not name two jobs alike.
   */
  get hasPruned(): boolean {
    return this.#changes.pruneEndedBefore !== null || this.#changes.prunedJobs.length > 0
  }

  /** Continues from a recorded digest that this state does not agree with (REPLAY-2). */
  acceptDigest(digest: number): void {
    this.#digest.continueFrom(digest)
  }

  /** A measure of the work that `takeRows` would do. */
  get changedRows(): number {
    return this.#changes.size
  }

  /**
   * Takes the rows that changed since the last call, as of the last command. It may be called at any time: it
   * affects no decision, and rows do not show where batches end.
   */
  takeRows(): WriteBatch {
    this.#noteCounters()
    this.#changes.meta[META.beat] = String(this.#recordedAt)
    this.#changes.meta[META.digest] = String(this.#digest.sum)
    return this.#changes.take({
      market: this.market,
      journal: this.#journal.take(),
      lastSeq: this.#enqueueSeq,
      keyed: [...this.#tokens.take(), ...this.#held.take()],
    })
  }

  /** Tells workers when the notice about their provider's right to work changes (WORKER-15). */
  #takeNotices(): void {
    const { pool, nowMs, policy } = this.market
    const changed = this.#isPolicyNew ? pool.all() : this.#touched
    this.#isPolicyNew = false
    if (this.#touched.size > 0) this.#touched = new Set()
    for (const provider of changed) {
      const notice = noticeOf(provider, nowMs, policy)
      const { id: providerId } = provider
      if (notice?.message === this.#notices.get(providerId)) continue
      if (notice === null) this.#notices.delete(providerId)
      else this.#notices.set(providerId, notice.message)
      this.#outbox.notice({ providerId, notice })
    }
  }

  #enqueue(
    { request, tier, session, completed }: Omit<EnqueueCommand, 'type'>,
    origin: JobOrigin | null,
  ): JobId {
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
      options: request.options,
      completed: completed ?? [],
      enqueueSeq,
      // The id is derived from caller and key, and the key is known to be new.
      isNew: true,
      session,
    })
    this.#enqueueSeq = enqueueSeq
    this.#changes.requests.push(request)
    return id
  }

  #complete(command: Extract<Command, { type: 'complete' }>): void {
    const { market } = this
    const isFirst = market.leases.get(command.leaseId)?.status !== 'COMPLETED'
    const lease = completeLease(market, command)
    if (lease.job.proofAwaitedSince !== null && isFirst) this.#held.hold(lease.job.id, command)
    if (lease.job.status === 'COMPLETED' && isFirst) {
      this.#changes.results.push(resultRow(lease, command, market.nowMs))
      if (command.isFeeFailed === true) {
        this.#note({ type: 'feeFailed', at: market.nowMs, jobId: lease.job.id })
      }
    }
  }

  /** A lookup may find that an earlier attempt booked. The job is then completed and has a result. */
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
    const { providerId: id, offer, stake, publicKey = null } = command
    checkPublicKey(publicKey)
    const lastHeartbeat = this.market.nowMs
    const about = { stake, publicKey, status: 'REGISTERED', lastHeartbeat } as const
    const provider = newProvider({ id, offer, ...about, workers: newWorkers() })
    registerProvider(this.market, provider)
    return provider
  }

  #stake({ providerId, amount }: StakeCommand): bigint {
    const { market } = this
    const provider = this.#provider(providerId)
    stakeProvider(market, provider, amount)
    const { stake } = provider
    const amounts = { amount: showU64(amount), stake: showU64(stake) }
    this.#note({ type: 'providerStaked', at: market.nowMs, providerId, ...amounts })
    return stake
  }

  #setPolicy(command: Extract<Command, { type: 'setPolicy' }>): Policy {
    const { market } = this
    const { written, preset, assigned } = command
    const policy = this.checkPolicy(written, preset)
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

  /** The policy in usable form, or a refusal; nothing changes. */
  checkPolicy(written: unknown, preset: Preset): Policy {
    const policy = usablePolicy(written, preset)
    this.#refuseFundChange(policy)
    return policy
  }

  /** Claims that exist were made under these settings. */
  #refuseFundChange({ chain, queue }: Policy): void {
    const { fund, policy } = this.market
    if (fund.hasClaims && queue.quotas.epochSecs !== policy.queue.quotas.epochSecs) {
      throw invalidParams(
        'queue.quotas.epoch_secs',
        `${policy.queue.quotas.epochSecs}: claims have been priced by epochs of this length`,
      )
    }
    if (fund.claims.hasPending && chain.source !== policy.chain.source) {
      throw invalidParams('chain.source', `${policy.chain.source} while claims are PENDING`)
    }
  }

  /** Returns the number of deleted entries. */
  #cutJournal(cut: AuditHead): number {
    const { seq, hash } = cut
    const deleted = seq - this.#journalCut.seq
    // Another cut may have been applied first.
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

  /** False if the job holds no place. */
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

  /** Answers each request separately. Requests without effect, invalid ones included, are not recorded. */
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
    // A remembered id gets its earlier answer, which is in the digest already.
    if (limits.seq !== seq) this.#digest.add(`reserve ${answer.allowed} ${answer.retryAfterMs}`)
    return answer
  }

  #defineLimit(limit: unknown): LimitView {
    const { market } = this
    const view = market.limits.define(limit, market.nowMs)
    this.#note({ type: 'limitDefined', at: market.nowMs, subject: view.limit.key })
    return view
  }

  #pause(key: PauseKey): Pause {
    const { market } = this
    const { pause, isNew } = market.pauses.add(key, market.nowMs)
    if (isNew) this.#notePause('queuePaused', key)
    return pause
  }

  /** False if this was not paused. */
  #resumeQueue(key: PauseKey): boolean {
    const wasPaused = this.market.pauses.remove(key)
    if (wasPaused) this.#notePause('queueResumed', key)
    return wasPaused
  }

  #notePause(type: 'queuePaused' | 'queueResumed', key: PauseKey): void {
    const { kind: subject, name, caller } = key
    const at = this.market.nowMs
    putPause(this.#changes.lanes, key, type === 'queuePaused' ? at : null)
    this.#note({ type, at, subject, name, caller })
  }

  /** How far a live job has come; null if its worker has not said. */
  progressOf(jobId: JobId): Progress | null {
    return this.#progress.get(jobId) ?? null
  }

  /** Saying the same again, or only log lines, changes nothing. */
  #noteProgress(command: Extract<Command, { type: 'progress' }>): void {
    const { job, attempt } = ackLease(this.market, command)
    const known = this.#progress.get(job.id)
    const before = known?.attempt === attempt ? known : null
    const percent = command.percent ?? before?.percent ?? null
    const message = command.message ?? before?.message ?? null
    if (percent === (before?.percent ?? null) && message === (before?.message ?? null)) return
    const progress = { attempt, percent, message, at: this.market.nowMs }
    this.#isChanged = true
    this.#progress.set(job.id, progress)
    putProgress(this.#changes.lanes, job.id, progress)
  }

  /** The followers of the journal by id, each with its place. */
  get followers(): ReadonlyMap<string, number> {
    return this.#followers
  }

  /** Returns the place, which never goes back; null if there is no such follower (FOLLOW-1). */
  #follow({ id, seq }: Extract<Command, { type: 'follow' }>): number | null {
    const before = this.#followers.get(id) ?? null
    if (before === null && seq !== 'now') return null
    const next = seq === 'now' ? (before ?? this.#journal.seq) : seq
    if (next === before || (next !== null && next < (before ?? 0))) return before
    if (before === null && this.#followers.size >= FOLLOWERS_MAX) {
      throw limitExceeded('followers', FOLLOWERS_MAX, FOLLOWERS_MAX + 1)
    }
    this.#isChanged = true
    if (next === null) this.#followers.delete(id)
    else this.#followers.set(id, next)
    putFollower(this.#changes.lanes, id, next)
    this.#digest.add(`follow ${this.market.nowMs} ${id} ${next}`)
    return next
  }

  #startBulk(command: Extract<Command, { type: 'startBulk' }>): BulkRun {
    const { market } = this
    const { id, action, by, filter, limit } = command
    const known = market.bulk.get(id)
    if (known !== null) {
      if (known.action === action && known.by === by && known.filter === filter) return known
      const why = `operation_id: ${id} is another operation; use an id of its own`
      throw new FairleadError('IdempotencyConflict', why, { field: 'operation_id' })
    }
    const run: BulkRun = {
      id,
      action,
      by,
      actor: this.#actor,
      filter,
      limit,
      uptoSeq: this.#enqueueSeq,
      afterSeq: 0,
      done: 0,
      skipped: 0,
      startedAt: market.nowMs,
      endedAt: null,
    }
    for (const forgotten of market.bulk.add(run)) {
      putBulkRun(this.#changes.lanes, forgotten.id, null)
    }
    putBulkRun(this.#changes.lanes, id, run)
    const caller = by === 'operator' ? null : by
    this.#note({
      type: 'bulkStarted',
      at: market.nowMs,
      subject: id,
      action,
      caller,
      filter,
      limit,
    })
    return run
  }

  /** All that a run does has the actor that started it. */
  #stepBulk(command: Extract<Command, { type: 'stepBulk' }>): void {
    const { market } = this
    const { id, from, to, looked, ids, isLast } = command
    const run = market.bulk.get(id)
    if (run === null || run.endedAt !== null || run.afterSeq !== from) return
    this.#actor = run.actor
    const touched = run.action === 'cancel' ? this.#cancelAll(ids, run.by) : ids.length
    const done = run.done + touched
    const skipped = run.skipped + looked - touched
    const endedAt = isLast ? market.nowMs : null
    const next: BulkRun = { ...run, afterSeq: to, done, skipped, endedAt }
    market.bulk.set(next)
    putBulkRun(this.#changes.lanes, id, next)
    const { action, by } = run
    const caller = by === 'operator' ? null : by
    const type = isLast ? 'bulkEnded' : 'bulkProgress'
    this.#note({ type, at: market.nowMs, subject: id, action, caller, done, skipped })
  }

  /** The number of jobs that could be cancelled; others have ended meanwhile. */
  #cancelAll(ids: readonly JobId[], by: BulkRun['by']): number {
    let cancelled = 0
    for (const id of ids) {
      const job = this.market.jobs.get(id)
      if (job === undefined) continue
      try {
        cancelJob(this.market, job, by)
        cancelled++
      } catch (error) {
        if (!(error instanceof FairleadError) || error.code === 'Internal') throw error
      }
    }
    return cancelled
  }

  #putSchedule(command: Extract<Command, { type: 'putSchedule' }>): Schedule {
    const { market } = this
    const { type: _, firstAt, actor: __, ...plan } = command
    const known = market.schedules.get(plan)
    if (known !== null && isSamePlan(known, plan)) return known
    const schedule = putOver(known, plan, firstAt)
    this.#setSchedule(schedule)
    const { id: subject, caller, cron, timezone, overlap, catchUp, nextAt } = schedule
    const facts = { subject, caller, cron, timezone, overlap, catchUp, nextAt }
    this.#note({ type: 'schedulePut', at: market.nowMs, ...facts })
    return schedule
  }

  #deleteSchedule({ caller, id }: ScheduleKey): boolean {
    const { market } = this
    if (!market.schedules.delete({ caller, id })) return false
    putSchedule(this.#changes.lanes, { caller, id }, null)
    this.#note({ type: 'scheduleDeleted', at: market.nowMs, subject: id, caller })
    return true
  }

  #setSchedule(schedule: Schedule): void {
    this.#isChanged = true
    this.market.schedules.set(schedule)
    putSchedule(this.#changes.lanes, schedule, schedule)
  }

  /** Returns the job, or null if none was enqueued. A refusal reaches only somebody who triggered it. */
  #fire(command: FireCommand): JobId | null {
    const { caller, id, dueAt, at, nextAt } = command
    const schedule = this.market.schedules.get({ caller, id })
    const isTriggered = dueAt === null
    if (schedule === null || (!isTriggered && schedule.nextAt !== dueAt)) {
      if (!isTriggered) return null
      throw new FairleadError('NotFound', `there is no schedule ${id}; see schedules.list`, { id })
    }
    const last = this.#liveJobOf(schedule)
    if (last !== null && isTriggered) {
      const why = `the last job of schedule ${id} is ${last.status}, and its overlap is skip`
      throw new FairleadError('InvalidState', why, { jobId: last.id, status: last.status })
    }
    let jobId: JobId | null = null
    let reason = command.reason ?? (last === null ? null : 'overlap')
    try {
      if (reason === null) jobId = this.#enqueueFired(schedule, command)
    } catch (error) {
      if (isTriggered || !(error instanceof FairleadError) || error.code === 'Internal') throw error
      reason = error.code
    }
    const fired = jobId === null ? {} : { lastAt: at ?? this.market.nowMs, lastJob: jobId }
    this.#setSchedule({ ...schedule, ...fired, nextAt: isTriggered ? schedule.nextAt : nextAt })
    if (reason !== null && !isTriggered) {
      const skipped = { subject: id, caller, reason, dueAt: at ?? dueAt, nextAt }
      this.#note({ type: 'scheduleSkipped', at: this.market.nowMs, ...skipped })
    }
    return jobId
  }

  /** The live job that a schedule may not overlap; null if there is none, or it may. */
  #liveJobOf({ overlap, lastJob }: Schedule): Job | null {
    const last = lastJob === null ? undefined : this.market.jobs.get(lastJob)
    return overlap === 'skip' && last !== undefined && !hasEnded(last.status) ? last : null
  }

  #enqueueFired({ id }: Schedule, { enqueue, at }: FireCommand): JobId {
    invariant(enqueue !== null, 'a firing without a reason has a job')
    const times = at === null ? {} : { scheduledAt: at }
    return this.#enqueue(enqueue, { ...enqueue.origin, schedule: id, ...times })
  }

  #noteTokens(tokens: readonly TokenFacts[]): void {
    for (const change of this.#tokens.note(tokens, this.market.nowMs)) this.#note(change)
    if (tokens.length === 0 || this.#tokensSeen) return
    this.#tokensSeen = true
    this.#isChanged = true
    this.#changes.meta[META.tokensSeen] = '1'
  }

  /** A claim is FINAL: the result that its job's completion brought can be read now. */
  #prove(lease: Lease, claim: Claim, finalizedHeight: number): void {
    const { job, digest } = lease
    const at = this.market.nowMs
    const held = this.#held.release(job.id)
    const given = held ?? { digest: digest as string, output: null, meta: null, actualUnits: null }
    this.#changes.results.push(resultRow(lease, given, at, resultClaim(claim, finalizedHeight)))
    // The journal has no word of the price.
    this.#digest.add(
      `final ${at} ${claim.claimKey} ${this.market.fund.epochs.unpaid(claim.providerId)}`,
    )
  }

  #unstake({ providerId, amount }: StakeCommand): {
    readonly stake: bigint
    readonly maturesAt: number
  } {
    const { market } = this
    const provider = this.#provider(providerId)
    const maturesAt = unstakeProvider(market, provider, amount)
    const { stake } = provider
    const amounts = { amount: showU64(amount), stake: showU64(stake) }
    const at = market.nowMs
    this.#note({ type: 'providerUnstaked', at, providerId, ...amounts, maturesAt })
    return { stake, maturesAt }
  }

  #setKey({ providerId, publicKey }: Extract<Command, { type: 'setKey' }>): void {
    const { market } = this
    const provider = this.#provider(providerId)
    checkPublicKey(publicKey)
    if (provider.publicKey === publicKey) return
    replaceKey(market, provider, publicKey)
    this.#note({ type: 'keyChanged', at: market.nowMs, providerId, publicKey })
  }

  /** Answers with the balance of the account. */
  #recordPayout(command: Extract<Command, { type: 'recordPayout' }>): bigint {
    const { account, amount } = command
    const balance = this.market.fund.recordPayout(command)
    // A repeat pays nothing more.
    if (!this.#isChanged) return balance
    const paid = { account, amount: showU64(amount) }
    this.#note({ type: 'payoutRecorded', at: this.market.nowMs, subject: account, ...paid })
    return balance
  }

  /** False if the epoch was closed before. */
  #beginClose(command: Extract<Command, { type: 'closeEpoch' }>): boolean {
    if (!beginClose(this.market, command)) return false
    const { epochId, auditSeq, auditHead } = command
    const asked = this.market.fund.closing?.slashes ?? []
    const slashes = asked.map((one) => `${one.providerId} ${one.amount}`).join(' ')
    this.#digest.add(`close ${this.market.nowMs} ${epochId} ${auditSeq} ${auditHead} ${slashes}`)
    return true
  }

  /** A replica computes the batch again and compares its id (SETTLE-15). */
  #settleEpoch({ epochId, batchId, computed }: Extract<Command, { type: 'settleEpoch' }>): void {
    const { market } = this
    const input = market.fund.closingInput()
    if (input?.epochId !== epochId) {
      throw new FairleadError('InvalidState', `epoch ${epochId} is not being closed`, { epochId })
    }
    const { effect, row } = computed ?? computeClose(input)
    invariant(effect.batchId === batchId, `epoch ${epochId} gives the batch that was recorded`)
    settleEpoch(market, effect)
    if (row !== null) this.#changes.settlements.push(row)
    else this.#digest.add(`settled ${market.nowMs} ${epochId}`)
  }

  /** Time may have brought what a provider lacked, such as the start of its attestation (STANDING-2). */
  #admit(command: Command): void {
    if (!('providerId' in command)) return
    const provider = this.market.pool.get(command.providerId)
    if (provider !== undefined && !provider.standing.admitted) admitProvider(this.market, provider)
  }

  /** Records an event from outside the market, with the command's actor. */
  #note(note: EngineNote): void {
    this.#isChanged = true
    this.#journal.append(note, this.#actor, this.market)
  }

  #connect(command: Extract<Command, { type: 'connectWorker' }>): void {
    const provider = this.#provider(command.providerId)
    this.#welcome(provider, command, connectWorker(this.market, provider, command))
  }

  /** Tells a worker which leases it holds, and pushes those again that it has not acked. */
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

  /** Runs one round. Its seed is derived from the number of earlier rounds that assigned something (ID-2). */
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
        const row = roundRow(round, { market, rounds, height, seed })
        this.#changes.rounds.push(row)
        const { grants, virtual } = market.queues.get(round.kind)?.counters() ?? {}
        const { batchDigest, providers, ranks, refusals } = row
        const lists = JSON.stringify([providers, ranks, refusals])
        this.#digest.add(`round ${height} ${row.kind} ${batchDigest} ${grants} ${virtual} ${lists}`)
      }
    }
    const { batchSize } = market.policy.queue
    return {
      assigned: leases.length,
      isFull: rounds.some(({ batch }) => batch.jobs.length === batchSize),
    }
  }

  /** Cached: most rounds assign nothing, and then the next one has the same seed. */
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

  /** Skips a counter that has not changed since it was last written. */
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

/** A key of small order would sign anything (PROOF-4). */
function checkPublicKey(publicKey: string | null): void {
  if (publicKey !== null) readPublicKey(publicKey)
}

/** The seed of all beacons. A restored backup draws others than the store that it was made of. */
function beaconSeed({ meta }: Snapshot): Uint8Array {
  const seed = fromHex(meta[META.installationSeed] ?? '')
  invariant(seed !== null, 'a store has an installation seed')
  const incarnation = fromHex(meta[META.incarnation] ?? '')
  return incarnation === null ? seed : taggedHash('fairlead|incarnation', seed, incarnation)
}

function cutOf({ meta }: Snapshot): AuditHead {
  const [seq, hash] = meta[META.journalCut]?.split(' ') ?? []
  return seq === undefined || hash === undefined ? EMPTY_AUDIT : { seq: Number(seq), hash }
}
