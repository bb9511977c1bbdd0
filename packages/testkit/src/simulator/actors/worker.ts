import { createHash } from 'node:crypto'
import type { LeaseId, LeaseOffer, ProviderId, WorkerId } from '@fairlead/core'
import type { Witness } from '../checks/witness.ts'
import type { Dice } from '../dice.ts'
import type { Said } from '../ledger/rules/own-attempts.ts'
import type { Profile } from '../world/scenario.ts'
import type { BookingSites } from './booking-sites.ts'
import { madeUpId } from './callers.ts'
import type { Answer, Desk, LeaseCall, LeaseVerb } from './desk.ts'
import { type FailureWords, failureWords } from './failure-words.ts'
import type { Watch, WorkerEars } from './worker-link.ts'
import { WorkerLink } from './worker-link.ts'

/** What a worker may do in its step. */
type Deed =
  | 'work'
  | 'fail'
  | 'decline'
  | 'release'
  | 'repeat'
  | 'jumble'
  | 'forget'
  | 'lie'
  | 'beat'
  | 'leave'
  | 'resize'
  | 'idle'

/** How likely each deed is, by profile. */
// biome-ignore format: a table
const DEEDS: Readonly<Record<Profile, Readonly<Record<Deed, number>>>> = {
  honest:    { work: 88, fail:  0, decline:  0, release: 2, repeat:  0, jumble:  0, forget:  0, lie:  0, beat:  6, leave:  2, resize: 2, idle:  0 },
  steady:    { work: 90, fail:  0, decline:  0, release: 0, repeat:  0, jumble:  0, forget:  0, lie:  0, beat: 10, leave:  0, resize: 0, idle:  0 },
  slow:      { work: 30, fail:  2, decline:  0, release: 0, repeat:  2, jumble:  0, forget:  0, lie:  0, beat:  6, leave:  2, resize: 0, idle: 58 },
  crasher:   { work: 60, fail:  5, decline:  0, release: 0, repeat:  0, jumble:  0, forget: 15, lie:  0, beat:  5, leave: 15, resize: 0, idle:  0 },
  repeater:  { work: 45, fail:  5, decline:  3, release: 3, repeat: 37, jumble:  0, forget:  0, lie:  0, beat:  4, leave:  3, resize: 0, idle:  0 },
  reorderer: { work: 30, fail:  5, decline:  0, release: 0, repeat: 15, jumble: 43, forget:  0, lie:  0, beat:  5, leave:  2, resize: 0, idle:  0 },
  decliner:  { work: 30, fail:  0, decline: 55, release: 5, repeat:  5, jumble:  0, forget:  0, lie:  0, beat:  5, leave:  0, resize: 0, idle:  0 },
  failing:   { work: 30, fail: 55, decline:  0, release: 5, repeat:  5, jumble:  0, forget:  0, lie:  0, beat:  5, leave:  0, resize: 0, idle:  0 },
  liar:      { work: 35, fail:  5, decline:  0, release: 0, repeat:  5, jumble: 10, forget:  0, lie: 38, beat:  5, leave:  2, resize: 0, idle:  0 },
  plain:     { work: 100, fail:  0, decline:  0, release: 0, repeat:  0, jumble:  0, forget:  0, lie:  0, beat:  0, leave:  0, resize: 0, idle:  0 },
  flapping:  { work: 40, fail:  5, decline:  0, release: 5, repeat:  0, jumble:  0, forget:  0, lie:  0, beat:  1, leave: 12, resize: 8, idle: 29 },
}

/** Tasks that do something to whoever works on them, however well that worker means. */
const NATURES: Readonly<Record<string, Nature>> = {
  poison: 'kills',
  boom: 'fails',
  hang: 'hangs',
  picky: 'declines',
}
type Nature = 'kills' | 'fails' | 'hangs' | 'declines'

/** Names of the tasks that come to no good end by themselves. */
export const BAD_TASKS: readonly string[] = Object.keys(NATURES)

interface Held {
  readonly leaseId: LeaseId
  isAcked: boolean
}

/** The leases that anybody was ever offered, for those who use what is not theirs. */
export type Gossip = LeaseId[]
const CALLS_KEPT = 12

