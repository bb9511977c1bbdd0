import {
  callerOf,
  encodeCbor,
  type JobId,
  type LeaseOffer,
  type LeaseSession,
  type ProviderId,
  type Seed,
  SeededDice,
  taggedHashHex,
  type WorkerId,
} from '@fairlead/core'
import { type Engine, openEngine } from '@fairlead/engine'
import { MemoryStore } from '../memory-store.ts'
import { TestClock } from '../test-clock.ts'

const START = 1_760_000_000_000
const OPENS = START + 5_000
const STEP_MS = 50
const STEPS_MAX = 6_000
const RESTART_EVERY = 60
const USERS = 12
const PROVIDER = 'provider:signup' as ProviderId
const SESSIONS = ['a', 'b'].flatMap((org) => ['x', 'y', 'z'].map((event) => ({ org, event })))
const PLATFORMS = ['plain', 'keyed', 'asks'] as const
type PlatformName = (typeof PLATFORMS)[number]

const BURST = 3
const RPS = 4
const BUDGET = {
  max_concurrency: 3,
  burst: BURST,
  max_rps: RPS,
  min_spacing_ms: 20,
  window_ms: 20_000,
}
/** That workers forget to ack and send no heartbeats is not what is looked at here. */
const PATIENT = { min_health: 0, cooldown_after: 1_000, heartbeat_timeout_ms: 86_400_000 }
const PROFILES = {
  keyed: { idempotency_key_supported: true },
  asks: { lookup_supported: true },
}

/** What may be wrong on purpose, to see that it is noticed. */
export interface OpeningFault {
  /** A platform that says it knows idempotency keys, and books whatever comes. */
  readonly forgetsKeys?: boolean
  /** An engine that is allowed more than the platform counts. */
  readonly sendsTooFast?: boolean
}

/**
 * An opening at three platforms on the real engine and a virtual clock: workers that crash, lose answers,
 * forget to ack and meet 429s, and an engine that is closed and opened again. Gives every broken promise:
 * order of first attempts, budgets in any span, one attempt at a time, one booking at most, an end for all.
 */
export async function simulateOpening(seed: number, fault: OpeningFault = {}): Promise<string[]> {
  const opening = new Opening(seed, fault)
  await opening.run()
  return opening.problems
}

interface Send {
  readonly at: number
  readonly org: string
}

class Opening {
  readonly problems: string[] = []
  readonly #dice: SeededDice
  readonly #fault: OpeningFault
  readonly #clock = new TestClock(START)
  readonly #store = new MemoryStore()
  readonly #jobs = new Map<JobId, { session: string; org: string; platform: PlatformName }>()
  readonly #ranks = new Map<string, number>()
  readonly #tried = new Set<JobId>()
  readonly #sends: Send[] = []
  /** The same by lease. */
  readonly #sendOf = new Map<string, Send>()
  /** What each platform has booked: by job, or by key where it knows keys. */
  readonly #bookings = new Map<JobId, number>()
  readonly #working = new Map<JobId, string>()
  #engine: Engine | null = null
  #sessions: LeaseSession[] = []
  #workers = 0

  constructor(seed: number, fault: OpeningFault) {
    this.#dice = new SeededDice(taggedHashHex('fairlead|opening', seed) as Seed)
    this.#fault = fault
  }

  async run(): Promise<void> {
    await this.#open()
    for (let user = 0; user < USERS; user++) {
      for (const session of SESSIONS) await this.#join(user, session)
    }
    let live = this.#jobs.size
    for (let step = 0; step < STEPS_MAX && live > 0; step++) {
      await this.#clock.advance(STEP_MS)
      if (step % RESTART_EVERY === RESTART_EVERY - 1) await this.#restart()
      const { waiting, leases } = this.#counts()
      live = waiting + leases
    }
    if (live > 0) this.problems.push(`${live} jobs have not ended`)
    this.#checkBudgets()
    for (const [id, times] of this.#bookings) {
      if (times > 1) this.problems.push(`job ${id} was booked ${times} times`)
    }
    await this.#engine?.close()
  }

