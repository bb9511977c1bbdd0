import { type Clock, FairleadError, type JobId } from '@fairlead/core'
import { isDueBy, nextClaimAt, nextDueAt, type StandstillWatch } from '@fairlead/core/internal'
import { acceptReport } from '../commands/accept-command.ts'
import { type Acceptance, type Accepted, acceptEnqueue } from '../commands/accept-enqueue.ts'
import { checkCommand } from '../commands/check-arguments.ts'
import type { Command, EnqueueRequest, Firing, OfWorker, Submission } from '../commands/command.ts'
import type { KnownKeys } from '../commands/known-keys.ts'
import type { LookUps } from '../commands/look-ups.ts'
import type { Sealer } from '../commands/sealer.ts'
import type { LogWriter } from '../log/log-writer.ts'
import type { Projector } from '../projector/projector.ts'
import { ScheduleClock } from '../schedules/schedule-clock.ts'
import type { EngineState, Outcome, RoundReply } from '../state/engine-state.ts'
import { type Call, callOf, messageOf, type Recover, refuse, settle } from './call.ts'
import { KeyLookUps } from './key-look-ups.ts'

/** How often a running engine stores a sign of life (ENGINE-4). */
const BEAT_MS = 1_000
/** How often ended jobs are pruned. */
const PRUNE_MS = 60_000
/** How long to wait before the next try to recover the state. */
const RECOVER_MS = 250
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
/** An open batch with so many bytes of payloads and outputs is handed over: a record has a longest length. */
const OPEN_BYTES_MAX = 32 * 1_048_576
/** Rounds in one turn. With a long queue, the first leases are written while the next ones are given. */
const ROUNDS_PER_TURN = 2
/** Cascades in one turn, so that no turn takes long however many jobs wait for one. */
const CASCADES_PER_TURN = 2

/** A write that takes this long is a standstill: callers that wait for its answer cannot act meanwhile (ENGINE-6). */
const STANDSTILL_MS = 3_000

/** The id of the job, or of the live one that has its dedupe key. */
export type EnqueueReply = JobId | { readonly duplicateOf: JobId }

export function jobIdOf(reply: EnqueueReply): JobId {
  return typeof reply === 'string' ? reply : reply.duplicateOf
}

/** A batch on its way to the log, and what to tell once it is there. */
interface Flight {
  readonly outcomes: Outcome[]
  calls: Call[]
}

/**
 * The single writer (ENGINE-2). Commands are applied in order of arrival to the open batch, which grows while
 * earlier batches are appended to the log. Then a round runs, and the batch goes to the log. Callers hear of the
 * result once it is durable. If an append fails, nobody knows its outcome: all callers of its batch and of later
 * ones get `StoreUnavailable`, the state keeps their commands, and nothing new is applied until they are stored.
 */
export class EngineLoop {
  readonly #clock: Clock
  readonly #writer: LogWriter
  readonly #projector: Projector
  readonly #keys: KnownKeys
  readonly #sealer: Sealer
  readonly #recover: () => Promise<EngineState>
  readonly #deliver: (outcome: Outcome) => void
  readonly #accepted: (seq: number, payload: Uint8Array) => void
  readonly #present: () => readonly OfWorker[]
  readonly #welcome: (state: EngineState) => void
  readonly #lookUps: LookUps
  readonly #keyLookUps: KeyLookUps
  #state: EngineState
  #waiting: Call[] = []
  /** Enqueues that wait until the tables have caught up (PROJECT-3). */
  #heldBack: Call[] = []
  /** The calls of the open batch. */
  #applied: Call[] = []
  /** Its payloads and outputs. */
  #openBytes = 0
  #turn: Promise<void> | null = null
  #flights: Flight[] = []
  #hasStoodStill = false
  #cancelWake: () => void = () => {}
  #wantsRound = true
  /** True if the last round of a turn was full, but the turn had reached its limit of rounds. */
  #hasMoreRounds = false
  /** The minute of the last pruning. */
  #lastPruned: number
  #lastRound = 0
  #isClosed = false
  /** False after a defect, until the state has been recovered. */
  #isSound = true
  readonly #watch: StandstillWatch | null
  readonly #beatMs: number
  readonly #schedules = new ScheduleClock()
  /** No automatic recovery before this time. */
  #recoverAt = 0

