import { type Clock, FairleadError, nextDueAt, type Store } from '@fairlead/core'
import type { Command } from './command.ts'
import type { EngineState, Outcome } from './engine-state.ts'

/** How often a living engine leaves a sign of life in the store. */
const BEAT_MS = 1_000
/** How often ended jobs are looked through for ones to delete. */
const PRUNE_MS = 60_000
/** Rounds in one turn, so that replies are not held up by a long queue. */
const ROUNDS_PER_TURN = 16

interface Waiting {
  readonly command: Command
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: Error) => void
}

interface Answer {
  readonly waiting: Waiting
  readonly reply?: unknown
  readonly refusal?: FairleadError
}

/**
 * The single writer (ENGINE-2). Commands that arrive while a batch is written wait; then all of them
 * are applied one after the other, a round follows, and one transaction writes what they changed. Only
 * then do their callers hear of it. If the write fails nobody has seen anything: every caller of the
 * batch gets `StoreUnavailable`, and the state is loaded anew from what is really in the store.
 */
export class EngineLoop {
  readonly #store: Store
  readonly #clock: Clock
  readonly #reload: () => Promise<EngineState>
  readonly #deliver: (outcome: Outcome) => void
  readonly #prepare: (command: Command) => Command
  #state: EngineState
  #waiting: Waiting[] = []
  #turn: Promise<void> | null = null
  #cancelWake: () => void = () => {}
  #wantsRound = true
  #lastBeat: number
  #lastPrune: number
  #lastRound = 0
  #isClosed = false
  /** False after a failed write, until the state was loaded anew. */
  #isSound = true

  constructor(options: {
    readonly store: Store
    readonly clock: Clock
    readonly state: EngineState
    readonly reload: () => Promise<EngineState>
    readonly deliver: (outcome: Outcome) => void
    /** Looks up what a command depends on, right before it is applied. */
    readonly prepare: (command: Command) => Command
  }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#state = options.state
    this.#reload = options.reload
    this.#deliver = options.deliver
    this.#prepare = options.prepare
    this.#lastBeat = options.state.market.nowMs
    this.#lastPrune = options.state.market.nowMs
    this.#schedule()
  }

  get state(): EngineState {
    return this.#state
  }

  /** Resolves with the reply once the change is durable. */
  submit(command: Command): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(closed())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ command, resolve, reject })
      this.#start()
    })
  }

  /** Answers what was submitted, writes it, and stops. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelWake()
    while (this.#turn !== null) await this.#turn
    await this.#run()
  }

  #start(): void {
    // One turn later, so that commands of the same turn of the event loop share a transaction.
    this.#turn ??= new Promise<void>((done) => {
      setImmediate(() => {
        void this.#run().finally(() => {
          this.#turn = null
          done()
          if (this.#waiting.length > 0) this.#start()
          else if (!this.#isClosed) this.#schedule()
        })
      })
    })
  }

  async #run(): Promise<void> {
    const batch = this.#waiting
    this.#waiting = []
    let answers: Answer[] = []
    try {
      await this.#restoreState()
      const commands = batch.map(({ command }) => this.#prepare(command))
      const now = this.#clock.now()
      answers = batch.map((waiting, i) => this.#answer(waiting, commands[i] as Command, now))
      this.#dispatch(now)
      const outcome = this.#state.takeOutcome()
      if (isWorthWriting(outcome, answers) || now - this.#lastBeat >= BEAT_MS) {
        await this.#store.commit(outcome.batch)
        this.#lastBeat = now
      }
      this.#deliver(outcome)
    } catch (cause) {
      await this.#recover(batch, cause)
      return
    }
    for (const { waiting, reply, refusal } of answers) {
      if (refusal === undefined) waiting.resolve(reply)
      else waiting.reject(refusal)
    }
  }

  #answer(waiting: Waiting, command: Command, now: number): Answer {
    try {
      const reply = this.#state.apply(command, now)
      this.#wantsRound ||= command.type !== 'heartbeat'
      return { waiting, reply }
    } catch (error) {
      // A refusal changes nothing; anything else is a defect, and the whole batch is thrown away.
      if (error instanceof FairleadError && error.code !== 'Internal')
        return { waiting, refusal: error }
      throw error
    }
  }

  /** After all the commands of a turn: what fell due, rounds as long as they find work, pruning. */
  #dispatch(now: number): void {
    const state = this.#state
    const due = nextDueAt(state.market)
    if (due !== null && due <= now) this.#wantsRound = true
    // A job whose backoff is over is new demand; without a round it would stay due, and we awake.
    for (const queue of state.market.queues.values()) {
      if ((queue.nextReadyAt() ?? Number.POSITIVE_INFINITY) <= now) this.#wantsRound = true
    }
    state.apply({ type: 'tick' }, now)
    const interval = state.market.policy.queue.dispatchIntervalMs
    if (this.#wantsRound || now - this.#lastRound >= interval) {
      this.#wantsRound = false
      this.#lastRound = now
      for (let i = 0; i < ROUNDS_PER_TURN; i++) {
        const { isFull } = state.apply({ type: 'round' }, now) as { isFull: boolean }
        if (!isFull) break
        if (i === ROUNDS_PER_TURN - 1) this.#wantsRound = true
      }
    }
    if (now - this.#lastPrune >= PRUNE_MS) {
      this.#lastPrune = now
      state.prune()
    }
  }

  async #recover(batch: readonly Waiting[], cause: unknown): Promise<void> {
    const error = new FairleadError(
      'StoreUnavailable',
      `the change was not stored and has not happened; try again (${messageOf(cause)})`,
      {},
      { cause },
    )
    for (const { reject } of batch) reject(error)
    this.#wantsRound = true
    this.#isSound = false
    await this.#restoreState().catch(() => undefined)
  }

  /** What failed to be written must not be built on: the state comes from the store again. */
  async #restoreState(): Promise<void> {
    if (this.#isSound) return
    this.#state = await this.#reload()
    this.#isSound = true
  }

  /** One timer for whatever comes next. */
  #schedule(): void {
    this.#cancelWake()
    const { market } = this.#state
    const now = this.#clock.now()
    const times = [this.#lastBeat + BEAT_MS, nextDueAt(market) ?? Number.POSITIVE_INFINITY]
    for (const queue of market.queues.values()) {
      times.push(queue.nextReadyAt() ?? Number.POSITIVE_INFINITY)
      if (queue.readySize > 0) times.push(this.#lastRound + market.policy.queue.dispatchIntervalMs)
    }
    if (this.#wantsRound) times.push(now)
    this.#cancelWake = this.#clock.wakeAt(Math.min(...times), () => this.#start())
  }
}

function isWorthWriting({ batch }: Outcome, answers: readonly Answer[]): boolean {
  const rows = [batch.newJobs, batch.jobs, batch.leases, batch.providers, batch.results]
  return (
    rows.some((list) => list.length > 0) ||
    batch.journal.length > 0 ||
    batch.shares.length > 0 ||
    batch.pruneEndedBefore !== null ||
    answers.some(({ refusal }) => refusal === undefined)
  )
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

function closed(): FairleadError {
  return new FairleadError('StoreUnavailable', 'the engine is closed; open it again')
}
