import {
  FairleadError,
  type LeaseId,
  type ProviderId,
  parsePolicy,
  type WorkerId,
} from '@fairlead/core'
import type { LogRecord, WriteBatch } from '@fairlead/core/internal'
import { type EngineEvent, ReplicaDiverged } from '@fairlead/engine'
import { BookingSites } from '../actors/booking-sites.ts'
import { Callers } from '../actors/callers.ts'
import { ChainActor } from '../actors/chain-actor.ts'
import { Desk, type Order, type Signups } from '../actors/desk.ts'
import { Operator } from '../actors/operator.ts'
import { Prover, publicKeyIn } from '../actors/prover.ts'
import { Reader } from '../actors/reader.ts'
import { SignupRequests } from '../actors/signup-requests.ts'
import { type Gossip, Worker } from '../actors/worker.ts'
import type { Watch } from '../actors/worker-link.ts'
import { Downtime } from '../checks/downtime.ts'
import { JobHistory } from '../checks/job-history.ts'
import { checkLeft, compareTables } from '../checks/leader-tables.ts'
import { RestChecks } from '../checks/rest-checks.ts'
import { Shadow } from '../checks/shadow.ts'
import { StoreTwin } from '../checks/store-twin.ts'
import { Truth } from '../checks/truth.ts'
import { Witness } from '../checks/witness.ts'
import { Dice } from '../dice.ts'
import { isLookedAt } from '../ledger/fund/fund-book.ts'
import { Ledger } from '../ledger/ledger.ts'
import { hasEndedStatus } from '../ledger/rules/own-rules.ts'
import type { SimDisk } from '../store/sim-disk.ts'
import { StoreFiles } from '../store/sim-store.ts'
import type { StoreFates } from '../store/store-fates.ts'
import { broken, Violation } from '../violation.ts'
import { armDefect, disarmDefect, sparing } from './defects.ts'
import { Faults } from './faults.ts'
import { weighRows } from './row-weight.ts'
import type { ProviderPlan, Scenario } from './scenario.ts'
import { Session } from './session.ts'
import { SimClock } from './sim-clock.ts'

const START_MS = 1_760_000_000_000
/** An engine that is woken so often without the time moving will never come to rest. */
/** An engine that works through many calls may take a few turns before anybody hears of it. */
const QUIET_TURNS = 6
const WAKES_MAX = 2_000
/** An append that takes so long may count as downtime. */
const SLOW_MS = 1_000
/** More steps than any chain of promises of the engine has between two of its turns. */
const HOPS = 50
/** What one changed row may count for; see `weighRows`. With the last, 40 rows keep enqueues waiting. */
const ROW_WEIGHTS = [1, 20, 20, 5_000]

/** The engine and all around it: a store, a clock, callers, workers, an operator, and who watches them. */
export class World {
  readonly scenario: Scenario
  readonly dice: Dice
  readonly clock = new SimClock(START_MS)
  readonly files = new StoreFiles()
  readonly truth: Truth
  readonly faults: Faults
  readonly desk: Desk
  readonly sites: BookingSites
  readonly ledger: Ledger
  readonly witness: Witness
  readonly callers: Callers
  readonly operator: Operator
  readonly reader: Reader
  readonly prover: Prover
  /** Null where there is none. */
  readonly chain: ChainActor | null
  readonly workers: readonly Worker[]
  readonly #plans: readonly ProviderPlan[]
  readonly #fates: StoreFates
  readonly #downtime: Downtime
  readonly #history: JobHistory
  readonly #rest: RestChecks
  /** Of those who look at files, and of those who end processes. */
  readonly #lookDice: Dice
  readonly #cutDice: Dice
  readonly #rowWeight: number
  /** In every second run: it costs as much as the engine itself. */
  readonly #shadow: Shadow | null
  /** In every fourth run. */
  readonly #twin: StoreTwin | null
  readonly #policy: Readonly<Record<string, unknown>>
  #session: Session
  /** Of the engines before this one; see `SimLog`. */
  #crowded = 0
  /**
   * Appends that were refused, processes that were killed in a call, defects, batches that were replayed at a start,
   * and enqueues that waited for the tables.
   */
  readonly #tally = { refused: 0, cut: 0, defect: 0, replayed: 0, heldBack: 0 }
  #violation: Violation | null = null
  /** When the engine came to rest, and the calls that it had got by then. */
  #restedAt: number | null = null
  #callsThen = 0
  /** The subscription to events was refused. */
  #isDeaf = false