  constructor(options: {
    readonly clock: Clock
    readonly writer: (refused: (cause: unknown) => void) => LogWriter
    readonly projector: Projector
    readonly keys: KnownKeys
    readonly sealer: Sealer
    readonly state: EngineState
    /** Builds the state again from the tables and the log. */
    readonly recover: () => Promise<EngineState>
    readonly deliver: (outcome: Outcome) => void
    /** Is told the payload of each new job, in the clear. */
    readonly accepted: (seq: number, payload: Uint8Array) => void
    /** The workers that are connected to this process. */
    readonly present: () => readonly OfWorker[]
    /** Tells the workers again what they hold. */
    readonly welcome: (state: EngineState) => void
    readonly lookUps: LookUps
    readonly beatMs?: number | undefined
  }) {
    this.#beatMs = options.beatMs ?? BEAT_MS
    this.#clock = options.clock
    this.#writer = options.writer((cause) => this.#refuseAll(cause))
    this.#projector = options.projector
    this.#keys = options.keys
    this.#sealer = options.sealer
    this.#state = options.state
    this.#recover = options.recover
    this.#deliver = options.deliver
    this.#accepted = options.accepted
    this.#present = options.present
    this.#welcome = options.welcome
    this.#lookUps = options.lookUps
    this.#keyLookUps = new KeyLookUps(options.lookUps, (calls) => {
      this.#waiting = calls.concat(this.#waiting)
      this.#start()
    })
    this.#watch = options.clock.watch?.() ?? null
    this.#lastPruned = Math.floor(options.state.market.nowMs / PRUNE_MS)
    this.#resume(options.clock.now())
    this.#goOn()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  get state(): EngineState {
    return this.#state
  }

  /** Resolves with the reply once the change is durable. A refusal goes through `recover` first. */
  submit(command: Submission, recover: Recover | null = null): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#refuseUnfit(command)
      this.#queue(callOf(command, { resolve, reject, index: 0, recover }))
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
        this.#queue(callOf(command, { resolve, reject, index, recover: null }))
      }
      if (this.#waiting.length > 0) this.#start()
    })
  }

  /** Refuses a malformed command before it can share a batch with others (ENGINE-11). */
  #refuseUnfit(command: Submission): void {
    if (this.#isClosed) throw closed()
    checkCommand(command)
  }

  /** The tables have caught up, in part or in whole. */
  caughtUp(): void {
    if (this.#heldBack.length === 0 || this.#projector.isBehind) return
    this.#letIn()
    this.#start()
  }

  /** There may be more of them than a call can have arguments. */
  #letIn(): void {
    this.#waiting = this.#waiting.concat(this.#heldBack)
    this.#heldBack = []
  }

  /** Answers and writes the submitted commands, then stops. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelWake()
    this.#letIn()
    const mustWrite = () => this.#state.recorded > 0 && this.#isSound && !this.#writer.isStuck
    const isBusy = () =>
      this.#turn !== null ||
      this.#keyLookUps.isBusy ||
      this.#waiting.length + this.#applied.length > 0 ||
      mustWrite()
    do {
      this.#start()
      await this.#turn
      await this.#keyLookUps.rest()
      await this.#writer.rest()
    } while (isBusy())
    this.#watch?.end()
  }

  #queue(call: Call): void {
    const isEnqueue = call.command.type === 'enqueue'
    // An engine that closes answers all of them; a schedule may fire meanwhile.
    if (isEnqueue && this.#projector.isBehind && !this.#isClosed) this.#heldBack.push(call)
    else this.#waiting.push(call)
  }

  #start(): void {
    // Waits one turn of the event loop, so that commands of the same turn share a batch.
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
    if (this.#waiting.length > 0) return this.#start()
    // A look-up may wait for rows that come with the open batch.
    if (this.#isClosed && !this.#keyLookUps.isBusy) return
    // A call that changed nothing waits for the appends in flight, and is answered in a turn of its own.
    const isWork =
      this.#state.recorded > 0 ||
      this.#applied.length > 0 ||
      this.#hasMoreRounds ||
      this.#state.market.dependencies.isDue
    if (isWork && this.#isSound && this.#mayWrite()) this.#start()
    else if (this.#isClosed) return
    // An append in flight continues by itself, but a session's opening does not wait for it.
    else if (this.#writer.pending > 0 && !this.#writer.isStuck) this.#scheduleSend()
    else this.#schedule()
  }

  #mayWrite(): boolean {
    const { isStuck, pending } = this.#writer
    if (isStuck) return false
    if (pending === 0) return true
    const isMuch = this.#applied.length >= BATCH_WORTH_HANDING_OVER || this.#hasMoreRounds
    if (pending < WRITES_MAX && isMuch) return true
    return pending < WRITES_MAX_AT_OPENING && this.#isSendDue()
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
    if (this.#writer.pending >= WRITES_MAX_AT_OPENING || at === Number.POSITIVE_INFINITY) return
    this.#cancelWake()
    this.#cancelWake = this.#clock.wakeAt(Math.max(at, this.#clock.now()), () => this.#start())
  }

  /** Applies the waiting commands. If the log has capacity, it also hands over the open batch. */
  async #run(): Promise<void> {
    const count = Math.max(partOf(this.#waiting.length), this.#keyLookUps.takeAnswered())
    const batch = this.#waiting.splice(0, count)
    let isApplying = false
    try {
      const hasStoodStill = this.#watch?.hasHappened() === true
      do {
        if (this.#writer.isStuck) await this.#writer.retry()
        // Do not expire offers that were never delivered.
        if (!hasStoodStill && this.#isWriteSlow()) await this.#writer.rest()
        if (this.#writer.isStuck) throw this.#unknownOutcome
        await this.#makeSound()
        const windows = this.#lookUps.windows(batch.map(({ command }) => command))
        if (windows !== null) {
          // The tables get the rows of what was handed over, with those of the open batch.
          if (this.#state.recorded > 0) this.#handOver()
          settle(batch, await windows)
        }
        // Meanwhile an append may have been refused.
      } while (this.#writer.isStuck || !this.#isSound)
      isApplying = true
      const now = this.#clock.now()
      if (hasStoodStill || this.#hasStoodStill) this.#resume(now)
      this.#keys.forgetApplied()
      for (const call of batch) {
        if (call.refusal !== null) this.#applied.push(call)
        else if (!this.#keyLookUps.holds(call)) this.#apply(call, now)
        if (this.#openBytes >= OPEN_BYTES_MAX) this.#handOver()
      }
      if (this.#mayWrite()) {
        this.#dispatch(now)
        this.#handOver()
      }
    } catch (cause) {
      if (isApplying) this.#discard(batch, cause)
      else refuse(batch, cause)
    } finally {
      this.#keyLookUps.start()
    }
  }

  /** Why calls are refused while the writer is stuck. */
  #unknownOutcome: FairleadError | null = null

  #apply(call: Call, now: number): void {
    const { command } = call
    try {
      call.reply =
        command.type === 'enqueue'
          ? this.#enqueue(command, now)
          : this.#state.apply(this.#acceptedForm(command), now).reply
      if (command.type === 'complete') {
        this.#openBytes += (command.output?.length ?? 0) + (command.meta?.length ?? 0)
      }
      this.#wantsRound ||= command.type !== 'heartbeat'
    } catch (error) {
      // A refusal changes nothing. Any other error is a defect and discards the open batch.
      if (!(error instanceof FairleadError) || error.code === 'Internal') throw error
      call.refusal = error
    }
    this.#applied.push(call)
  }

  #acceptedForm(command: Command): Command {
    const isReport = command.type === 'complete' || command.type === 'fail'
    return isReport ? acceptReport(command, this.#state.market, this.#sealer) : command
  }

  /** A known job is answered with its id. No command is applied or recorded for it. */
  #enqueue(asked: EnqueueRequest, now: number): EnqueueReply | null {
    const { firing } = asked
    if (firing !== undefined) return this.#fire(asked, firing, now)
    const accepted = this.#accept(asked, now)
    if ('known' in accepted) return accepted.known
    if ('duplicateOf' in accepted) return accepted
    const id = this.#state.apply(accepted.command, now).reply as JobId
    this.#remember(id, accepted)
    return id
  }

  /** A firing that was planned before a standstill is planned anew, because its time may be missed now. */
  #fire(asked: EnqueueRequest, firing: Firing, now: number): EnqueueReply | null {
    const { caller } = asked
    const nowMs = Math.max(now, this.#state.market.nowMs)
    if (this.#schedules.isStale(firing, nowMs)) return null
    const step = { type: 'fireSchedule', caller, ...firing } as const
    const leaveOut = (reason: string) =>
      this.#state.apply({ ...step, enqueue: null, reason }, now).reply as null
    if (firing.dueAt !== null && firing.at === null) return leaveOut('missed')
    let accepted: Acceptance
    try {
      accepted = this.#accept(asked, now)
    } catch (error) {
      const isRefusal = error instanceof FairleadError && error.code !== 'Internal'
      if (firing.dueAt === null || !isRefusal) throw error
      return leaveOut(error.code)
    }
    if ('known' in accepted) {
      return firing.dueAt === null ? accepted.known : leaveOut('IdempotencyConflict')
    }
    if ('duplicateOf' in accepted) {
      return firing.dueAt === null ? accepted : leaveOut('deduplicated')
    }
    const { type: _, ...enqueue } = accepted.command
    const id = this.#state.apply({ ...step, enqueue, reason: null }, now).reply as JobId | null
    if (id !== null) this.#remember(id, accepted)
    return id
  }

  #accept(asked: EnqueueRequest, now: number): Acceptance {
    const { market } = this.#state
    const { dependencies } = this.#lookUps
    const nowMs = Math.max(now, market.nowMs)
    const keys = this.#keys
    return acceptEnqueue(asked, { market, nowMs, keys, dependencies, sealer: this.#sealer })
  }

  #remember(id: JobId, { key, payload }: Accepted): void {
    this.#openBytes += payload.length
    this.#accepted(this.#state.enqueueSeq, payload)
    if (key !== null) this.#keys.add(key, { id, payload })
  }

  /** Hands the open batch to the log. */
  #handOver(): void {
    const calls = this.#applied
    const outcome = this.#state.takeOutcome()
    this.#applied = []
    this.#openBytes = 0
    if (outcome.commands.entries.length > 0) {
      const flight: Flight = { outcomes: [outcome], calls }
      this.#flights.push(flight)
      const batch = this.#writer.append(outcome.commands, (since) => {
        this.#stored(flight, batch, since)
      })
      this.#keys.handed(batch)
      this.#projector.handed(batch)
      return
    }
    // An answer that changes nothing may rely on an append in flight: it waits for that.
    const newest = this.#flights.at(-1)
    if (newest === undefined) return this.#tell({ outcomes: [outcome], calls })
    newest.outcomes.push(outcome)
    newest.calls = [...newest.calls, ...calls]
  }

  #stored(flight: Flight, batch: number, since: number): void {
    this.#flights.shift()
    if (this.#clock.now() - since >= STANDSTILL_MS) this.#hasStoodStill = true
    this.#projector.stored(batch)
    // Offers and answers go before the rows, which take their time.
    this.#tell(flight)
    this.#projector.release()
    if (this.#turn === null) this.#goOn()
  }

  /** True if callers have waited for an append for so long that they cannot have acted in time. */
  #isWriteSlow(): boolean {
    const since = this.#writer.pendingSince
    return since !== null && this.#clock.now() - since >= STANDSTILL_MS
  }

  /** Delivers and answers after a successful write. */
  #tell({ outcomes, calls }: Flight): void {
    for (const outcome of outcomes) this.#deliver(outcome)
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
    for (let i = 0; i < CASCADES_PER_TURN && state.market.dependencies.isDue; i++) {
      state.apply({ type: 'cascade' }, now)
      this.#wantsRound = true
    }
    for (const call of this.#schedules.take(state.market)) this.#queue(call)
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
    if (now - state.recordedAt >= this.#beatMs) state.apply({ type: 'beat' }, now)
  }

  /** An append was refused. Nobody may build on it, and nobody knows if it happened. */
  #refuseAll(cause: unknown): void {
    this.#hasStoodStill = true
    this.#projector.refused(cause)
    const error = new FairleadError(
      'StoreUnavailable',
      `the log cannot be written, and the outcome is unknown; ask again with the same key (${messageOf(cause)})`,
      {},
      { cause },
    )
    this.#unknownOutcome = error
    const calls = [...this.#flights.flatMap((flight) => flight.calls), ...this.#applied]
    for (const flight of this.#flights) flight.calls = []
    this.#applied = []
    for (const { reject, index } of calls) reject(error, index)
    if (this.#turn === null) this.#goOn()
  }

  /** After a defect the state is wrong, and the open batch is discarded. */
  #discard(batch: readonly Call[], cause: unknown): void {
    refuse(new Set([...this.#applied, ...this.#keyLookUps.discard(), ...batch]), cause)
    this.#applied = []
    this.#openBytes = 0
    this.#wantsRound = true
    this.#hasMoreRounds = false
    this.#isSound = false
    this.#projector.discard(cause)
  }

  /** Nobody could reach the engine since its last command, which is charged to nobody (ENGINE-4). */
  #resume(now: number): void {
    this.#hasStoodStill = false
    // Time never goes back: a clock that lags a little continues at the last time that the state has seen.
    const at = Math.max(now, this.#state.market.nowMs)
    const gapMs = at - this.#state.market.nowMs
    this.#state.apply({ type: 'resume', gapMs, present: this.#present() }, at)
    this.#schedules.resumed(at)
    this.#welcome(this.#state)
    this.#wantsRound = true
  }

  /** After a defect the state is built again from what was stored. */
  async #makeSound(): Promise<void> {
    if (this.#isSound) return
    this.#recoverAt = this.#clock.now() + RECOVER_MS
    // Batches that were handed over before the defect did happen.
    await this.#writer.rest()
    if (this.#writer.isStuck) throw this.#unknownOutcome
    this.#keys.dropOpen()
    this.#state = await this.#recover()
    // A long recovery counts as a standstill itself, so the watch is reset.
    this.#watch?.hasHappened()
    this.#resume(this.#clock.now())
    this.#isSound = true
    this.#recoverAt = 0
  }

  /** Sets one timer for the next thing that falls due. */
  #schedule(): void {
    this.#cancelWake()
    const { market } = this.#state
    const now = this.#clock.now()
    let at = this.#state.recordedAt + this.#beatMs
    at = nextDueAt(market, at) ?? at
    at = Math.min(at, nextClaimAt(market) ?? Number.POSITIVE_INFINITY)
    at = Math.min(at, market.sessions.nextSendAt())
    at = Math.min(at, this.#schedules.nextAt(market))
    let isWaiting = market.sessions.hasUnserved
    for (const queue of market.queues.values()) {
      at = Math.min(at, queue.nextReadyAt() ?? Number.POSITIVE_INFINITY)
      isWaiting ||= queue.readySize > 0
    }
    if (isWaiting) at = Math.min(at, this.#lastRound + market.policy.queue.dispatchIntervalMs)
    if (this.#wantsRound || market.dependencies.isDue) at = Math.min(at, now)
    if (this.#writer.isStuck) at = this.#writer.retryAt
    if (!this.#isSound) at = Math.max(now, this.#recoverAt)
    this.#cancelWake = this.#clock.wakeAt(at, () => this.#start())
  }
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