/** One process that serves a provider: it acts on what it was offered, well or badly. */
export class Worker implements WorkerEars {
  readonly providerId: ProviderId
  readonly id: WorkerId
  readonly #dice: Dice
  readonly #desk: Desk
  readonly #gossip: Gossip
  readonly #sites: BookingSites
  readonly #taskOf: (leaseId: LeaseId) => string | null
  readonly #reportOneIn: number
  readonly #latest: () => number
  readonly #witness: Witness
  readonly #watch: Watch
  readonly #held = new Map<LeaseId, Held>()
  #link: WorkerLink | null = null
  #slots: number
  #profile: Profile
  #calls: LeaseCall[] = []
  /** The natures of tasks that still get to it. */
  #exposedTo: ReadonlySet<Nature> = new Set(Object.values(NATURES))

  constructor(options: {
    readonly providerId: ProviderId
    readonly id: WorkerId
    readonly slots: number
    readonly profile: Profile
    readonly dice: Dice
    readonly desk: Desk
    readonly gossip: Gossip
    readonly sites: BookingSites
    /** The name of the task that a lease is for; null where it is for none. */
    readonly taskOf: (leaseId: LeaseId) => string | null
    /** One in so many moves is a report; 0 is never. */
    readonly reportOneIn: number
    /** Its own clock, which never goes back. */
    readonly latest: () => number
    readonly witness: Witness
    readonly watch: Watch
  }) {
    this.providerId = options.providerId
    this.id = options.id
    this.#slots = options.slots
    this.#witness = options.witness
    this.#watch = options.watch
    this.#profile = options.profile
    this.#dice = options.dice
    this.#desk = options.desk
    this.#gossip = options.gossip
    this.#sites = options.sites
    this.#taskOf = options.taskOf
    this.#reportOneIn = options.reportOneIn
    this.#latest = options.latest
  }

  /** Its connection, if it is open. */
  get link(): WorkerLink | null {
    return this.#link?.session == null ? null : this.#link
  }

  /** It has leases, or thinks so. */
  get isBusy(): boolean {
    return this.#held.size > 0
  }

