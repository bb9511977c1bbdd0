import {
  type KindName,
  type LeaseId,
  type ProviderId,
  parsePolicy,
  type WorkerId,
} from '@fairlead/core'
import { Callers } from './actors/callers.ts'
import { Operator } from './actors/operator.ts'
import { SignupRequests } from './actors/signup-requests.ts'
import { type Gossip, Worker } from './actors/worker.ts'
import { tapBatches } from './batch-tap.ts'
import { BookingSites } from './booking-sites.ts'
import { Desk, type Order, type Signups } from './desk.ts'
import { Dice } from './dice.ts'
import { Faults } from './faults.ts'
import { Ledger } from './ledger/ledger.ts'
import { hasEndedStatus } from './ledger/own-rules.ts'
import type { ProviderPlan, Scenario } from './scenario.ts'
import { Session } from './session.ts'
import { Shadow } from './shadow.ts'
import { SimClock } from './sim-clock.ts'
import { SimDisk } from './sim-disk.ts'
import type { Commit } from './sim-store.ts'
import { StoreTwin } from './store-twin.ts'
import { broken, Violation } from './violation.ts'
import { Witness } from './witness.ts'
import type { Watch } from './worker-link.ts'

const START_MS = 1_760_000_000_000
/** An engine that is woken so often without the time moving will never come to rest. */
const WAKES_MAX = 2_000
/** More steps than any chain of promises of the engine has between two of its turns. */
const HOPS = 50

tapBatches()

