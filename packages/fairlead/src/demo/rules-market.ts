import {
  ackLease,
  advanceMarket,
  aiDemand,
  completeLease,
  type Demand,
  declineLease,
  dispatchRound,
  enqueueJob,
  explainWaiting,
  failLease,
  isLive,
  type Job,
  type JobId,
  type KindName,
  type Lease,
  localBeacon,
  type Market,
  type MarketEvent,
  matchSeed,
  newProvider,
  openMarket,
  type Provider,
  type ProviderId,
  quantumDemand,
  recordHeartbeat,
  registerProvider,
  renewLease,
  type Seed,
  taggedHash,
  taggedHashHex,
  taskDemand,
  type WaitExplanation,
} from '@fairlead/core'
import { epochOf, renewBy, SeededDice } from '@fairlead/core/internal'
import { type Behaviour, CALLERS, CAST, type Member, POLICY, STEADY } from './cast.ts'

export interface DemoProvider {
  readonly provider: Provider
  readonly behaviour: Behaviour
  offered: number
  completed: number
  declined: number
  charged: number
}

export interface DemoResult {
  readonly market: Market
  readonly providers: readonly DemoProvider[]
  /** Milliseconds from enqueue to the first assignment, for each job that got one. */
  readonly waits: ReadonlyMap<Job, number>
  readonly requeues: ReadonlyMap<string, number>
  readonly rounds: number
  readonly startedAt: number
  /** Taken while the job that waited longest was waiting. */
  readonly explained: WaitExplanation
}

const JOBS = 480
const START = Date.UTC(2026, 0, 5, 9)
const ARRIVALS_MS = 75_000
const ROUND_MS = 250

/**
 * Runs a small market on a simulated clock until every job has ended. It is a function of the seed
 * alone: all chance comes from one row of dice, and things happen in order of time and then of what
 * was planned first.
 */
export function runRulesMarket(
  seed: number,
  onProgress: (done: number, of: number, simulatedMs: number) => void,
): DemoResult {
  const demo = new Demo(seed)
  demo.run(onProgress)
  return demo.result()
}

interface Plan {
  readonly at: number
  readonly act: () => void
}

class Demo {
  readonly #dice: SeededDice
  readonly #market: Market
  readonly #installation: Uint8Array
  readonly #cast = new Map<ProviderId, DemoProvider>()
  readonly #waits = new Map<Job, number>()
  readonly #requeues = new Map<string, number>()
  readonly #plans: Plan[] = []
  #rounds = 0
  #assigningRounds = 0
  #ended = 0
  #explained: WaitExplanation | null = null

  constructor(seed: number) {
    this.#installation = taggedHash('fairlead|demo', seed)
    this.#dice = new SeededDice(taggedHashHex('fairlead|demo dice', seed) as Seed)
    this.#market = openMarket({ policy: POLICY, nowMs: START, emit: (event) => this.#note(event) })
    for (const member of CAST) this.#join(member)
    for (let i = 0; i < JOBS; i++) this.#arrive(i)
  }

  run(onProgress: (done: number, of: number, simulatedMs: number) => void): void {
    for (let now = START; this.#ended < JOBS; now += ROUND_MS) {
      this.#actUntil(now)
      this.#round()
      if (this.#rounds % 20 === 0) onProgress(this.#ended, JOBS, now - START)
    }
  }

  result(): DemoResult {
    if (this.#explained === null) throw new Error('in this market nobody ever had to wait')
    return {
      market: this.#market,
      providers: [...this.#cast.values()],
      waits: this.#waits,
      requeues: this.#requeues,
      rounds: this.#rounds,
      startedAt: START,
      explained: this.#explained,
    }
  }

  /** Lets plans and deadlines take their turns up to a time. */
  #actUntil(now: number): void {
    for (let plan = this.#nextPlan(now); plan !== undefined; plan = this.#nextPlan(now)) {
      advanceMarket(this.#market, plan.at)
      plan.act()
    }
    advanceMarket(this.#market, now)
  }

  #nextPlan(now: number): Plan | undefined {
    const [next] = this.#plans
    return next !== undefined && next.at <= now ? this.#plans.shift() : undefined
  }

  #round(): void {
    const { nowMs } = this.#market
    this.#rounds++
    const seed = matchSeed({
      chainId: POLICY.chain.id,
      epochId: epochOf(nowMs, POLICY),
      height: this.#assigningRounds,
      beacon: localBeacon(this.#installation, this.#assigningRounds),
    })
    const { leases } = dispatchRound(this.#market, seed)
    if (leases.length > 0) this.#assigningRounds++
    for (const lease of leases) this.#serve(lease)
    if (this.#rounds % 8 === 0) this.#explainLongest()
  }

  /** Keeps an explanation of the job that has waited longest for its first assignment so far. */
  #explainLongest(): void {
    const { nowMs, jobs } = this.#market
    let longest: Job | null = null
    for (const job of jobs.values()) {
      if (job.status !== 'QUEUED' || job.firstAssignedAt !== null) continue
      if (longest === null || job.enqueueTs < longest.enqueueTs) longest = job
    }
    if (longest === null) return
    const before = this.#explained === null ? 0 : this.#explained.at - this.#explained.job.enqueueTs
    if (nowMs - longest.enqueueTs > before) this.#explained = explainWaiting(this.#market, longest)
  }

  /** What the provider will do with its lease, decided the moment it gets it. */
  #serve(lease: Lease): void {
    const member = this.#cast.get(lease.provider.id) as DemoProvider
    const { declines, ignores, fails, vanishes, workMs } = member.behaviour
    const call = { leaseId: lease.id, by: lease.provider.id }
    const isMine = (): boolean => isLive(lease.status)
    member.offered++
    const answerAt = lease.tStart + 20 + this.#dice.draw(400)
    const chance = this.#dice.draw(1_000)
    if (chance < ignores) return
    if (chance < ignores + declines) {
      this.#plan(answerAt, () => {
        if (!isMine()) return
        declineLease(this.#market, call)
        member.declined++
      })
      return
    }
    this.#plan(answerAt, () => {
      if (isMine()) ackLease(this.#market, call)
    })
    const fate = this.#dice.draw(1_000)
    if (fate < vanishes) return
    const doneAt = answerAt + workMs[0] + this.#dice.draw(workMs[1] - workMs[0])
    if (doneAt > renewBy(lease)) {
      this.#plan(renewBy(lease), () => {
        if (isMine()) renewLease(this.#market, call)
      })
    }
    this.#plan(doneAt, () => {
      if (!isMine()) return
      if (fate < vanishes + fails) {
        const permanent = this.#dice.draw(4) === 0
        failLease(this.#market, { ...call, code: 'provider_error', permanent })
      } else {
        const digest = taggedHashHex('fairlead|demo output', lease.job.id)
        completeLease(this.#market, { ...call, digest, actualUnits: null })
        member.completed++
      }
    })
  }

