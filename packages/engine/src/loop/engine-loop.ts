import { type Clock, FairleadError, type Store } from '@fairlead/core'
import { isDueBy, nextClaimAt, nextDueAt, type StandstillWatch } from '@fairlead/core/internal'
import { acceptEnqueue } from '../commands/accept-enqueue.ts'
import { checkCommand } from '../commands/check-arguments.ts'
import type { EnqueueRequest, Submission } from '../commands/command.ts'
import { KnownKeys } from '../commands/known-keys.ts'
import type { EngineState, Outcome, RoundReply } from '../state/engine-state.ts'

/** How often a living engine leaves a sign of life in the store. */
const BEAT_MS = 1_000
/** How often ended jobs are looked through for ones to delete. */
const PRUNE_MS = 60_000
/** How long to wait before the state is loaded by itself again, if that or the next write failed. */
const RELOAD_MS = 250
/**
 * Commands in one turn. While the first ones of many are being written the next are applied; all in one
 * batch, the engine and its store would take turns in waiting for each other. Of very many a part is one
 * turn: the first batches are large, which costs least, and for the last ones nobody waits long.
 */
const COMMANDS_PER_TURN = 48
const COMMANDS_PER_TURN_MAX = 256
const PART_OF_MANY = 0.5
/** So few are one turn, and not one of most and one of the rest. */
const COMMANDS_UNDIVIDED = 64
/** With so many commands a batch is handed over while the one before it is still being written. */
const BATCH_WORTH_HANDING_OVER = 48
/** Batches with the store: one that it writes, and one that it goes on with at once. */
const WRITES_MAX = 2
/** The same where a registration is due, whose time does not wait for a slow disk. */
const WRITES_MAX_AT_OPENING = 8
/** Rounds in one turn: with a long queue the first leases are written while the next are given. */
const ROUNDS_PER_TURN = 2

/** A write that takes so long is a standstill: who waits to hear of it could do nothing meanwhile (ENGINE-6). */
const STANDSTILL_MS = 3_000

/** Answers a command that was refused after all, or refuses it in its own words. */
export type Recover = (command: Submission, refusal: FairleadError) => Promise<unknown>

/** Looks up what commands depend on; null where there is nothing. */
type Prepare = (commands: readonly Submission[]) => Promise<readonly Submission[]> | null

/** A command that somebody waits for, and what is to be answered once its batch is stored. */
interface Call {
  readonly command: Submission
  readonly resolve: (reply: unknown, index: number) => void
  readonly reject: (error: Error, index: number) => void
  /** Its index among those that were submitted together. */
  readonly index: number
  readonly recover: Recover | null
  reply: unknown
  refusal: FairleadError | null
}