  constructor(scenario: Scenario, seed: number) {
    this.scenario = scenario
    this.dice = new Dice(seed, 1)
    this.#shadow = seed % 2 === 1 ? new Shadow(new Dice(seed, 4)) : null
    this.#twin = seed % 4 === 2 ? new StoreTwin((error) => this.#caught(error)) : null
    this.#policy = scenario.policy(this.dice)
    this.#lookDice = new Dice(seed, 6)
    this.#cutDice = new Dice(seed, 7)
    this.#rowWeight = this.#lookDice.pick(ROW_WEIGHTS)
    this.faults = new Faults({
      dice: new Dice(seed, 2),
      tableDice: new Dice(seed, 5),
      rates: scenario.faults,
      clock: this.clock,
    })
    this.#fates = this.#allFates()
    this.#downtime = new Downtime(this.clock)
    this.truth = new Truth({
      command: (entry, nowMs) => {
        const { batch } = this.truth
        const { hasWorkers } = this.ledger
        this.#downtime.command(entry, { batch, nowMs, hasWorkers })
        if (entry.command.type === 'stepBulk') {
          this.ledger.book.bulk.step(entry.command, this.ledger.book)
        }
        if (entry.command.type === 'resume') this.ledger.resumed(entry.command.gapMs, nowMs)
        this.ledger.command(entry)
      },
      rows: (rows, isPart) => this.#happened(rows, isPart),
      isLookedAt: (command) => scenario.proofs !== 'none' && isLookedAt(command),
    })
    this.#history = new JobHistory(this.disk)
    this.sites = new BookingSites(new Dice(seed, 3), this.disk)
    this.desk = new Desk(this.disk, this.#signups(), (error) => this.#caught(error))
    this.witness = new Witness(this.disk)
    this.ledger = new Ledger({
      disk: this.disk,
      policy: parsePolicy(this.#policy, scenario.preset),
      nowMs: START_MS,
      hearsay: this.desk,
      limits: scenario.limits,
      mustSucceed: scenario.mustSucceed,
      hasProofs: scenario.proofs !== 'none',
      withBound: scenario.withBound,
    })
    const { dice, desk, ledger } = this
    const { clock, sites } = this
    const signups = new SignupRequests({ dice, clock, ledger })
    this.callers = new Callers(dice, desk, scenario, signups)
    this.operator = new Operator({ dice, desk, ledger, scenario })
    this.reader = new Reader({ dice, desk, truth: this.truth, history: this.#history })
    this.chain = scenario.proofs === 'chain' ? new ChainActor({ dice, desk, ledger, clock }) : null
    this.prover = new Prover({ dice, desk, ledger, chain: this.chain })
    const gossip: Gossip = []
    const watch: Watch = (look) => this.#watch(look)
    const latest = () => clock.latest
    const taskOf = (leaseId: LeaseId): string | null => this.#taskOf(leaseId)
    const { witness } = this
    this.#plans = scenario.providers(dice)
    this.workers = this.#plans.flatMap(({ name, workers }) =>
      workers.map(({ slots, profile }, i) => {
        const providerId = `provider:${name}` as ProviderId
        const id = `${name}-${i}` as WorkerId
        const own = { providerId, id, slots, profile }
        const { reportOneIn } = this.scenario
        const tools = { dice, desk, gossip, sites, taskOf, latest, witness, watch }
        return new Worker({ ...own, ...tools, reportOneIn })
      }),
    )
    this.#rest = new RestChecks({ clock, ledger, workers: this.workers })
    this.#session = new Session(this.files, this.clock, this.#fates)
  }

  /** All that has happened, as rows. */
  get disk(): SimDisk {
    return this.truth.disk
  }

  get session(): Session {
    return this.#session
  }

  /** Opens the first engine and registers everybody, without any trouble yet. */
  async start(): Promise<void> {
    await this.faults.pause(async () => {
      await this.open()
      for (const { limit } of this.scenario.limits) {
        this.desk.send(
          (engine) => engine.limiter.define(limit),
          () => {},
        )
      }
      for (const { name, offer, stake } of this.#plans) {
        const id = `provider:${name}` as ProviderId
        this.desk.send(
          (engine) => engine.registerProvider(id, offer, { stake, ...this.#firstKey(id) }),
          () => {},
        )
      }
      for (const worker of this.workers) worker.connect()
      await this.settle()
    })
  }

  #firstKey(id: ProviderId): { readonly publicKey?: string } {
    return this.scenario.proofs === 'none' ? {} : { publicKey: publicKeyIn(id, 0) }
  }

  /** How often what went wrong, for whoever asks if enough did. */
  get tally(): Readonly<Record<string, number>> {
    return { ...this.#tally, crowded: this.#crowded + this.#session.store.log.crowded }
  }

  /** A new engine on what is left. */
  async open(): Promise<void> {
    disarmDefect()
    this.#crowded += this.#session.store.log.crowded
    this.#tally.replayed += this.files.log.batch - this.files.tables.batch
    weighRows(this.#rowWeight)
    do {
      this.#session = new Session(this.files, this.clock, this.#fates)
      this.#downtime.opened()
      const { preset } = this.scenario
      const at = this.clock.now()
      const opening = this.#session.open({
        policy: this.#policy,
        preset,
        random: () => this.dice.bytes(32),
      })
      const refusal = await this.#whileOpening(opening)
      if (refusal !== null) this.#checkOpenRefusal(refusal, at)
      else this.ledger.book.schedules.resumed(Math.max(at, this.ledger.beat))
    } while (!this.#session.isOpen)
    this.#rest.forgetWaits()
    this.#restedAt = null
    this.desk.connect(this.#session)
    this.chain?.strand()
    this.#listen()
    for (const worker of this.workers) {
      worker.strand()
      if (this.scenario.withBound || this.dice.oneIn(2)) worker.connect()
    }
  }

  /** An engine that cannot be opened waits for what it has given to the tables. */
  async #whileOpening(opening: Promise<string | null>): Promise<string | null> {
    let isDone = false
    const refusal = opening
      .catch((error: unknown) => this.#caught(error))
      .finally(() => {
        isDone = true
      })
    for (let turn = 1; !isDone; turn++) {
      await immediate()
      if (turn % HOPS !== 0 || isDone) continue
      const fate = this.faults.endApply()
      if (fate === null) this.clock.moveTo(this.clock.now() + 1_000)
      else this.session.store.tables.release(fate)
    }
    // What was found ends the run.
    if (this.#violation !== null) throw this.#violation
    return (await refusal) ?? null
  }

  /** Ends the process at once: now, or in the middle of a call of the store. */
  kill(): void {
    const { session } = this
    if (session.isOver) return
    const dice = this.#cutDice
    // Half of the time the machine stays, and has all that its process has written.
    const kept = dice.oneIn(2) ? Number.POSITIVE_INFINITY : dice.below(3)
    session.kill({ written: dice.below(3), kept })
    if (dice.oneIn(3)) this.#watch(() => sparing(() => checkLeft(this.files, this.truth)))
  }

  /** One of the next commands of the engine shows a defect. */
  armDefect(): void {
    const { session } = this
    armDefect(this.#cutDice.below(6), () => {
      this.#tally.defect++
      this.ledger.book.schedules.troubled(this.clock.now())
      session.store.noteDefect()
      this.#downtime.shaken(session.store.log.newest)
    })
  }

  /** Listens to events from the last one on. An engine whose tables take nothing is asked again. */
  #listen(): void {
    const { session } = this
    this.#isDeaf = false
    const hear = (event: EngineEvent) => {
      if (session === this.#session) this.#watch(() => this.witness.heard(event))
    }
    session.engine.onEvent(hear, this.witness.seq).catch((error: unknown) => {
      const isRefused = error instanceof FairleadError && error.code === 'StoreUnavailable'
      if (!isRefused) this.#caught(error)
      else if (session === this.#session) this.#isDeaf = true
    })
  }

  /** Lets everything come to rest that does not hang. */
  async settle(): Promise<void> {
    if (this.#isDeaf && this.session.isOpen) this.#listen()
    let [calm, wakes] = [0, 0]
    while (calm < QUIET_TURNS) {
      const before = this.#activity()
      if (this.clock.fireDue()) wakes++
      await immediate()
      calm = this.#activity() === before ? calm + 1 : 0
      if (wakes > WAKES_MAX) broken('rest', 'the engine wakes itself again and again')
    }
    this.#restedAt = this.clock.now()
    this.#callsThen = this.desk.calls
  }

  /**
   * Moves the time at once, also back; nobody is woken yet. What is under way without waiting for anything,
   * such as the loading of a state, is done before: it has one time.
   */
  async jump(ms: number): Promise<void> {
    await this.hop()
    this.clock.moveTo(this.clock.now() + ms)
  }

  /** Lets everything go on that waits for nothing. */
  async hop(): Promise<void> {
    for (let hop = 0; hop < HOPS; hop++) await Promise.resolve()
  }

  /** Moves the time on, wake by wake. */
  async walk(ms: number): Promise<void> {
    const until = this.clock.now() + ms
    for (;;) {
      await this.settle()
      const next = this.clock.nextWakeAt()
      if (next === null || next > until) break
      this.clock.moveTo(next)
    }
    this.clock.moveTo(until)
    await this.settle()
  }

  /** Ends the run if anything that was seen since the last time should not have been. */
  check(): void {
    if (this.#violation !== null) throw this.#violation
    if (this.isAtRest) {
      this.#rest.check(this.session)
      this.desk.checkPrompt()
      if (this.desk.isHeldBack) this.#tally.heldBack++
      if (this.#lookDice.oneIn(150)) compareTables(this.files, this.truth)
    } else this.forgetWaits()
  }

  /** The tables have all that has happened, and it is durable: nothing is left to replay. */
  checkSynced(): void {
    const { tables, log } = this.files
    if (tables.durable !== log.batch)
      broken('projection', `the tables are durable up to ${tables.durable}, not ${log.batch}`)
    compareTables(this.files, this.truth)
  }

  /** In the end everybody has what has happened: the leader's tables, its subscribers, a replica and a real store. */
  async compareStores(): Promise<void> {
    disarmDefect()
    await this.session.engine.checkpoint()
    this.checkSynced()
    checkLeft(this.files, this.truth)
    const { tables, log } = this.files
    if (Math.min(tables.scrubbed, log.scrubbed) < tables.erased)
      broken('personal', `people who were erased with batch ${tables.erased} are still on the disk`)
    const due = this.disk.journal.length
    if (this.witness.seq !== due)
      broken('event-stream', `${this.witness.seq} of ${due} events were heard`)
    this.#shadow?.compare(this.disk)
    await this.#twin?.compare(this.disk)
  }

  /** Nothing is asked but of tables that take nothing, nothing else hangs, and the engine knows what time it is. */
  get isAtRest(): boolean {
    const { store, isOpen } = this.session
    const isCalled = this.desk.calls > this.#callsThen
    const { log, reads } = store
    if (this.#restedAt !== this.clock.now() || isCalled || !isOpen) return false
    if (log.isBusy || log.isStuck || reads.isBusy || store.isShaken) return false
    return this.desk.open === 0 || store.isBehind
  }

  /** Something happened that the engine has yet to notice. */
  disturb(): void {
    this.#restedAt = null
  }

  /** What waited is judged anew: the clock went back, or somebody changed the rules. */
  forgetWaits(): void {
    this.#rest.forgetWaits()
  }

  #allFates(): StoreFates {
    const { faults, clock } = this
    return {
      now: () => clock.now(),
      append: () => faults.append(),
      apply: () => faults.apply(),
      load: () => faults.load(),
      read: () => faults.read(),
      readLog: (count) => faults.readLog(count),
      flushed: (count) => faults.flushed(count),
      written: (record) => this.#written(record),
      installed: (rows) => this.#installed(rows),
      refused: (newest) => {
        this.#tally.refused++
        this.ledger.book.schedules.troubled(clock.now())
        this.#downtime.refused(newest)
      },
      stored: (since, newest) => {
        if (clock.now() - since >= SLOW_MS) this.ledger.book.schedules.troubled(clock.now())
        this.#downtime.stored(since, newest)
      },
      cut: () => {
        this.#tally.cut++
        this.kill()
      },
      watch: (look) => this.#watch(look),
    }
  }

  /** What the desk and the ledger hear of registrations; each of the others knows a part of it. */
  #signups(): Signups {
    const sessions = () => this.ledger.book.sessions
    const payloadOf = ({ request }: Order): Readonly<Record<string, unknown>> | null =>
      request['kind'] === 'registration' ? (request['payload'] as Record<string, unknown>) : null
    return {
      said: (leaseId) => this.sites.said(leaseId),
      checkEnd: (end) => this.sites.checkEnd(end),
      mayRefuse: (order) => {
        const payload = payloadOf(order)
        return payload !== null && sessions().isUntimely(payload, this.clock.latest)
      },
      mayConflict: (order) => {
        const payload = payloadOf(order)
        return payload !== null && sessions().hasSignedUp(payload)
      },
      isCancelKnown: ({ id, kind, status }) =>
        kind === 'registration' &&
        (hasEndedStatus(status) || sessions().jobs.get(id)?.isCancelNoted === true),
      mayBeClaimed: (jobId) => this.ledger.book.fund?.provings.everClaimed.has(jobId) === true,
    }
  }

  /** The name of the task behind a stored lease. */
  #taskOf(leaseId: LeaseId): string | null {
    const jobId = this.disk.leases.get(leaseId)?.jobId
    const job = jobId === undefined ? undefined : this.disk.jobs.get(jobId)
    return job?.kind === 'task' ? job.model : null
  }

  #activity(): number {
    return this.clock.activity + this.session.store.activity + this.desk.activity
  }

  #installed(rows: WriteBatch): void {
    this.#shadow?.installed(rows)
    this.truth.installed(rows)
  }

  #written(record: LogRecord): void {
    if (this.#violation !== null) return
    sparing(() => {
      this.truth.written(record)
      this.#shadow?.written(record, this.disk)
    })
  }

  #happened(rows: WriteBatch, isPart: boolean): void {
    this.#twin?.written(rows)
    this.#history.written(rows, this.truth.batch)
    this.ledger.written(rows, isPart)
  }

  /** The engine must not be able to catch what is found: it is kept, and thrown after the step. */
  #watch(look: () => void): void {
    try {
      look()
    } catch (error) {
      this.#caught(error)
    }
  }

  #caught(error: unknown): void {
    if (this.#violation !== null) return
    if (error instanceof Violation) this.#violation = error
    else if (error instanceof ReplicaDiverged) {
      this.#violation = new Violation('recovery', error.message)
    } else {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      this.#violation = new Violation('unexplained', text)
    }
  }

  #checkOpenRefusal(refusal: string, at: number): void {
    // The account has stopped at what was found in this very step; that is what has to be told.
    if (this.#violation !== null) throw this.#violation
    const isEarly = at < this.ledger.beat - 60_000
    // A clock that is far behind is set right; a store that cannot be read is asked again a bit later.
    if (isEarly) this.clock.moveTo(Math.max(this.clock.now(), this.ledger.beat - 60_000))
    else if (this.session.store.faults > 0)
      this.clock.moveTo(this.clock.now() + this.dice.below(100))
    else broken('unexplained', `an engine would not open: ${refusal}`)
  }
}

function immediate(): Promise<void> {
  return new Promise((done) => setImmediate(done))
}