  /** Connects, if it is not connected and not about to be; with all that it holds, or as it comes. */
  connect(): string {
    if (this.#link !== null && !this.#link.isOver) return 'waits for its connection'
    const link = new WorkerLink({
      providerId: this.providerId,
      workerId: this.id,
      witness: this.#witness,
      watch: this.#watch,
      ears: this,
    })
    this.#link = link
    const saysNothing = this.#profile === 'steady' || (this.#isMessy && this.#dice.oneIn(3))
    const holds = saysNothing ? null : [...this.#held.keys()]
    this.#desk.send(
      (engine) => link.open(engine, { slots: this.#slots, holds }),
      () => {},
    )
    return `connects with ${holds?.length ?? 'who knows how many'} leases`
  }

  /** Its engine is gone, and with it the connection. */
  strand(): void {
    this.#link?.die()
  }

  /** From now on it does what it should; `isSpared`: and every task lets it. Nothing hangs or is declined any more. */
  becomeHonest(isSpared: boolean): void {
    this.#profile = 'honest'
    this.#exposedTo = new Set(isSpared ? [] : ['kills', 'fails'])
    if (this.#slots === 0) this.#resize(1)
  }

  offered(offer: LeaseOffer): void {
    const { leaseId } = offer
    this.#held.set(leaseId, { leaseId, isAcked: false })
    this.#sites.offered(offer)
    // What another says of a registration would not be true.
    if (this.#sites.isVisit(leaseId)) return
    this.#gossip.push(leaseId)
    if (this.#gossip.length > 32) this.#gossip.splice(0, 16)
  }

  /** What it has beside these is lost; a messy one may not care. */
  held(leases: readonly LeaseId[]): void {
    for (const leaseId of this.#held.keys()) if (!leases.includes(leaseId)) this.lost(leaseId)
    for (const leaseId of leases) {
      if (!this.#held.has(leaseId)) this.#held.set(leaseId, { leaseId, isAcked: false })
    }
  }

  lost(leaseId: LeaseId): void {
    if (!this.#isMessy || this.#dice.oneIn(2)) this.#held.delete(leaseId)
  }

  /** One deed; what it was, for the report. */
  act(): string {
    const deed = this.#dice.weighted(DEEDS[this.#profile])
    const isAway = this.link === null && deed !== 'idle' && deed !== 'lie' && deed !== 'forget'
    return `${this.id} (${this.#profile}) ${isAway ? this.connect() : this.#do(deed)}`
  }

  /** The next honest move on every lease that it knows of. */
  workOff(): void {
    for (const held of [...this.#held.values()]) {
      if (this.link === null) break
      if (this.#natureOf(held) !== null) this.#work(held)
      else this.#call(held.isAcked ? 'complete' : 'ack', held.leaseId)
    }
    if (this.link === null) this.connect()
  }

  beat(): string {
    this.#desk.send(
      (engine) => engine.heartbeat(this.providerId),
      () => {},
    )
    return 'beats'
  }

  /** Leaves without a word about its leases. */
  #leave(): string {
    const { link } = this
    if (link === null) return 'is away'
    this.#desk.send(
      () => link.cut(),
      () => {},
    )
    if (this.#profile === 'crasher') this.#held.clear()
    return 'leaves'
  }

  /** All at once, with all that it has: when it is back, it knows of nothing. */
  #crash(): string {
    const { link } = this
    this.#held.clear()
    if (link !== null) {
      this.#desk.send(
        () => link.cut(),
        () => {},
      )
    }
    return 'crashes'
  }

  #resize(slots: number): string {
    const session = this.link?.session
    this.#slots = slots
    if (session == null) return 'is away'
    this.#desk.send(
      () => session.setSlots(this.#slots),
      () => {},
    )
    return `takes ${this.#slots} at once`
  }

  #do(deed: Deed): string {
    const held = this.#someLease()
    switch (deed) {
      case 'beat':
        return this.beat()
      case 'leave':
        return this.#leave()
      case 'resize':
        return this.#resize(this.#dice.between(0, 4))
      case 'idle':
        return 'idles'
      case 'repeat':
        return this.#calls.length === 0 ? 'idles' : this.#repeat(this.#dice.pick(this.#calls))
      case 'lie':
        return this.#lie()
      case 'forget':
        this.#held.clear()
        return 'forgets its leases'
      case 'work':
        return held === null ? this.#wait() : this.#work(held)
      case 'jumble':
        return held === null ? this.#wait() : this.#call(this.#dice.pick(VERBS), held.leaseId)
      case 'fail':
      case 'decline':
      case 'release':
        return held === null ? this.#wait() : this.#call(deed, held.leaseId)
    }
  }

  #wait(): string {
    // A plain one is known to live by its connection alone.
    const isBeat = this.#profile !== 'plain' && this.#dice.oneIn(3)
    return isBeat ? this.beat() : 'has nothing to do'
  }

  #work(held: Held): string {
    const { isAcked, leaseId } = held
    const nature = this.#natureOf(held)
    if (nature === 'declines') return this.#call('decline', leaseId)
    if (this.#reportOneIn > 0 && this.#dice.oneIn(this.#reportOneIn)) return this.#report(leaseId)
    if (!isAcked && (nature !== null || !this.#dice.oneIn(20))) return this.#call('ack', leaseId)
    if (nature === 'kills') return this.#crash()
    if (nature === 'fails') return this.#call('fail', leaseId)
    if (nature === 'hangs') return `hangs on ${leaseId.slice(0, 10)}`
    return this.#call(this.#dice.oneIn(4) ? 'renew' : 'complete', leaseId)
  }

  /** How far it has come; before its ack, too. */
  #report(leaseId: LeaseId): string {
    const dice = this.#dice
    const { message: _, ...call } = this.#callOf('progress', leaseId)
    return this.#make({
      ...call,
      ...(dice.oneIn(3) ? {} : { percent: dice.pick([0, 50, 100]) }),
      ...(dice.oneIn(3) ? { message: dice.pick(['half', 'nearly']) } : {}),
      ...(dice.oneIn(4) ? { log: ['a line'] } : {}),
    })
  }

  #natureOf({ leaseId }: Held): Nature | null {
    const nature = NATURES[this.#taskOf(leaseId) ?? '']
    return nature !== undefined && this.#exposedTo.has(nature) ? nature : null
  }

  /** At times with another digest, of which the first must stand. */
  #repeat(call: LeaseCall): string {
    if (call.isOdd || !this.#dice.oneIn(3)) return this.#make(call)
    const { output: _, contentType: __, ...rest } = call
    return this.#make({ ...rest, digest: `0x${'9'.repeat(64)}` })
  }

  /** Another's lease, one that never was, a digest that is none, or an answer for what is long over. */
  #lie(): string {
    const dice = this.#dice
    const isMadeUp = dice.oneIn(4) || this.#gossip.length === 0
    const leaseId = isMadeUp ? madeUpId<LeaseId>(dice) : dice.pick(this.#gossip)
    const verb = dice.pick(VERBS)
    // Speaking for the whole provider gets past the check of the worker.
    const call = { ...this.#callOf(verb, leaseId), workerId: dice.oneIn(2) ? null : this.id }
    if (verb === 'complete' && dice.oneIn(2))
      return this.#make({ ...call, digest: '0xabc', isOdd: true })
    if (verb === 'fail' && dice.oneIn(2))
      return this.#make({ ...call, retryAfterMs: -1, isOdd: true })
    return this.#make(call)
  }

  get #isMessy(): boolean {
    return this.#profile !== 'honest' && this.#profile !== 'steady'
  }

  #someLease(): Held | null {
    return this.#held.size === 0 ? null : this.#dice.pick([...this.#held.values()])
  }

  #call(verb: LeaseVerb, leaseId: LeaseId): string {
    return this.#make(this.#callOf(verb, leaseId))
  }

  #callOf(asked: LeaseVerb, leaseId: LeaseId): LeaseCall {
    const isMessy = this.#isMessy
    const { verb, ...said } = this.#truthOf(asked, leaseId)
    return {
      verb,
      leaseId,
      by: this.providerId,
      // A liar also speaks for its whole provider, beside its connection.
      workerId: isMessy && this.#dice.oneIn(8) ? null : this.id,
      digest: `0x${(isMessy && this.#dice.oneIn(6) ? '7' : '5').repeat(64)}`,
      ...(this.#dice.oneIn(4) ? OUTPUT : {}),
      actualUnits: isMessy && this.#dice.oneIn(3) ? this.#dice.below(30) : null,
      ...this.#wordsOf(leaseId),
      ...said,
      isOdd: false,
    }
  }

  /** The words of a registration are sent too, and must be kept nowhere; only the site's answer counts. */
  #wordsOf(leaseId: LeaseId): FailureWords {
    const { code, permanent, message, details, retryAfterMs } = failureWords(leaseId)
    const isWait = retryAfterMs !== undefined && !this.#sites.isVisit(leaseId)
    return {
      code,
      permanent,
      ...(message === undefined ? {} : { message }),
      ...(details === undefined ? {} : { details }),
      ...(isWait ? { retryAfterMs } : {}),
    }
  }