/**
 * The single writer (ENGINE-2). Commands are applied in the order of their arrival to a batch that is
 * open for as long as others are being written; then a round follows, and one transaction writes what
 * they changed. Only then do their callers hear of it. If the write fails nobody has seen anything:
 * every caller of the batch, and of those that were built on it, gets `StoreUnavailable`, and the state
 * is loaded anew from what is really in the store.
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
  /** Batches with the store, and when the newest of them is written. */
  #writing = 0
  /** Since when each of them is there, the oldest first. */
  readonly #writingSince: number[] = []
  #hasStoodStill = false
  #lastWrite: Promise<void> = Promise.resolve()
  #newestCommit: Promise<void> = Promise.resolve()
  #cancelWake: () => void = () => {}
  #wantsRound = true
  /** The last round of a turn was full, and there were no more in it. */
  #hasMoreRounds = false
  /** The minute in which ended jobs were last looked through. */
  #lastPruned: number
  #lastRound = 0
  #isClosed = false
  /** False after a failed write, until the state was loaded anew. */
  #isSound = true
  readonly #watch: StandstillWatch | null
  /** The state is not loaded by itself before this; 0 once something was written. */
  #reloadAt = 0

  constructor(options: {
    readonly store: Store
    readonly clock: Clock
    readonly state: EngineState
    readonly reload: () => Promise<EngineState>
    readonly deliver: (outcome: Outcome) => void
    /** Looks up what commands depend on, right before they are applied; null where there is nothing. */
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

  /** Resolves with the reply once the change is durable; a refusal goes through `recover` first. */
  submit(command: Submission, recover: Recover | null = null): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#refuseUnfit(command)
      this.#waiting.push(callOf(command, { resolve, reject, index: 0, recover }))
      this.#start()
    })
  }

  /** Many commands in their order, each with an outcome of its own: one promise for all. An error stands for a command that is none. */
  submitMany<Reply>(
    commands: readonly (Submission | FairleadError)[],
  ): Promise<PromiseSettledResult<Reply>[]> {
    return new Promise((done) => {
      const results = new Array<PromiseSettledResult<Reply>>(commands.length)
      let left = commands.length
      const complete = (index: number, result: PromiseSettledResult<Reply>): void => {
        // The first word counts, as it does with a promise.
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

  /** Before it comes near the others (ENGINE-11). */
  #refuseUnfit(command: Submission): void {
    if (this.#isClosed) throw closed()
    checkCommand(command)
  }

  /** Resolves when no write is under way: what was assigned until now is stored then, or has failed. */
  async written(): Promise<void> {
    while (this.#writing > 0) await this.#lastWrite
  }

  /** Answers what was submitted, writes it, and stops. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelWake()
    while (this.#turn !== null || this.#writing > 0) await (this.#turn ?? this.#lastWrite)
    await this.#run()
    await this.#lastWrite
    this.#watch?.end()
  }

  #start(): void {
    // One turn later, so that commands of the same turn of the event loop share a transaction.
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
    // What is being written goes on by itself; an opening does not wait for it.
    else if (this.#writing > 0) this.#scheduleSend()
    // What has not happened is forgotten at once. If that is not possible, or the next write fails as
    // well, nothing is tried by itself before its time.
    else if (!this.#isSound && this.#reloadAt <= this.#clock.now()) this.#start()
    else this.#schedule()
  }

  #mayWrite(): boolean {
    if (this.#writing === 0) return true
    const isMuch = this.#applied.length >= BATCH_WORTH_HANDING_OVER || this.#hasMoreRounds
    if (this.#writing < WRITES_MAX && isMuch) return true
    return this.#writing < WRITES_MAX_AT_OPENING && this.#isSendDue()
  }

  /** Whether a registration may be sent now: it has a time of its own to keep (DISPATCH-8). */
  #isSendDue(): boolean {
    return this.#nextSessionAt() <= this.#clock.now()
  }

  /** When a session opens, or somebody in one may be sent. */
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

  /** Applies what waits; and if the store is not busy enough, hands over what has been applied. */
  async #run(): Promise<void> {
    const batch = this.#waiting.splice(0, partOf(this.#waiting.length))
    try {
      const hasStoodStill = this.#watch?.hasHappened() === true
      // Nothing is to fall due of what nobody has heard of.
      if (!hasStoodStill && this.#isWriteSlow(this.#writingSince[0])) await this.written()
      if (hasStoodStill || this.#hasStoodStill) this.#leaveState()
      const given = batch.map(({ command }) => command)
      let commands: readonly Submission[] = given
      do {
        await this.#restoreState()
        this.#keys.forgetStored()
        const prepared = this.#prepare(given)
        if (prepared !== null) commands = await prepared
        // A write may have failed meanwhile, and what was looked up be out of date.
      } while (!this.#isSound)
      const now = this.#clock.now()
      for (let i = 0; i < batch.length; i++) {
        this.#apply(batch[i] as Call, commands[i] as Submission, now)
      }
      if (this.#mayWrite()) this.#finishBatch(now)
    } catch (cause) {
      // What could not be applied as a whole is thrown away with all that was open.
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
      // A refusal changes nothing; anything else is a defect, and the whole batch is thrown away.
      if (!(error instanceof FairleadError) || error.code === 'Internal') throw error
      call.refusal = error
    }
    this.#applied.push(call)
  }

  /** A job that is there already is answered with its id, and is no command. */
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
    // Only now: if anything of this throws, those who wait for an answer get one.
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
   * Null where there is nothing to wait for. An answer that changes nothing may rest on what is being written: then
   * it waits for that, and fails with it.
   */
  #write({ commands, batch }: Outcome): Promise<void> | null {
    if (commands.entries.length > 0) this.#newestCommit = this.#store.commit(batch)
    else if (this.#writing === 0) return null
    return this.#newestCommit
  }

  #isWriteSlow(since: number | undefined): boolean {
    return since !== undefined && this.#clock.now() - since >= STANDSTILL_MS
  }

  /** What was written is told. */
  #tell(outcome: Outcome, calls: readonly Call[]): void {
    this.#reloadAt = 0
    this.#deliver(outcome)
    for (const { command, resolve, reject, index, recover, reply, refusal } of calls) {
      if (refusal === null) resolve(reply, index)
      else if (recover === null) reject(refusal, index)
      else resolve(recover(command, refusal), index)
    }
  }

  /** After all the commands of a batch: what fell due, rounds as long as they find work, pruning. */
  #dispatch(now: number): void {
    const state = this.#state
    if (isDueBy(state.market, now)) this.#wantsRound = true
    // So is one whose limit has room for it again.
    if ((nextClaimAt(state.market) ?? Number.POSITIVE_INFINITY) <= now) this.#wantsRound = true
    // A job whose backoff is over is new demand; without a round it would stay due, and we awake.
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
    // With the minutes of the clock, so that a restart in between moves nothing.
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
   * After a standstill we go on as if we had been restarted, so that it is charged to nobody (ENGINE-4):
   * what was applied before it is written, nothing that has fallen due since takes effect, and the
   * state is loaded anew.
   */
  #leaveState(): void {
    if (this.#applied.length > 0) this.#writeBatch()
    this.#isSound = false
  }

  /** What failed to be written must not be built on: the state comes from the store again. */
  async #restoreState(): Promise<void> {
    if (this.#isSound) return
    // Writes that are still under way may be part of what is loaded.
    await this.written()
    this.#reloadAt = this.#clock.now() + RELOAD_MS
    this.#state = await this.#reload()
    this.#keys = new KnownKeys()
    // To load much may have taken as long.
    this.#watch?.hasHappened()
    this.#hasStoodStill = false
    this.#isSound = true
  }

  /** One timer for whatever comes next. */
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

/** How many of so many commands are one turn. */
function partOf(waiting: number): number {
  if (waiting <= COMMANDS_UNDIVIDED) return waiting
  const part = Math.min(Math.ceil(PART_OF_MANY * waiting), COMMANDS_PER_TURN_MAX)
  return Math.max(COMMANDS_PER_TURN, part)
}
