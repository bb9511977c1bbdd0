import { type Clock, FairleadError, type Store } from '@fairlead/core'
import { isDueBy, nextClaimAt, nextDueAt, type StandstillWatch } from '@fairlead/core/internal'
import { acceptEnqueue } from '../commands/accept-enqueue.ts'
import { checkCommand } from '../commands/check-arguments.ts'
import type { EnqueueRequest, Submission } from '../commands/command.ts'
import { KnownKeys } from '../commands/known-keys.ts'
import type { EngineState, Outcome, RoundReply } from '../state/engine-state.ts'

/** How often a running engine stores a heartbeat. */
const BEAT_MS = 1_000
/** How often ended jobs are pruned. */
const PRUNE_MS = 60_000
/** How long to wait before the next automatic reload, after a reload or the write after it has failed. */
const RELOAD_MS = 250
/**
 * Commands in one turn. While the first batch is written, the next commands are applied. In one single batch the
 * engine and its store would only wait for each other. A turn takes a part of a long queue: the first batches are
 * large, which costs least, and the last ones are answered soon.
 */
const COMMANDS_PER_TURN = 48
const COMMANDS_PER_TURN_MAX = 256
const PART_OF_MANY = 0.5
/** Up to this many commands form one turn, so that a short queue is not split. */
const COMMANDS_UNDIVIDED = 64
/** From this many commands on, a batch is handed over while the one before it is still being written. */
const BATCH_WORTH_HANDING_OVER = 48
/** Batches in the store at once: one that is being written, and one to continue with. */
const WRITES_MAX = 2
/** The same limit while a registration is due, because its time does not wait for a slow disk. */
const WRITES_MAX_AT_OPENING = 8
/** Rounds in one turn. With a long queue, the first leases are written while the next ones are given. */
const ROUNDS_PER_TURN = 2

/** A write that takes this long is a standstill: callers that wait for its answer cannot act meanwhile (ENGINE-6). */
const STANDSTILL_MS = 3_000

/** Answers a refused command after all, or throws a refusal of its own. */
export type Recover = (command: Submission, refusal: FairleadError) => Promise<unknown>

/** Looks up the facts that commands need; null if there are none. */
type Prepare = (commands: readonly Submission[]) => Promise<readonly Submission[]> | null

/** A command whose caller waits, and the answer to give once its batch is stored. */
interface Call {
  readonly command: Submission
  readonly resolve: (reply: unknown, index: number) => void
  readonly reject: (error: Error, index: number) => void
  /** Its index among the commands that were submitted together. */
  readonly index: number
  readonly recover: Recover | null
  reply: unknown
  refusal: FairleadError | null
}

/**
 * The single writer (ENGINE-2). Commands are applied in order of arrival to the open batch, which grows while
 * earlier batches are written. Then a round runs, and one transaction writes the changes. Callers hear of the
 * result only after that. A failed write has had no visible effect: all callers of its batch and of later batches
 * get `StoreUnavailable`. The state is then reloaded from the store.
 */
export class EngineLoop {
  readonly #store: Store
  readonly #clock: Clock
  readonly #reload: () => Promise<EngineState>
  readonly #deliver: (outcome: Outcome) => void
  readonly #prepare: Prepare
  #state: EngineState
  #keys = new KnownKeys()
  readonly #waiting: Call[] = []
  /** The calls of the open batch. */
  #applied: Call[] = []
  #turn: Promise<void> | null = null
  /** The number of batches that the store is writing. */
  #writing = 0
  /** The start times of these writes, oldest first. */
  readonly #writingSince: number[] = []
  #hasStoodStill = false
  #lastWrite: Promise<void> = Promise.resolve()
  #newestCommit: Promise<void> = Promise.resolve()
  #cancelWake: () => void = () => {}
  #wantsRound = true
  /** True if the last round of a turn was full, but the turn had reached its limit of rounds. */
  #hasMoreRounds = false
  /** The minute of the last pruning. */
  #lastPruned: number
  #lastRound = 0
  #isClosed = false
  /** False after a failed write, until the state has been reloaded. */
  #isSound = true
  readonly #watch: StandstillWatch | null
  /** No automatic reload before this time; 0 after a successful write. */
  #reloadAt = 0