  /** Of a registration only what is true is said: whatever ends the attempt tells how it went. */
  #truthOf(verb: LeaseVerb, leaseId: LeaseId): Partial<Said> & { readonly verb: LeaseVerb } {
    const isVisit = this.#sites.isVisit(leaseId)
    if (verb === 'ack' || verb === 'renew' || verb === 'progress' || !isVisit) return { verb }
    const said = this.#sites.say(leaseId)
    if (verb === 'decline' || verb === 'release') return { verb }
    return said.isBooked ? { verb: 'complete' } : { ...said, verb: 'fail' }
  }

  #make(call: LeaseCall): string {
    const { verb, leaseId } = call
    const { link } = this
    this.#calls.push(call)
    if (this.#calls.length > CALLS_KEPT) this.#calls.shift()
    const session = call.workerId === null ? null : (this.link?.session ?? null)
    this.#desk.onLease(call, session, (answer) => {
      // A worker that has left meanwhile is gone, and sends nothing.
      const isThere = link !== null && link === this.link && this.#held.has(leaseId)
      const isAck = verb === 'ack' || verb === 'progress'
      if (isAck && answer === 'ok' && isThere) this.#sites.send(leaseId, this.#latest())
      this.#answered(call, answer)
    })
    return `${verb} ${leaseId.slice(0, 10)}`
  }

  #answered({ verb, leaseId }: LeaseCall, answer: Answer): void {
    const held = this.#held.get(leaseId)
    if (held === undefined) return
    if (answer === 'ok' && (verb === 'ack' || verb === 'progress')) held.isAcked = true
    const isOver =
      answer === 'ok'
        ? verb !== 'ack' && verb !== 'renew' && verb !== 'progress'
        : answer !== 'StoreUnavailable' &&
          answer !== 'RenewalsExhausted' &&
          answer !== 'InvalidState' &&
          answer !== 'RateLimited' &&
          answer !== 'InvalidParams'
    // A slow or messy worker may go on with what is over; the honest one stops.
    if (isOver && (this.#profile === 'honest' || this.#dice.oneIn(2))) this.#held.delete(leaseId)
  }
}

/** The result of some jobs: bytes, and their content type. */
const BYTES = Buffer.from('done')
const OUTPUT = {
  output: new Uint8Array(BYTES),
  contentType: 'text/plain',
  digest: `0x${createHash('sha3-256').update(BYTES).digest('hex')}`,
} as const

const VERBS: readonly LeaseVerb[] = ['ack', 'renew', 'decline', 'release', 'complete', 'fail']