/** The engine and all around it: a disk, a clock, callers, workers, an operator, and who watches them. */
export class World {
  readonly scenario: Scenario
  readonly dice: Dice
  readonly clock = new SimClock(START_MS)
  readonly disk = new SimDisk()
  readonly faults: Faults
  readonly desk: Desk
  readonly sites: BookingSites
  readonly ledger: Ledger
  readonly witness: Witness
  readonly callers: Callers
  readonly operator: Operator
  readonly workers: readonly Worker[]
  readonly #plans: readonly ProviderPlan[]
  /** In every second run: it costs as much as the engine itself. */
  readonly #shadow: Shadow | null
  /** In every fourth run. */
  readonly #twin: StoreTwin | null
  readonly #policy: Readonly<Record<string, unknown>>
  #session: Session
  /** Of the engines before this one; see `SimStore`. */
  #crowded = 0
  #violation: Violation | null = null
  #restedAt: number | null = null
  /** A ready job that waits beside a provider that fits it, since when. */
  #stranded: {
    readonly jobId: string
    readonly attempt: number | null
    readonly since: number
  } | null = null

  constructor(scenario: Scenario, seed: number) {
    this.scenario = scenario
    this.dice = new Dice(seed, 1)
    this.#shadow = seed % 2 === 1 ? new Shadow(new Dice(seed, 4)) : null
    this.#twin = seed % 4 === 2 ? new StoreTwin((error) => this.#caught(error)) : null
    this.#policy = scenario.policy(this.dice)
    this.faults = new Faults({
      dice: new Dice(seed, 2),
      rates: scenario.faults,
      clock: this.clock,
      written: (commit) => this.#written(commit),
      loaded: () => this.#loaded(),
    })
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
      withBound: scenario.withBound,
    })
    const { dice, desk, ledger } = this
    const { clock, sites } = this
    const signups = new SignupRequests({ dice, clock, ledger })
    this.callers = new Callers(dice, desk, scenario, signups)
    this.operator = new Operator({ dice, desk, ledger, scenario })
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
        return new Worker({ ...own, dice, desk, gossip, sites, taskOf, latest, witness, watch })
      }),
    )
    this.#session = new Session(this.disk, this.clock, this.faults)
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
          (engine) => engine.registerProvider(id, offer, stake),
          () => {},
        )
      }
      for (const worker of this.workers) worker.connect()
      await this.settle()
    })
  }

  get crowded(): number {
    return this.#crowded + this.#session.store.crowded
  }

  /** A new engine on what is stored. */
  async open(): Promise<void> {
    this.#crowded = this.crowded
    for (;;) {
      this.#session = new Session(this.disk, this.clock, this.faults)
      const { preset } = this.scenario
      const refusal = await this.#session.open({
        policy: this.#policy,
        preset,
        random: () => this.dice.bytes(32),
      })
      if (refusal === null) break
      this.#checkOpenRefusal(refusal)
    }
    this.#stranded = null
    this.#restedAt = null
    const { engine } = this.#session
    this.desk.connect(this.#session)
    await engine.onEvent((event) => this.#watch(() => this.witness.heard(event)), this.witness.seq)
    for (const worker of this.workers) {
      worker.strand()
      if (this.scenario.withBound || this.dice.oneIn(2)) worker.connect()
    }
  }

  /** Lets everything come to rest that does not hang. */
  async settle(): Promise<void> {
    let [calm, wakes] = [0, 0]
    while (calm < 2) {
      const before = this.#activity()
      if (this.clock.fireDue()) wakes++
      await immediate()
      calm = this.#activity() === before ? calm + 1 : 0
      if (wakes > WAKES_MAX) broken('rest', 'the engine wakes itself again and again')
    }
    this.#restedAt = this.clock.now()
  }

  /**
   * Moves the time at once, also back; nobody is woken yet. What is under way without waiting for anything,
   * such as the loading of a state, is done before: it has one time.
   */
  async jump(ms: number): Promise<void> {
    for (let hop = 0; hop < HOPS; hop++) await Promise.resolve()
    this.clock.moveTo(this.clock.now() + ms)
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
      this.#checkMemory()
      this.#checkOffers()
      this.#checkStranded()
    } else this.#stranded = null
  }

  /** In the end the replica and a real store have what the simulated disk has. */
  async compareStores(): Promise<void> {
    this.#shadow?.compare(this.disk)
    await this.#twin?.compare(this.disk)
  }

  /** Nothing is asked, nothing hangs, and the engine has noticed what time it is. */
  get isAtRest(): boolean {
    const { store, isOpen } = this.session
    const isRested = this.#restedAt === this.clock.now() && this.desk.open === 0
    return isRested && isOpen && !store.isBusy && !store.isStale
  }

  /** Something happened that the engine has yet to notice. */
  disturb(): void {
    this.#restedAt = null
  }

  /** What waited is judged anew: the clock went back, or somebody changed the rules. */
  forgetWaits(): void {
    this.#stranded = null
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

  #written(commit: Commit): void {
    if (this.#violation !== null) return
    this.#watch(() => {
      this.disk.write(commit.batch)
      this.#shadow?.written(commit, this.disk)
      this.#twin?.written(commit.batch)
      this.ledger.written(commit.batch)
    })
  }

  #loaded(): void {
    const now = this.clock.now()
    this.#stranded = null
    this.#watch(() => {
      if (!this.disk.meta.has('beat')) return
      this.ledger.loaded(now)
    })
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
    else {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      this.#violation = new Violation('unexplained', text)
    }
  }

  #checkOpenRefusal(refusal: string): void {
    // The account has stopped at what was found in this very step; that is what has to be told.
    if (this.#violation !== null) throw this.#violation
    const isEarly = this.clock.now() < this.ledger.beat - 60_000
    // A clock that is far behind is set right; a store that cannot be read is asked again a bit later.
    if (isEarly) this.clock.moveTo(this.ledger.beat - 60_000)
    else if (this.session.store.faults > 0)
      this.clock.moveTo(this.clock.now() + this.dice.below(100))
    else broken('unexplained', `an engine would not open: ${refusal}`)
  }

  #checkMemory(): void {
    const { waiting, leases } = this.session.engine.stats()
    const due = new Map<KindName, number>()
    for (const { status, facts } of this.ledger.book.alive) {
      if (status === 'QUEUED') due.set(facts.kind, (due.get(facts.kind) ?? 0) + 1)
    }
    for (const [kind, count] of Object.entries(waiting)) {
      const stored = due.get(kind as KindName) ?? 0
      if (count !== stored)
        broken('memory', `${count} ${kind} jobs wait in memory, ${stored} in the store`)
    }
    const live = this.ledger.book.live.size
    if (leases !== live)
      broken('memory', `${leases} leases are live in memory, ${live} in the store`)
  }

  /** Whoever is connected knows of all that it holds. */
  #checkOffers(): void {
    const links = new Map(this.workers.map(({ id, link }) => [id, link]))
    const { owed } = this.session.store
    for (const { id, workerId, job } of this.ledger.book.live) {
      if (owed.has(job.facts.seq)) continue
      const link = workerId === null ? null : (links.get(workerId) ?? null)
      if (link !== null && !link.told.has(id))
        broken('offers', `${workerId} was not told of its lease ${id}`)
    }
  }

  #checkStranded(): void {
    const now = this.clock.now()
    // For an engine whose clock has gone back the time stands still.
    const found = now < this.clock.latest ? null : this.ledger.stranded(now)
    if (found === null) {
      this.#stranded = null
      return
    }
    const jobId = found.job.facts.id
    const { attempt } = found.job
    // One that was tried meanwhile waits anew.
    const isSame = this.#stranded?.jobId === jobId && this.#stranded.attempt === attempt
    if (this.#stranded === null || !isSame) this.#stranded = { jobId, attempt, since: now }
    const interval = this.ledger.book.policy.queue.dispatchIntervalMs
    if (now - this.#stranded.since > interval) {
      broken(
        this.ledger.isHeldUp(found.provider, now) ? 'fails-alone' : 'stranded',
        `job ${jobId} has waited beside ${found.provider.id} for over ${interval} ms`,
      )
    }
  }
}

function immediate(): Promise<void> {
  return new Promise((done) => setImmediate(done))
}