  constructor(options: {
    readonly store: Store
    readonly clock: Clock
    readonly state: EngineState
    readonly reload: () => Promise<EngineState>
    readonly deliver: (outcome: Outcome) => void
    /** Looks up the facts that commands need, right before they are applied; null if there are none. */
    readonly prepare: Prepare
  }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#state = options.state
    this.#reload = options.reload
    this.#deliver = options.deliver
    this.#prepare = options.prepare
    this.#watch = options.clock.watch?.() ?? null
    this.#lastPruned = Math.floor(options.state.market.nowMs / PRUNE_MS)
    this.#schedule()
  }

  get state(): EngineState {
    return this.#state
  }

  /** Resolves with the reply once the change is durable. A refusal goes through `recover` first. */
  submit(command: Submission, recover: Recover | null = null): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#refuseUnfit(command)
      this.#waiting.push(callOf(command, { resolve, reject, index: 0, recover }))
      this.#start()
    })
  }

  /**
   * Submits many commands in order, with one promise for all outcomes. An error in place of a command becomes its
   * outcome.
   */
  submitMany<Reply>(
    commands: readonly (Submission | FairleadError)[],
  ): Promise<PromiseSettledResult<Reply>[]> {
    return new Promise((done) => {
      const results = new Array<PromiseSettledResult<Reply>>(commands.length)
      let left = commands.length
      const complete = (index: number, result: PromiseSettledResult<Reply>): void => {
        // The first outcome counts, as with a promise.
        if (results[index] !== undefined) return
        results[index] = result
        if (--left === 0) done(results)
      }
      const resolve = (value: unknown, index: number): void =>
        complete(index, { status: 'fulfilled', value: value as Reply })
      const reject = (reason: Error, index: number): void =>
        complete(index, { status: 'rejected', reason })
      if (left === 0) return done(results)
      for (let index = 0; index < commands.length; index++) {
        const command = commands[index] as Submission | FairleadError
        try {
          if (command instanceof FairleadError) throw command
          this.#refuseUnfit(command)
        } catch (error) {
          reject(error as Error, index)
          continue
        }
        this.#waiting.push(callOf(command, { resolve, reject, index, recover: null }))
      }
      if (this.#waiting.length > 0) this.#start()
    })
  }

  /** Refuses a malformed command before it can share a batch with others (ENGINE-11). */
  #refuseUnfit(command: Submission): void {
    if (this.#isClosed) throw closed()
    checkCommand(command)
  }

  /** Resolves when no write is in flight. All earlier assignments are then stored or have failed. */
  async written(): Promise<void> {
    while (this.#writing > 0) await this.#lastWrite
  }

  /** Answers and writes the submitted commands, then stops. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelWake()
    while (this.#turn !== null || this.#writing > 0) await (this.#turn ?? this.#lastWrite)
    await this.#run()
    await this.#lastWrite
    this.#watch?.end()
  }

  #start(): void {
    // Waits one turn of the event loop, so that commands of the same turn share a transaction.
    this.#turn ??= new Promise<void>((done) => {
      setImmediate(() => {
        void this.#run().finally(() => {
          this.#turn = null
          done()
          this.#goOn()
        })
      })
    })
  }

  #goOn(): void {
    const isWork = this.#applied.length > 0 || (this.#hasMoreRounds && !this.#isClosed)
    if (this.#waiting.length > 0 || (isWork && this.#mayWrite())) this.#start()
    else if (this.#isClosed) return
    // A write in flight continues by itself, but a session's opening does not wait for it.
    else if (this.#writing > 0) this.#scheduleSend()
    // Reload the state at once after a failed write. If the reload or the next write fails too, wait until
    // `#reloadAt`.
    else if (!this.#isSound && this.#reloadAt <= this.#clock.now()) this.#start()
    else this.#schedule()
  }

  #mayWrite(): boolean {
    if (this.#writing === 0) return true
    const isMuch = this.#applied.length >= BATCH_WORTH_HANDING_OVER || this.#hasMoreRounds
    if (this.#writing < WRITES_MAX && isMuch) return true
    return this.#writing < WRITES_MAX_AT_OPENING && this.#isSendDue()
  }

  /** True if a registration may be sent now: it has its own time to keep (DISPATCH-8). */
  #isSendDue(): boolean {
    return this.#nextSessionAt() <= this.#clock.now()
  }

  /** The next time at which a session opens or one of its registrations may be sent. */
  #nextSessionAt(): number {
    const at = this.#isSound ? this.#state.market.sessions.nextDueAt() : null
    return at ?? Number.POSITIVE_INFINITY
  }

  #scheduleSend(): void {
    const at = this.#nextSessionAt()
    if (this.#writing >= WRITES_MAX_AT_OPENING || at === Number.POSITIVE_INFINITY) return
    this.#cancelWake()
    this.#cancelWake = this.#clock.wakeAt(Math.max(at, this.#clock.now()), () => this.#start())
  }

  /** Applies the waiting commands. If the store has capacity, it also hands over the open batch. */
  async #run(): Promise<void> {
    const batch = this.#waiting.splice(0, partOf(this.#waiting.length))
    try {
      const hasStoodStill = this.#watch?.hasHappened() === true
      // Do not expire offers that were never delivered.
      if (!hasStoodStill && this.#isWriteSlow(this.#writingSince[0])) await this.written()
      if (hasStoodStill || this.#hasStoodStill) this.#leaveState()
      const given = batch.map(({ command }) => command)
      let commands: readonly Submission[] = given
      do {
        await this.#restoreState()
        this.#keys.forgetStored()
        const prepared = this.#prepare(given)
        if (prepared !== null) commands = await prepared
        // A failed write meanwhile makes the looked-up facts stale.
      } while (!this.#isSound)
      const now = this.#clock.now()
      for (let i = 0; i < batch.length; i++) {
        this.#apply(batch[i] as Call, commands[i] as Submission, now)
      }
      if (this.#mayWrite()) this.#finishBatch(now)
    } catch (cause) {
      // An error in the middle of a batch discards the whole open batch.
      this.#fail(new Set([...this.#applied, ...batch]), cause)
    }
  }

  #apply(call: Call, command: Submission, now: number): void {
    try {
      call.reply =
        command.type === 'enqueue'
          ? this.#enqueue(command, now)
          : this.#state.apply(command, now).reply
      this.#wantsRound ||= command.type !== 'heartbeat'
    } catch (error) {
      // A refusal changes nothing. Any other error is a defect and discards the whole batch.
      if (!(error instanceof FairleadError) || error.code === 'Internal') throw error
      call.refusal = error
    }
    this.#applied.push(call)
  }

  /** A known job is answered with its id. No command is applied or recorded for it. */
  #enqueue(asked: EnqueueRequest, now: number): unknown {
    const { policy, nowMs } = this.#state.market
    const keys = this.#keys
    const accepted = acceptEnqueue(asked, { policy, nowMs: Math.max(now, nowMs), keys })
    if ('known' in accepted) return accepted.known
    const { command, key } = accepted
    const { reply } = this.#state.apply(command, now)
    const { jobId: id, payloadCbor: payload } = command.request
    if (key !== null) keys.add(key, { id, payload })
    return reply
  }

  #finishBatch(now: number): void {
    this.#dispatch(now)
    this.#writeBatch()
  }

  #writeBatch(): void {
    const calls = this.#applied
    const outcome = this.#state.takeOutcome()
    const keys = this.#keys.takeAdded()
    const write = this.#write(outcome)
    // Cleared only now: if a line above throws, the calls of this batch still get an answer.
    this.#applied = []
    if (write === null) return this.#tell(outcome, calls)
    this.#writing++
    this.#writingSince.push(this.#clock.now())
    this.#lastWrite = write
      .then(
        () => {
          this.#keys.stored(keys)
          this.#tell(outcome, calls)
        },
        (cause: unknown) => this.#fail([...calls, ...this.#applied], cause),
      )
      .finally(() => {
        this.#writing--
        if (this.#isWriteSlow(this.#writingSince.shift())) this.#hasStoodStill = true
        if (this.#turn === null) this.#goOn()
      })
  }

  /**
   * Null if there is nothing to wait for. An answer that changes nothing may rely on a write in flight: it waits
   * for that write and fails with it.
   */
  #write({ commands, batch }: Outcome): Promise<void> | null {
    if (commands.entries.length > 0) this.#newestCommit = this.#store.commit(batch)
    else if (this.#writing === 0) return null
    return this.#newestCommit
  }

  #isWriteSlow(since: number | undefined): boolean {
    return since !== undefined && this.#clock.now() - since >= STANDSTILL_MS
  }

  /** Delivers and answers after a successful write. */
  #tell(outcome: Outcome, calls: readonly Call[]): void {
    this.#reloadAt = 0
    this.#deliver(outcome)
    for (const { command, resolve, reject, index, recover, reply, refusal } of calls) {
      if (refusal === null) resolve(reply, index)
      else if (recover === null) reject(refusal, index)
      else resolve(recover(command, refusal), index)
    }
  }

  /** Runs after the commands of a batch: due work, then rounds while they find work, then pruning. */
  #dispatch(now: number): void {
    const state = this.#state
    if (isDueBy(state.market, now)) this.#wantsRound = true
    // A limit that has room again can also free a job for a round.
    if ((nextClaimAt(state.market) ?? Number.POSITIVE_INFINITY) <= now) this.#wantsRound = true
    // The end of a backoff is new demand. Without a round the job would stay due and wake the loop again and again.
    for (const queue of state.market.queues.values()) {
      if ((queue.nextReadyAt() ?? Number.POSITIVE_INFINITY) <= now) this.#wantsRound = true
    }
    state.apply({ type: 'tick' }, now)
    if (state.market.sessions.nextSendAt() <= now) this.#wantsRound = true
    const interval = state.market.policy.queue.dispatchIntervalMs
    if (this.#wantsRound || now - this.#lastRound >= interval) {
      this.#lastRound = now
      this.#hasMoreRounds = true
      for (let i = 0; i < ROUNDS_PER_TURN && this.#hasMoreRounds; i++) {
        const { assigned, isFull } = state.apply({ type: 'round' }, now).reply as RoundReply
        this.#hasMoreRounds = isFull && assigned > 0
      }
      this.#wantsRound = this.#hasMoreRounds
    }
    // Aligned to minutes of the clock, so that a restart does not move the time of pruning.
    const minute = Math.floor(now / PRUNE_MS)
    if (minute > this.#lastPruned) {
      this.#lastPruned = minute
      state.apply({ type: 'prune' }, now)
    }
    if (now - state.recordedAt >= BEAT_MS) state.apply({ type: 'beat' }, now)
  }

  #fail(failed: Iterable<Call>, cause: unknown): void {
    this.#applied = []
    this.#wantsRound = true
    this.#hasMoreRounds = false
    this.#isSound = false
    const error = new FairleadError(
      'StoreUnavailable',
      `the change was not stored and has not happened; try again (${messageOf(cause)})`,
      {},
      { cause },
    )
    for (const { reject, index } of failed) reject(error, index)
  }

  /**
   * Continues after a standstill as if the engine had been restarted, so that nobody is charged for it (ENGINE-4).
   * Changes applied before the standstill are written. Deadlines that passed since have no effect. The state is
   * then reloaded.
   */
  #leaveState(): void {
    if (this.#applied.length > 0) this.#writeBatch()
    this.#isSound = false
  }

  /** Nothing may build on changes that were not stored, so the state is reloaded from the store. */
  async #restoreState(): Promise<void> {
    if (this.#isSound) return
    // Wait first: writes in flight may still become part of the stored state.
    await this.written()
    this.#reloadAt = this.#clock.now() + RELOAD_MS
    this.#state = await this.#reload()
    this.#keys = new KnownKeys()
    // A long reload counts as a standstill itself, so the watch is reset.
    this.#watch?.hasHappened()
    this.#hasStoodStill = false
    this.#isSound = true
  }

  /** Sets one timer for the next thing that falls due. */
  #schedule(): void {
    this.#cancelWake()
    const { market } = this.#state
    const now = this.#clock.now()
    let at = this.#state.recordedAt + BEAT_MS
    at = nextDueAt(market, at) ?? at
    at = Math.min(at, nextClaimAt(market) ?? Number.POSITIVE_INFINITY)
    at = Math.min(at, market.sessions.nextSendAt())
    let isWaiting = market.sessions.hasUnserved
    for (const queue of market.queues.values()) {
      at = Math.min(at, queue.nextReadyAt() ?? Number.POSITIVE_INFINITY)
      isWaiting ||= queue.readySize > 0
    }
    if (isWaiting) at = Math.min(at, this.#lastRound + market.policy.queue.dispatchIntervalMs)
    if (this.#wantsRound) at = Math.min(at, now)
    at = Math.max(at, this.#reloadAt)
    this.#cancelWake = this.#clock.wakeAt(at, () => this.#start())
  }
}

function callOf(
  command: Submission,
  { resolve, reject, index, recover }: Pick<Call, 'resolve' | 'reject' | 'index' | 'recover'>,
): Call {
  return { command, resolve, reject, index, recover, reply: undefined, refusal: null }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

function closed(): FairleadError {
  return new FairleadError('StoreUnavailable', 'the engine is closed; open it again')
}

/** The number of waiting commands that form the next turn. */
function partOf(waiting: number): number {
  if (waiting <= COMMANDS_UNDIVIDED) return waiting
  const part = Math.min(Math.ceil(PART_OF_MANY * waiting), COMMANDS_PER_TURN_MAX)
  return Math.max(COMMANDS_PER_TURN, part)
}