  #arrive(i: number): void {
    const at = START + this.#dice.draw(ARRIVALS_MS)
    const { caller, tier } = CALLERS[this.#dice.draw(CALLERS.length)] as (typeof CALLERS)[number]
    const [kind, demand] = this.#work()
    const fee = BigInt(this.#dice.draw(50) ** 2 * 1_000)
    const sizeBytes = 200 + this.#dice.draw(200) ** 2
    this.#plan(at, () => {
      enqueueJob(this.#market, {
        id: taggedHashHex('fairlead|demo job', this.#installation, i) as JobId,
        kind,
        caller,
        tier,
        fee,
        sizeBytes,
        demand,
        regions: null,
        // Every now and then somebody cannot wait.
        ttlAbsSecs: i % 40 === 0 ? 60 : null,
        enqueueSeq: i,
      })
    })
  }

  #work(): [KindName, Demand] {
    const models = ['llama3-8b', 'llama3-8b', 'llama3-70b', 'mixtral'] as const
    const model = models[this.#dice.draw(models.length)] as string
    const tokens = 100 * (1 + this.#dice.draw(40))
    const shots = 1_000 * (1 + this.#dice.draw(20))
    const sort = this.#dice.draw(100)
    if (sort < 15) return ['quantum', quantumDemand(shots, 1 + this.#dice.draw(20))]
    return sort < 30 ? ['task', taskDemand('resize-image')] : ['ai', aiDemand(model, tokens)]
  }

  #join(member: Member): void {
    const provider = newProvider({
      id: `provider:${member.name}` as ProviderId,
      stake: member.stake,
      health: member.health ?? 1_000,
      lastHeartbeat: START,
      offer: {
        capabilities: new Set(member.kinds),
        models: new Set(member.models),
        leasesMax: member.slots ?? null,
      },
    })
    registerProvider(this.#market, provider)
    const behaviour = { ...STEADY, ...member.behaviour }
    const counts = { offered: 0, completed: 0, declined: 0, charged: 0 }
    this.#cast.set(provider.id, { provider, behaviour, ...counts })
    this.#heartbeats(provider, START + 60_000)
  }

  #heartbeats(provider: Provider, at: number): void {
    this.#plan(at, () => {
      recordHeartbeat(this.#market, provider)
      this.#heartbeats(provider, at + 60_000)
    })
  }

  #note(event: MarketEvent): void {
    const job = 'jobId' in event ? this.#market.jobs.get(event.jobId) : undefined
    if (event.type === 'jobAssigned' && job !== undefined && !this.#waits.has(job)) {
      this.#waits.set(job, event.at - job.enqueueTs)
    }
    if (event.type === 'jobRequeued') {
      this.#requeues.set(event.reason, (this.#requeues.get(event.reason) ?? 0) + 1)
    }
    const isCharge = event.type === 'jobRequeued' && event.notBefore !== null
    const isLastCharge = event.type === 'jobFailed' && event.reason !== 'declined'
    const newest = job?.leases?.at(-1)
    const member = newest && this.#cast.get(newest.provider.id)
    if (member !== undefined && (isCharge || isLastCharge)) member.charged++
    const hasEnded = ['jobCompleted', 'jobFailed', 'jobExpired', 'jobCanceled'].includes(event.type)
    if (hasEnded) this.#ended++
  }

  #plan(at: number, act: () => void): void {
    // In order of time; what was planned first for one time stays first.
    const before = this.#plans.findLastIndex((plan) => plan.at <= at)
    this.#plans.splice(before + 1, 0, { at, act })
  }
}