  #counts(): { waiting: number; leases: number } {
    const stats = this.#engine?.stats()
    const waiting = Object.values(stats?.waiting ?? {}).reduce((sum, n) => sum + n, 0)
    return { waiting, leases: stats?.leases ?? 0 }
  }

  async #open(): Promise<void> {
    const rate = this.#fault.sendsTooFast === true ? { max_rps: 5 * RPS, burst: 4 * BURST } : {}
    const platforms = { ...PROFILES, default: { ...BUDGET, ...rate } }
    const policy = { registry: PATIENT, sessions: { platforms } }
    this.#engine = await openEngine({ store: this.#store, clock: this.#clock, policy })
    for (let i = 0; i < 3; i++) await this.#connect()
  }

  async #restart(): Promise<void> {
    await this.#engine?.close()
    this.#sessions = []
    await this.#open()
  }

  async #connect(): Promise<void> {
    const workerId = `w-${this.#workers++}` as WorkerId
    const hello = { providerId: PROVIDER, workerId, slots: 8, holds: [] }
    const offer = { kinds: ['registration'] as const, models: [], platforms: ['*'] }
    const session: { current: LeaseSession | null } = { current: null }
    const source = (this.#engine as Engine).leaseSource()
    session.current = await source.open(
      { ...hello, offer },
      {
        offer: (lease) => void this.#serve(lease, () => session.current).catch(() => undefined),
        held: () => {},
        lost: (leaseId) => this.#forget(leaseId),
        closed: () => {},
      },
    )
    this.#sessions.push(session.current)
  }

  async #join(user: number, { org, event }: (typeof SESSIONS)[number]): Promise<void> {
    const platform = PLATFORMS[this.#dice.draw(PLATFORMS.length)] as PlatformName
    const payload = {
      ...{ provider: platform, org_ref: org, event_id: event, user_id: `u${user}`, args: {} },
      scheduled_time: OPENS,
    }
    const request = { kind: 'registration', payload, idempotency_key: `${user}${org}${event}` }
    await this.#clock.advance(1)
    const id = await (this.#engine as Engine).enqueue(request, { caller: callerOf('sim') })
    const key = `${platform} ${org}`
    this.#jobs.set(id, { session: `${key} ${event}`, org: key, platform })
  }

  async #serve(lease: LeaseOffer, session: () => LeaseSession | null): Promise<void> {
    const { jobId, leaseId, task } = lease
    const { platform } = this.#jobs.get(jobId) as { platform: PlatformName }
    // One that comes again after its worker left is the same attempt.
    if (task === 'book' && !this.#sendOf.has(leaseId)) this.#noteSend(lease)
    const chance = this.#dice.draw(100)
    const own = session()
    // An offer may come before the session is there to ack it by; and nothing is sent without an ack.
    if (chance < 8 || own === null) return
    await own.ack(leaseId)
    const holder = this.#working.get(jobId)
    if (holder !== undefined && holder !== leaseId) this.problems.push(`two attempts of ${jobId}`)
    this.#working.set(jobId, leaseId)
    const failure = { code: 'timeout', permanent: false }
    try {
      if (task === 'lookup') {
        const lookup = this.#bookings.has(jobId) ? 'booked' : 'not_booked'
        await session()?.fail(leaseId, { ...failure, lookup })
      } else if (chance < 20) {
        if (chance < 14) this.#book(jobId, platform)
        // The worker is gone, and nobody says what became of its request.
        const gone = session()
        this.#sessions = this.#sessions.filter((one) => one !== gone)
        await gone?.close()
        await this.#connect()
      } else if (chance < 32) {
        if (chance < 26) this.#book(jobId, platform)
        await session()?.fail(leaseId, { ...failure, isUnknown: true })
      } else if (chance < 40) {
        await session()?.fail(leaseId, { code: 'busy', permanent: false, http: 429 })
      } else {
        this.#book(jobId, platform)
        await session()?.complete(leaseId, { output: encodeCbor({ outcome: 'booked' }) })
      }
    } finally {
      this.#forget(leaseId)
    }
  }

  #noteSend({ jobId, leaseId, rank = 0, tStart }: LeaseOffer): void {
    const { session, org } = this.#jobs.get(jobId) as { session: string; org: string }
    if (tStart < OPENS) this.problems.push(`job ${jobId} was sent before the opening`)
    const send = { at: tStart, org }
    this.#sendOf.set(leaseId, send)
    this.#sends.push(send)
    if (this.#tried.has(jobId)) return
    this.#tried.add(jobId)
    if (rank < (this.#ranks.get(session) ?? -1)) {
      this.problems.push(`rank ${rank} of ${session} came after a higher one`)
    }
    this.#ranks.set(session, rank)
  }

  #book(jobId: JobId, platform: PlatformName): void {
    const isRepeat = platform === 'keyed' && this.#fault.forgetsKeys !== true
    if (isRepeat && this.#bookings.has(jobId)) return
    this.#bookings.set(jobId, (this.#bookings.get(jobId) ?? 0) + 1)
  }

  #forget(leaseId: string): void {
    for (const [jobId, held] of this.#working) if (held === leaseId) this.#working.delete(jobId)
  }

  /** Counted from outside: in any span at most the burst and what the rate refills. */
  #checkBudgets(): void {
    for (const org of new Set(this.#sends.map((send) => send.org))) {
      const times = this.#sends.filter((send) => send.org === org).map(({ at }) => at)
      times.sort((a, b) => a - b)
      for (let from = 0; from < times.length; from++) {
        for (let to = from; to < times.length; to++) {
          const spanMs = (times[to] as number) - (times[from] as number)
          if (1_000 * (to - from + 1) <= 1_000 * BURST + RPS * spanMs) continue
          this.problems.push(`${org}: ${to - from + 1} sends in ${spanMs} ms`)
          return
        }
      }
    }
  }
}
