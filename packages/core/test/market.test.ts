import { fc, test } from '@fast-check/vitest'
import { expect } from 'vitest'
import {
  ackLease,
  advanceMarket,
  aiDemand,
  type Caller,
  cancelJob,
  cascade,
  changePolicy,
  completeLease,
  type Demand,
  declineLease,
  dispatchRound,
  enqueueJob,
  FairleadError,
  failLease,
  type Job,
  type JobId,
  type JobOptions,
  type Lease,
  type LeaseId,
  type Market,
  newProvider,
  openMarket,
  type Policy,
  type Provider,
  type ProviderId,
  type ProviderStatus,
  parsePolicy,
  quantumDemand,
  recordHeartbeat,
  registerProvider,
  releaseLease,
  renewLease,
  type Seed,
  setProviderStatus,
  taskDemand,
} from '../src/index.ts'
import { decideProof, issueLease, renewBy } from '../src/internal.ts'
import { giveBack } from '../src/lease/give-back.ts'
import {
  type Answer,
  hasEnded,
  isLive,
  type PlainKind,
  PlainMarket,
  type PlainRequest,
  renewBy as plainRenewBy,
} from './plain-market.ts'
import { refusal } from './refusal.ts'

/** `npm run test:long` takes more runs. */
const IS_LONG = Boolean(process.env['LONG_TESTS'])

const START = 1_700_000_000_000
const KINDS = ['ai', 'quantum', 'task'] as const
const STATUSES = ['REGISTERED', 'ACTIVE', 'JAILED', 'SUSPENDED', 'RETIRED'] as const
const JOB_IDS = Array.from({ length: 8 }, (_, i) => hex(i + 1) as JobId)
const UNKNOWN_JOB = hex(99) as JobId
const UNKNOWN_LEASE = hex(98) as LeaseId
const CALLERS = [hex(201), hex(202), hex(203)] as Caller[]
const PROVIDER_IDS = ['provider:a', 'provider:b', 'provider:c'] as ProviderId[]
const CALLS = { ack: ackLease, renew: renewLease, decline: declineLease, release: releaseLease }
const CODES = ['invalid_input', 'SOLD_OUT', 'out_of_memory', 'timeout', '']
const RETRY_AFTERS = [0, 0, 0, 500, 7_000, 20_000, 100_000_000, -1]

/** Policy values that scripts choose from, short enough for everything to happen often. */
const CHOICES = {
  leasesMax: [16, 3, 2, 1, 0],
  attemptMax: [3, 6, 2, 1],
  leaseSecs: [10, 4, 6],
  ackTimeoutMs: [3_000, 1_000, 4_000],
  alpha: [0.6, 0.25, 0, 1],
  beta: [0.5, 0.333, 1, 0],
  renewalsMax: [4, null, 2, 1, 0],
  backoffBaseSecs: [1, 10],
  backoffFactor: [2, 1, 1.5],
  workerLostMax: [3, null, 1, 2],
  ttlAbsSecs: [60, 30, 10],
  ttlAbsTaskSecs: [45, null, 12],
  ttlRelSecs: [40, 20, null, 8],
  gcSecs: [15, 5, 40],
  verification: ['proof', 'none', 'none'],
  proofTimeoutSecs: [6, 2],
  heartbeatTimeoutMs: [20_000, 1_000_000, 3_000],
  heartbeatIntervalMs: [1_000, 8_000, 3_000],
  minHealth: [600, 950, 100],
  cooldownAfter: [3, 1, 2],
  health: ['on', 'off'],
  liveness: ['heartbeat', 'worker'],
  epochSecs: [20, 3_600],
  maxDepth: [1_000, 3],
  maxPerCaller: [null, 2],
} as const
type Setting = keyof typeof CHOICES
type Settings = { readonly [Name in Setting]: (typeof CHOICES)[Name][number] }
const SETTINGS = Object.keys(CHOICES) as Setting[]

const BACKOFFS = [
  { baseMs: 0, factorPermille: 1_000, capMs: 0, jitterPermille: 0 },
  { baseMs: 700, factorPermille: 1_500, capMs: 5_000, jitterPermille: 1_000 },
  { baseMs: 30_000, factorPermille: 10_000, capMs: 2_000_000, jitterPermille: 100 },
] as const

/** When a step happens, seen from the moments that matter next. */
type When =
  | { readonly to: 'now' }
  | { readonly to: 'moment'; readonly nth: number; readonly plus: -1 | 0 | 1 }
  | { readonly to: 'later'; readonly ms: number }
  | { readonly to: 'earlier'; readonly ms: number }

/** Numbers stand for a choice among what is there when the step is made. */
type Command =
  | {
      readonly op: 'enqueue'
      readonly slot: number
      readonly what: number
      readonly ttl: number | null
      readonly wish: number
    }
  | { readonly op: 'issue'; readonly job: number; readonly provider: number; readonly any: boolean }
  | { readonly op: LeaseOp; readonly lease: LeaseChoice; readonly detail: number }
  | { readonly op: 'declines'; readonly job: number; readonly times: number }
  | { readonly op: 'cancel'; readonly job: number; readonly by: 'owner' | 'stranger' | 'operator' }
  | { readonly op: 'proof'; readonly job: number; readonly valid: boolean }
  | { readonly op: 'heartbeat'; readonly provider: number }
  | { readonly op: 'status'; readonly provider: number; readonly status: ProviderStatus }
  | { readonly op: 'policy'; readonly name: Setting; readonly choice: number }
  | { readonly op: 'tick' }
type LeaseOp = 'ack' | 'renew' | 'decline' | 'release' | 'complete' | 'fail' | 'lose'
interface LeaseChoice {
  readonly of: 'live' | 'all' | 'unknown'
  readonly nth: number
  readonly by: 'holder' | 'other'
}
type Step = { readonly when: When } & Command

const nat = fc.nat({ max: 7 })
const anyWhen: fc.Arbitrary<When> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<When>({ to: 'now' }) },
  {
    weight: 6,
    arbitrary: fc.record({
      to: fc.constant('moment' as const),
      nth: fc.nat({ max: 2 }),
      plus: fc.constantFrom(0 as const, -1 as const, 1 as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ to: fc.constant('later' as const), ms: fc.nat(2_000) }) },
  { weight: 1, arbitrary: fc.record({ to: fc.constant('earlier' as const), ms: fc.nat(9_000) }) },
)
const anyLeaseChoice: fc.Arbitrary<LeaseChoice> = fc.record({
  of: fc.nat(19).map((n) => (n < 15 ? 'live' : n < 19 ? 'all' : 'unknown')),
  nth: nat,
  by: fc.nat(9).map((n) => (n < 9 ? 'holder' : 'other')),
})
const leaseOps = fc.constantFrom<LeaseOp>(
  ...(['ack', 'ack', 'ack', 'renew', 'renew', 'renew', 'decline', 'release'] as const),
  ...(['complete', 'complete', 'fail', 'fail', 'lose', 'lose'] as const),
)
// biome-ignore format: one command a line
const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ op: fc.constant('enqueue' as const), slot: nat, what: fc.nat(35), ttl: fc.constantFrom(null, null, null, null, null, 5, 20), wish: fc.nat(29) }) },
  { weight: 8, arbitrary: fc.record({ op: fc.constant('issue' as const), job: nat, provider: nat, any: fc.nat(9).map((n) => n === 9) }) },
  { weight: 12, arbitrary: fc.record({ op: leaseOps, lease: anyLeaseChoice, detail: fc.nat(23) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('declines' as const), job: nat, times: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('cancel' as const), job: nat, by: fc.constantFrom('owner', 'stranger', 'operator') }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('proof' as const), job: nat, valid: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant('heartbeat' as const), provider: nat }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('status' as const), provider: nat, status: fc.constantFrom(...STATUSES, 'ACTIVE', 'ACTIVE', 'ACTIVE', 'ACTIVE') }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('policy' as const), name: fc.constantFrom(...SETTINGS), choice: nat }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('tick' as const) }) },
)
const anyStep: fc.Arbitrary<Step> = fc
  .tuple(anyWhen, anyCommand)
  .map(([when, command]) => ({ when, ...command }))

/** A world to begin in. Steps may be null, so that a failing script shrinks by losing steps. */
const anyScript = fc.record({
  fairness: fc.constantFrom('score', 'tenant'),
  choices: fc.array(fc.tuple(fc.constantFrom(...SETTINGS), nat), { maxLength: 8 }),
  providers: fc.array(
    fc.record({
      leasesMax: fc.constantFrom(null, null, 2, 1),
      health: fc.constantFrom(1_000, 1_000, 1_000, 995, 160),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  steps: fc.array(fc.option(anyStep, { freq: 50 }), { minLength: 42, maxLength: 60, size: 'max' }),
})
type Script = typeof anyScript extends fc.Arbitrary<infer T> ? T : never

test('STATE-1: core does what a plain reading of the rules does, at every step', () => {
  fc.assert(
    fc.property(anyScript, (script) => new Run(script).all()),
    { numRuns: IS_LONG ? 1_600 : 200 },
  )
}, 300_000)

/** One script, made by core and by the plain market side by side. */
class Run {
  readonly #script: Script
  readonly #core: Market
  readonly #plain: PlainMarket
  readonly #done: string[] = []
  /** Ended jobs as they were when they ended. */
  readonly #ended = new Map<Job, string>()
  #settings: Settings
  #attemptMax = 0
  #issued = 0

  constructor(script: Script) {
    this.#script = script
    this.#settings = Object.fromEntries(
      SETTINGS.map((name) => [name, CHOICES[name][0]]),
    ) as unknown as Settings
    for (const [name, choice] of script.choices) this.#choose(name, choice)
    const policy = this.#policy()
    this.#core = openMarket({ policy, nowMs: START })
    this.#plain = new PlainMarket(policy, START)
    for (const [i, { leasesMax, health }] of script.providers.entries()) {
      const id = at(PROVIDER_IDS, i)
      const offer = { leasesMax, capabilities: new Set(KINDS), models: new Set(['*']) }
      registerProvider(this.#core, newProvider({ id, offer, health, lastHeartbeat: START }))
      this.#plain.register(id, leasesMax, health)
    }
  }

  all(): void {
    for (const step of this.#script.steps) if (step !== null) this.#step(step)
  }

  #step(step: Step): void {
    this.#advance(this.#timeOf(step.when))
    this.#tell()
    this.#play(step)
    this.#tell()
  }

  #tell(): void {
    if (this.#plain.ended.length === 0 && !this.#core.dependencies.isDue) return
    this.#both(
      'cascade',
      () => cascade(this.#core),
      () => this.#plain.cascade(),
    )
  }

  #play(step: Step): void {
    switch (step.op) {
      case 'enqueue':
        return this.#enqueue(step.slot, step.what, step.ttl, step.wish)
      case 'issue':
        return step.any
          ? this.#issueAny(step.job, step.provider)
          : this.#issue(step.job, step.provider)
      case 'declines':
        for (let i = 0; i <= step.times; i++) {
          this.#issue(step.job, i)
          this.#onLease('decline', { of: 'live', nth: 99, by: 'holder' }, 0)
        }
        return
      case 'cancel':
        return this.#cancel(this.#jobId(step.job), step.by)
      case 'proof':
        return this.#proof(step.job, step.valid)
      case 'heartbeat':
        return this.#onProvider(step.provider, 'heartbeat')
      case 'status':
        return this.#onProvider(step.provider, step.status)
      case 'policy': {
        this.#choose(step.name, step.choice)
        const policy = this.#policy()
        return this.#both(
          `policy ${step.name} = ${this.#settings[step.name]}`,
          () => changePolicy(this.#core, policy),
          () => this.#plain.setPolicy(policy),
        )
      }
      case 'tick':
        return this.#both(
          'tick',
          () => {},
          () => 'ok',
        )
      default:
        return this.#onLease(step.op, step.lease, step.detail)
    }
  }

  #timeOf(when: When): number {
    const { now } = this.#plain
    if (when.to === 'later') return now + when.ms
    if (when.to === 'earlier') return now - when.ms
    if (when.to === 'now') return now
    const moments = this.#plain.moments()
    return (moments[Math.min(when.nth, moments.length - 1)] ?? now) + when.plus
  }

  #advance(now: number): void {
    this.#done.push(`${now - START}:`)
    advanceMarket(this.#core, now)
    this.#plain.advance(now)
  }

  #enqueue(slot: number, what: number, ttlAbsSecs: number | null, wish = 0): void {
    const id = at(JOB_IDS, slot)
    const kind = at(KINDS, what)
    const caller = at(CALLERS, Math.floor(what / 3))
    const size = Math.floor(what / 9)
    const demand = demandOf(kind, size)
    const request: PlainRequest = {
      id,
      kind,
      caller,
      model: kind === 'quantum' ? null : (['m1', 'm2'][size % 2] ?? null),
      units: unitsOf(kind, size),
      ttlAbsSecs,
      options: this.#options(slot, wish),
    }
    const { options } = request
    this.#both(
      `enqueue ${short(id)} ${kind} ttl ${ttlAbsSecs} ${JSON.stringify(options)}`,
      () =>
        enqueueJob(this.#core, {
          id,
          kind,
          caller,
          tier: 'FREE',
          fee: 0n,
          sizeBytes: 1_000,
          demand,
          regions: null,
          ttlAbsSecs,
          options,
          enqueueSeq: 0,
        }),
      () => this.#plain.enqueue(request),
    )
  }

  /** Most jobs have no options; the others have one or two of those that have a part here. */
  #options(slot: number, wish: number): JobOptions | null {
    const one = at(JOB_IDS, slot + 1 + (wish % 3))
    const two = wish % 5 === 0 ? UNKNOWN_JOB : at(JOB_IDS, slot + 5)
    const choices: readonly JobOptions[] = [
      { attempts: 1 + (wish % 4) },
      { timeoutMs: at([1_000, 2_000, 4_000, 6_000, 12_000], wish) },
      { backoff: at(BACKOFFS, wish) },
      { runAt: this.#plain.now + at([2_000, 0, 700, 9_000], wish) },
      { dependsOn: [one] },
      { dependsOn: [one, two], onDependency: 'run' },
      { dependsOn: [one], runAt: this.#plain.now + 1_500, timeoutMs: 3_000 },
      { dedupeKey: `k${wish % 2}` },
    ]
    return wish < 10 ? null : at(choices, wish)
  }

  /** As a round does it: a ready job to an ACTIVE provider below its cap. */
  #issue(job: number, provider: number): void {
    const { jobs, providers } = this.#plain
    const ready = jobs.filter((j) => this.#plain.isReady(j))
    const open = providers.filter(
      (p) => p.status === 'ACTIVE' && this.#plain.liveOf(p).length < this.#plain.capOf(p),
    )
    if (ready.length === 0 || open.length === 0) return
    this.#issueOne(at(ready, job).id, at(open, provider).id)
  }

  /** So that a call on a lease seldom finds none, and a renewal seldom an unacked one. */
  #ensureLease(nth: number, acked: boolean): void {
    const { leases, jobs, providers } = this.#plain
    if (!leases.some(isLive)) {
      if (!jobs.some(({ status }) => status === 'QUEUED')) this.#enqueue(nth, nth, null)
      if (!providers.some(({ status }) => status === 'ACTIVE')) this.#onProvider(0, 'ACTIVE')
      this.#issue(nth, nth)
    }
    const live = this.#plain.leases.filter(isLive)
    const lease = live[Math.min(nth, live.length - 1)]
    if (!acked || lease === undefined) return
    const place = this.#plain.leases.indexOf(lease)
    this.#onLease('ack', { of: 'all', nth: place, by: 'holder' }, 0)
  }

  /** A job that is not there, or not waiting. */
  #issueAny(job: number, provider: number): void {
    const taken = this.#plain.jobs.filter(({ status }) => status !== 'QUEUED')
    this.#issueOne(taken.length === 0 ? UNKNOWN_JOB : at(taken, job).id, at(PROVIDER_IDS, provider))
  }

  #issueOne(jobId: JobId, providerId: ProviderId): void {
    const seed = hex(1_000 + this.#issued++) as Seed
    this.#both(
      `issue ${short(jobId)} to ${providerId}`,
      () =>
        issueLease(this.#core, jobOf(this.#core, jobId), providerOf(this.#core, providerId), seed),
      () => this.#plain.issue(jobId, providerId, seed),
    )
  }

  #onLease(op: LeaseOp, { of, nth, by: who }: LeaseChoice, detail: number): void {
    const needsAck = op === 'renew' || op === 'lose'
    if (of === 'live') this.#ensureLease(nth, needsAck && detail % 5 > 0)
    const all = of === 'live' ? this.#plain.leases.filter(isLive) : this.#plain.leases
    const lease =
      of === 'unknown' || all.length === 0 ? null : at(all, Math.min(nth, all.length - 1))
    const leaseId = lease?.id ?? UNKNOWN_LEASE
    const holder = lease?.provider.id ?? at(PROVIDER_IDS, 0)
    const by = who === 'holder' ? holder : at(PROVIDER_IDS, PROVIDER_IDS.indexOf(holder) + 1)
    const call = { leaseId, by }
    const title = `${op} ${short(leaseId)} (${short(lease?.job.id ?? '?')}) by ${by}`
    const core = this.#core
    const plain = this.#plain
    switch (op) {
      case 'ack':
      case 'renew':
      case 'decline':
      case 'release':
        return this.#both(
          title,
          () => CALLS[op](core, call),
          () => plain[op](leaseId, by),
        )
      case 'complete': {
        const digest = detail === 0 ? '0x00' : hex(500 + (detail % 5 === 0 ? 1 : 0))
        const actualUnits = at([null, null, 0, 1, 7, 300, -1], detail % 7)
        return this.#both(
          `${title} ${digest.slice(-3)} units ${actualUnits}`,
          () => completeLease(core, { ...call, digest, actualUnits }),
          () => plain.complete(leaseId, by, digest, actualUnits),
        )
      }
      case 'fail': {
        const code = at(CODES, detail)
        const permanent = detail % 3 === 0
        const failure = { code, permanent, retryAfterMs: at(RETRY_AFTERS, detail) }
        return this.#both(
          `${title} ${JSON.stringify(failure)}`,
          () => failLease(core, { ...call, ...failure }),
          () => plain.fail(leaseId, by, failure),
        )
      }
      case 'lose': {
        if (lease === null || !isLive(lease)) return
        const reason = detail % 2 === 0 ? 'worker_lost' : 'disowned'
        return this.#both(
          `${title} ${reason}`,
          () => giveBack(core, leaseOf(core, leaseId), reason),
          () => plain.lose(leaseId),
        )
      }
    }
  }

  #jobId(job: number): JobId {
    const live = this.#plain.jobs.filter((j) => !hasEnded(j))
    const choice = [...live, ...this.#plain.jobs]
    return choice.length === 0 ? UNKNOWN_JOB : at(choice, job).id
  }

  #cancel(jobId: JobId, who: 'owner' | 'stranger' | 'operator'): void {
    const owner = this.#plain.job(jobId)?.caller ?? at(CALLERS, 0)
    const stranger = at(CALLERS, CALLERS.indexOf(owner) + 1)
    const by = who === 'owner' ? owner : who === 'stranger' ? stranger : 'operator'
    this.#both(
      `cancel ${short(jobId)} by ${who}`,
      () => cancelJob(this.#core, jobOf(this.#core, jobId), by),
      () => this.#plain.cancel(jobId, by),
    )
  }

  #proof(job: number, valid: boolean): void {
    const isAwaited = this.#plain.jobs.some(({ proofOf }) => proofOf !== null)
    if (!isAwaited && job > 1) this.#onLease('complete', { of: 'live', nth: job, by: 'holder' }, 2)
    const awaited = this.#plain.jobs.filter(({ proofOf }) => proofOf !== null)
    const jobId = awaited.length === 0 ? this.#jobId(job) : at(awaited, job).id
    this.#both(
      `proof ${short(jobId)} ${valid}`,
      () => decideProof(this.#core, jobOf(this.#core, jobId), valid),
      () => this.#plain.proof(jobId, valid),
    )
  }

  #onProvider(provider: number, what: ProviderStatus | 'heartbeat'): void {
    const id = at(PROVIDER_IDS, provider)
    this.#both(
      `${id} ${what}`,
      () => {
        const known = providerOf(this.#core, id)
        if (what === 'heartbeat') recordHeartbeat(this.#core, known)
        else setProviderStatus(this.#core, known, what)
      },
      () => (what === 'heartbeat' ? this.#plain.heartbeat(id) : this.#plain.setStatus(id, what)),
    )
  }

  #choose(name: Setting, choice: number): void {
    this.#settings = { ...this.#settings, [name]: at<unknown>(CHOICES[name], choice) }
  }

  #policy(): Policy {
    const policy = policyOf(this.#settings, this.#script.fairness)
    this.#attemptMax = Math.max(this.#attemptMax, policy.queue.retries.attemptMax)
    return policy
  }

  /** Asks both, and compares the answers and everything that can be seen. */
  #both(title: string, core: () => unknown, plain: () => Answer): void {
    const expected = { answer: plain(), ...plainView(this.#plain) }
    const actual = { answer: refusal(core) ?? 'ok', ...coreView(this.#core) }
    this.#done.push(`  ${title} → ${expected.answer}`)
    if (JSON.stringify(actual) !== JSON.stringify(expected)) {
      expect(actual, this.#story()).toEqual(expected)
      expect.fail(`${this.#story()}only the order of keys differs`)
    }
    const broken = brokenInvariant(this.#core) ?? this.#brokenPromise()
    if (broken !== null) expect.fail(this.#story() + broken)
  }

  /** What must hold from one step to the next. */
  #brokenPromise(): string | null {
    for (const job of this.#core.jobs.values()) {
      if (job.retries > Math.max(this.#attemptMax, job.options?.attempts ?? 0))
        return `${short(job.id)} was retried ${job.retries} times`
      const before = this.#ended.get(job)
      const view = endedView(job)
      if (before !== undefined && view !== before)
        return `${short(job.id)} had ended as ${before} and is now ${view}`
      if (job.endedAt !== null) this.#ended.set(job, view)
    }
    return null
  }

  #story(): string {
    const { fairness, choices, providers } = this.#script
    const world = JSON.stringify({ fairness, settings: this.#settings, choices, providers })
    return `${world}\n${this.#done.join('\n').replaceAll(':\n ', ':')}\n`
  }
}

/** Policy of the rounds: tight enough for every cap to be met. */
const ROUND_CHOICES = {
  leasesMax: [3, 1, 2, 5, 0],
  aiUnits: [10, 60, null, 3],
  taskUnits: [null, 2, 4],
  window: [null, { jobs: 1, secs: 2 }, { jobs: 2, secs: 6 }, { jobs: 3, secs: 1 }],
  batchSize: [256, 2, 1],
  order: ['first-fit', 'rotate', 'score'],
  ties: ['pair_hash', 'arrival'],
  health: ['on', 'off'],
  liveness: ['heartbeat', 'worker'],
} as const
type RoundSetting = keyof typeof ROUND_CHOICES
type RoundSettings = { readonly [Name in RoundSetting]: (typeof ROUND_CHOICES)[Name][number] }
const ROUND_SETTINGS = Object.keys(ROUND_CHOICES) as RoundSetting[]
/** A window counts what was assigned since it was set, so it stays as it is here. */
const ROUND_CHANGEABLE = ROUND_SETTINGS.filter((name) => name !== 'window')
const FIRST_SETTINGS = Object.fromEntries(
  ROUND_SETTINGS.map((name) => [name, ROUND_CHOICES[name][0]]),
) as unknown as RoundSettings
const LEASE_CALLS = ['ack', 'ack', 'complete', 'complete', 'fail', 'decline', 'release'] as const

// biome-ignore format: one command a line
const anyRoundStep = fc.oneof(
  { weight: 6, arbitrary: fc.record({ op: fc.constant('enqueue' as const), what: fc.nat(35), count: fc.integer({ min: 1, max: 4 }), fee: fc.nat(3) }) },
  { weight: 7, arbitrary: fc.record({ op: fc.constant('round' as const), seed: fc.nat(1_000) }) },
  { weight: 8, arbitrary: fc.record({ op: fc.constant('call' as const), call: fc.constantFrom(...LEASE_CALLS), nth: nat, units: fc.constantFrom(null, 0, 5, 40) }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('later' as const), ms: fc.constantFrom(1, 500, 999, 1_000, 2_000, 6_000) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('cancel' as const), nth: nat }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('status' as const), provider: nat, status: fc.constantFrom('ACTIVE', 'ACTIVE', 'JAILED', 'SUSPENDED') }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('heartbeats' as const) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('policy' as const), name: fc.constantFrom(...ROUND_CHANGEABLE), choice: nat }) },
)
type RoundStep = typeof anyRoundStep extends fc.Arbitrary<infer T> ? T : never
const anyRoundScript = fc.record({
  choices: fc.array(fc.tuple(fc.constantFrom(...ROUND_SETTINGS), nat), { maxLength: 6 }),
  leasesMax: fc.array(fc.constantFrom(null, 1, 2), { minLength: 1, maxLength: 3 }),
  steps: fc.array(fc.option(anyRoundStep, { freq: 50 }), {
    minLength: 40,
    maxLength: 50,
    size: 'max',
  }),
})
type RoundScript = typeof anyRoundScript extends fc.Arbitrary<infer T> ? T : never

test.each(['score', 'tenant'])(
  'MATCH-1: rounds exceed no cap, lose no job and repeat exactly, with fairness %s',
  (fairness) => {
    fc.assert(
      fc.property(anyRoundScript, (script) => {
        const first = new RoundRun(script, fairness).all()
        expect(new RoundRun(script, fairness).all()).toBe(first)
      }),
      { numRuns: IS_LONG ? 700 : 100 },
    )
  },
  120_000,
)

/** A script of real rounds, held against plain readings of §6, §10 and §12 after every step. */
class RoundRun {
  readonly #script: RoundScript
  readonly #fairness: string
  readonly #market: Market
  readonly #events: string[] = []
  /** All jobs and leases that ever were, and what the completed ones said they took. */
  readonly #jobs: Job[] = []
  readonly #leases: Lease[] = []
  readonly #actualUnits = new Map<Lease, number>()
  #settings = FIRST_SETTINGS

  constructor(script: RoundScript, fairness: string) {
    this.#script = script
    this.#fairness = fairness
    for (const [name, choice] of script.choices) this.#choose(name, choice)
    this.#market = openMarket({
      policy: this.#policy(),
      nowMs: START,
      emit: (event) => this.#events.push(JSON.stringify(event)),
    })
    for (const [i, leasesMax] of script.leasesMax.entries()) {
      const models = new Set(at([['*'], ['m1'], ['m1', 'm2']], i))
      const offer = { leasesMax, capabilities: new Set(KINDS), models }
      const id = at(PROVIDER_IDS, i)
      const stake = 100_000n
      registerProvider(this.#market, newProvider({ id, offer, stake, lastHeartbeat: START }))
    }
  }

  /** All events, as they were emitted. */
  all(): string {
    for (const step of this.#script.steps) {
      if (step === null) continue
      this.#step(step)
      const broken = brokenInvariant(this.#market) ?? this.#lostJob()
      if (broken !== null) expect.fail(this.#story() + broken)
    }
    return this.#events.join('\n')
  }

  #step(step: RoundStep): void {
    const market = this.#market
    switch (step.op) {
      case 'enqueue':
        for (let i = 0; i < step.count; i++) this.#enqueue(step.what, step.fee)
        return
      case 'round':
        return this.#round(hex(step.seed) as Seed)
      case 'call':
        return this.#call(step.call, step.nth, step.units)
      case 'later':
        return advanceMarket(market, market.nowMs + step.ms)
      case 'cancel': {
        const live = this.#jobs.filter(({ endedAt }) => endedAt === null)
        if (live.length > 0) cancelJob(market, at(live, step.nth), 'operator')
        return
      }
      case 'status': {
        const provider = at(market.pool.all(), step.provider)
        return setProviderStatus(market, provider, step.status)
      }
      case 'heartbeats':
        for (const provider of market.pool.all()) recordHeartbeat(market, provider)
        return
      case 'policy':
        this.#choose(step.name, step.choice)
        return changePolicy(market, this.#policy())
    }
  }

  #enqueue(what: number, fee: number): void {
    const kind = at(KINDS, what)
    const size = Math.floor(what / 9)
    const job = enqueueJob(this.#market, {
      id: hex(10_000 + this.#jobs.length) as JobId,
      kind,
      caller: at(CALLERS, Math.floor(what / 3)),
      tier: 'FREE',
      fee: BigInt(fee),
      sizeBytes: 1_000,
      demand: demandOf(kind, size),
      regions: null,
      ttlAbsSecs: null,
      enqueueSeq: this.#jobs.length,
    })
    this.#jobs.push(job)
  }

  #call(call: (typeof LEASE_CALLS)[number], nth: number, actualUnits: number | null): void {
    const live = this.#leases.filter(isLeaseLive)
    if (live.length === 0) return
    const lease = at(live, nth)
    const by = { leaseId: lease.id, by: lease.provider.id }
    if (call === 'ack') ackLease(this.#market, by)
    else if (call === 'decline') declineLease(this.#market, by)
    else if (call === 'release') releaseLease(this.#market, by)
    else if (call === 'fail')
      failLease(this.#market, { ...by, code: 'timeout', permanent: nth === 0 })
    else {
      completeLease(this.#market, { ...by, digest: hex(1), actualUnits })
      this.#actualUnits.set(lease, actualUnits ?? lease.job.units)
    }
  }

  #round(seed: Seed): void {
    const { nowMs } = this.#market
    const notBefore = new Map(this.#jobs.map((job) => [job, job.notBefore]))
    const { leases, rounds } = dispatchRound(this.#market, seed)
    this.#leases.push(...leases)
    for (const lease of leases) {
      const reason = this.#misfit(lease.provider, lease.job) ?? this.#overdrawn(lease)
      const isEarly = (notBefore.get(lease.job) ?? 0) > nowMs
      if (reason !== null || isEarly)
        expect.fail(`${this.#story()}${short(lease.job.id)} was assigned: ${reason ?? 'backoff'}`)
    }
    for (const { kind, batch } of rounds)
      if (batch.jobs.length < this.#settings.batchSize) this.#expectNoneLeft(kind)
  }

  /** The checks of §6 that a round cannot change. */
  #misfit(provider: Provider, job: Job): string | null {
    const { nowMs, policy } = this.#market
    const { kind, model } = job.shape
    const { models, capabilities } = provider.offer
    if (provider.status !== 'ACTIVE') return provider.status
    const { health, liveness, heartbeatTimeoutMs, minHealth } = policy.registry
    const isSilent = nowMs - provider.lastHeartbeat > heartbeatTimeoutMs
    if (liveness === 'heartbeat' && isSilent) return 'silent'
    if (health === 'on' && provider.health < minHealth) return 'unhealthy'
    if (health === 'on' && (provider.cooldownUntil ?? 0) > nowMs) return 'cooling down'
    if (!capabilities.has(kind)) return 'kind'
    if (model !== null && !models.has('*') && !models.has(model)) return 'model'
    for (const cooldown of health === 'on' ? provider.classCooldowns.values() : [])
      if (cooldown.kind === kind && cooldown.model === model && cooldown.until > nowMs)
        return 'class cooling down'
    return (job.denials?.get(provider.id) ?? 0) > nowMs ? 'denied' : null
  }

  /** The counts of §12, added up anew from all the leases that ever were. */
  #overdrawn({ provider, job }: Pick<Lease, 'provider' | 'job'>, more = 0): string | null {
    const { leasesMax, aiUnits, taskUnits, window } = this.#settings
    const { nowMs } = this.#market
    const own = this.#leases.filter((lease) => lease.provider === provider)
    const cap = Math.min(leasesMax, provider.offer.leasesMax ?? leasesMax)
    if (own.filter(isLeaseLive).length + more > cap) return 'lease cap'
    const { kind } = job.shape
    const unitCap = kind === 'ai' ? aiUnits : kind === 'task' ? taskUnits : null
    const units = own
      .filter((lease) => lease.job.shape.kind === kind && epochAt(lease.tStart) === epochAt(nowMs))
      .map((lease) => this.#actualUnits.get(lease) ?? (isLeaseLive(lease) ? lease.job.units : 0))
      .reduce((sum, n) => sum + n, more * job.units)
    if (unitCap !== null && units > unitCap) return 'unit cap'
    const recent = this.#leases.filter(
      (lease) =>
        lease.job.caller === job.caller && nowMs - lease.tStart < 1_000 * (window?.secs ?? 0),
    )
    return window !== null && recent.length + more > window.jobs ? 'requester window' : null
  }

  /** A batch with room to spare took all that anybody could take. */
  #expectNoneLeft(kind: string): void {
    const { nowMs } = this.#market
    for (const job of this.#jobs) {
      const isReady = job.status === 'QUEUED' && (job.notBefore ?? 0) <= nowMs
      if (!isReady || job.shape.kind !== kind) continue
      for (const provider of this.#market.pool.all())
        if (this.#misfit(provider, job) === null && this.#overdrawn({ provider, job }, 1) === null)
          expect.fail(`${this.#story()}${short(job.id)} was left though ${provider.id} fits`)
    }
  }

  /** One that is not in memory though nobody has forgotten the ended ones. */
  #lostJob(): string | null {
    const { jobs } = this.#market
    const lost = this.#jobs.find(({ id }) => !jobs.has(id))
    return lost === undefined ? null : `${short(lost.id)}, ${lost.status}, is no longer there`
  }

  #choose(name: RoundSetting, choice: number): void {
    this.#settings = { ...this.#settings, [name]: at<unknown>(ROUND_CHOICES[name], choice) }
  }

  #policy(): Policy {
    const { leasesMax, aiUnits, taskUnits, window, batchSize, order } = this.#settings
    const { ties, health, liveness } = this.#settings
    const written = {
      queue: {
        batch_size: batchSize,
        lease: { ai_secs: 8, quantum_secs: 7, task_secs: 6 },
        ttl: { abs_default_ai_secs: 30, rel_max_secs: 25 },
        quotas: {
          leases_max_per_provider: leasesMax,
          ai_units_per_epoch: aiUnits,
          task_units_per_epoch: taskUnits,
          epoch_secs: EPOCH_SECS,
          requester_window: window,
        },
      },
      match: { order, fairness: this.#fairness, ties },
      registry: { heartbeat_timeout_ms: 15_000, heartbeat_interval_ms: 2_000, health, liveness },
    }
    return parsePolicy(written, 'fund')
  }

  #story(): string {
    const { choices, leasesMax, steps } = this.#script
    const shown = steps.filter((step) => step !== null).map((step) => JSON.stringify(step))
    return `${JSON.stringify({ fairness: this.#fairness, choices, leasesMax })}\n${shown.join('\n')}\n`
  }
}

const EPOCH_SECS = 10

function epochAt(ms: number): number {
  return Math.floor(ms / (1_000 * EPOCH_SECS))
}

/** What must hold of a market at every moment; the first that does not. */
function brokenInvariant(market: Market): string | null {
  const live = [...market.leases.values()].filter(isLeaseLive)
  const waiting = new Map<Caller, number>()
  for (const job of market.jobs.values()) {
    const own = live.filter((lease) => lease.job === job).length
    const isQueued = market.queues.get(job.shape.kind)?.has(job) ?? false
    if (own > 1) return `${short(job.id)} has ${own} live leases`
    if (isQueued !== (job.status === 'QUEUED'))
      return `${short(job.id)} is ${job.status} and ${isQueued ? '' : 'not '}in its queue`
    if (job.status === 'QUEUED') waiting.set(job.caller, (waiting.get(job.caller) ?? 0) + 1)
    const isHeld = job.status === 'ASSIGNED' || job.status === 'RUNNING'
    const holds = own + (job.proofAwaitedSince === null ? 0 : 1)
    if (holds !== (isHeld ? 1 : 0)) return `${short(job.id)} is ${job.status} with ${holds} holders`
  }
  const queued = [...market.queues.values()].reduce((sum, { size }) => sum + size, 0)
  const counted = [...waiting.values()].reduce((sum, n) => sum + n, 0)
  if (queued !== counted) return `${queued} jobs in the queues, ${counted} are QUEUED`
  for (const [caller, n] of market.waitingOf)
    if (n !== (waiting.get(caller) ?? 0)) return `waitingOf counts ${n} for ${short(caller)}`
  for (const [caller, n] of waiting)
    if (n !== market.waitingOf.get(caller)) return `waitingOf forgot ${short(caller)}`
  for (const provider of market.pool.all()) {
    const held = live.filter((lease) => lease.provider === provider).length
    const known = market.leasesOf.get(provider.id)?.size ?? 0
    if (held !== provider.liveLeases || held !== known)
      return `${provider.id} counts ${provider.liveLeases} and ${known} live leases of ${held}`
    for (const epochs of provider.units.values())
      for (const units of epochs.values()) if (units < 0) return `${provider.id} has ${units} units`
    if (provider.health < 0 || provider.health > 1_000)
      return `${provider.id} is at ${provider.health}`
  }
  return null
}

function proofDueAt({ id }: Job, { fund, policy }: Market): number | null {
  const awaited = fund.claims.awaitOf(id)
  return awaited && awaited.since + 1_000 * policy.queue.completion.proofTimeoutSecs
}

function coreView(market: Market): object {
  const { nowMs } = market
  return {
    now: nowMs,
    jobs: [...market.jobs.values()].sort(byId).map((job) => ({
      id: job.id,
      status: job.status,
      enqueueTs: job.enqueueTs,
      readyTs: job.readyTs,
      waitsFor: job.waitsFor,
      retries: job.retries,
      attempt: job.attempt,
      declines: job.declines,
      losses: job.workerLosses,
      notBefore: ahead(job.notBefore, nowMs),
      firstAssignedAt: job.firstAssignedAt,
      endedAt: job.endedAt,
      reason: job.reason,
      proofDueAt: proofDueAt(job, market),
    })),
    leases: [...market.leases.values()].sort(byId).map((lease) => ({
      id: lease.id,
      job: lease.job.id,
      provider: lease.provider.id,
      attempt: lease.attempt,
      status: lease.status,
      tStart: lease.tStart,
      tDeadline: lease.tDeadline,
      timeoutAt: lease.timeoutAt,
      renewBy: renewBy(lease),
      renewals: lease.renewals,
      digest: lease.digest,
      acked: isLeaseLive(lease) && lease.isAcked,
    })),
    providers: market.pool.all().map((provider) => ({
      id: provider.id,
      status: provider.status,
      health: provider.health,
      liveLeases: provider.liveLeases,
      failures: provider.failures,
      cooldownUntil: ahead(provider.cooldownUntil, nowMs),
      lastHeartbeat: provider.lastHeartbeat,
      units: [...provider.units]
        .flatMap(([kind, epochs]) => [...epochs].map(([epoch, used]) => [kind, epoch, used]))
        .filter(([, , used]) => used !== 0)
        .map((entry) => entry.join(' '))
        .sort(),
      classCooldowns: [...provider.classCooldowns.values()]
        .filter(({ until }) => until > nowMs)
        .map(({ kind, model, until }) => `${kind} ${model} ${until}`)
        .sort(),
      denied: [...market.jobs.values()]
        .filter(({ endedAt }) => endedAt === null)
        .map(({ id, denials }) => ({ id, until: denials?.get(provider.id) ?? 0 }))
        .filter(({ until }) => until > nowMs)
        .sort(byId),
    })),
  }
}

function plainView(market: PlainMarket): object {
  const { now } = market
  return {
    now,
    jobs: market.jobs.toSorted(byId).map((job) => ({
      id: job.id,
      status: job.status,
      enqueueTs: job.enqueueTs,
      readyTs: market.readyTs(job),
      waitsFor: job.waitsFor.length,
      retries: job.retries,
      attempt: job.attempt,
      declines: job.declines,
      losses: job.losses,
      notBefore: ahead(job.notBefore, now),
      firstAssignedAt: job.firstAssignedAt,
      endedAt: job.endedAt,
      reason: job.reason,
      proofDueAt: market.proofDueAt(job),
    })),
    leases: market.leases.toSorted(byId).map((lease) => ({
      id: lease.id,
      job: lease.job.id,
      provider: lease.provider.id,
      attempt: lease.attempt,
      status: lease.status,
      tStart: lease.tStart,
      tDeadline: lease.tDeadline,
      timeoutAt: lease.timeoutAt,
      renewBy: plainRenewBy(lease),
      renewals: lease.renewals,
      digest: lease.digest,
      acked: isLive(lease) && lease.acked,
    })),
    providers: market.providers.map((provider) => ({
      id: provider.id,
      status: provider.status,
      health: provider.health,
      liveLeases: market.liveOf(provider).length,
      failures: provider.failures,
      cooldownUntil: ahead(provider.cooldownUntil, now),
      lastHeartbeat: provider.lastHeartbeat,
      units: provider.units
        .filter(({ used }) => used !== 0)
        .map(({ kind, epoch, used }) => `${kind} ${epoch} ${used}`)
        .sort(),
      classCooldowns: provider.classCooldowns
        .filter(({ until }) => until > now)
        .map(({ kind, model, until }) => `${kind} ${model} ${until}`)
        .sort(),
      denied: market.jobs
        .filter((job) => !hasEnded(job))
        .flatMap(({ id, denials }) => denials.map((denial) => ({ id, ...denial })))
        .filter((denial) => denial.provider === provider.id && denial.until > now)
        .map(({ id, until }) => ({ id, until }))
        .sort(byId),
    })),
  }
}

/** All of an ended job that could be seen to change. */
function endedView(job: Job): string {
  const { status, retries, attempt, declines, endedAt, reason, firstAssignedAt } = job
  const leases = job.leases?.map(({ id, status: s, tDeadline }) => [id, s, tDeadline])
  const all = { status, retries, attempt, declines, endedAt, reason, firstAssignedAt }
  return JSON.stringify({ ...all, leases })
}

/** The preset `fund` with short times. Built past the checks: an ack may outlive its lease here. */
function policyOf(settings: Settings, fairness: string): Policy {
  const s = settings
  const written = {
    queue: {
      max_depth: s.maxDepth,
      max_per_caller: s.maxPerCaller,
      lease: {
        ai_secs: s.leaseSecs,
        quantum_secs: 7,
        task_secs: 5,
        renew_alpha: s.alpha,
        renew_beta: s.beta,
        renewals_max: s.renewalsMax,
      },
      retries: {
        attempt_max: s.attemptMax,
        base_backoff_ai_secs: s.backoffBaseSecs,
        base_backoff_quantum_secs: 2,
        base_backoff_task_secs: 3,
        backoff_factor: s.backoffFactor,
        backoff_cap_secs: 15,
        worker_lost_max: s.workerLostMax,
      },
      quotas: { leases_max_per_provider: s.leasesMax, epoch_secs: s.epochSecs },
      ttl: {
        abs_default_ai_secs: s.ttlAbsSecs,
        abs_default_quantum_secs: 25,
        abs_default_task_secs: s.ttlAbsTaskSecs,
        rel_max_secs: s.ttlRelSecs,
        gc_horizon_secs: s.gcSecs,
      },
      completion: {
        ai_verification: s.verification,
        quantum_verification: s.verification,
        task_verification: 'none',
        proof_timeout_secs: s.proofTimeoutSecs,
      },
    },
    match: { fairness },
    registry: {
      heartbeat_timeout_ms: s.heartbeatTimeoutMs,
      heartbeat_interval_ms: s.heartbeatIntervalMs,
      min_health: s.minHealth,
      cooldown_after: s.cooldownAfter,
      health: s.health,
      liveness: s.liveness,
    },
  }
  const policy = parsePolicy(
    { ...written, queue: { ...written.queue, ack_timeout_ms: 100 } },
    'fund',
  )
  return { ...policy, queue: { ...policy.queue, ackTimeoutMs: s.ackTimeoutMs } }
}

function demandOf(kind: PlainKind, size: number): Demand {
  const model = size % 2 === 0 ? 'm1' : 'm2'
  if (kind === 'ai') return aiDemand(model, at([100, 101, 1, 5_000], size))
  if (kind === 'quantum') return quantumDemand(at([1_000, 10_001, 20_000, 1], size), size)
  return taskDemand(model)
}

/** §12, by hand: ceil(max_tokens / 100), ceil(shots · max(1, depth) / 10,000), one for a task. */
function unitsOf(kind: PlainKind, size: number): number {
  if (kind === 'ai') return at([1, 2, 1, 50], size)
  if (kind === 'quantum') return at([1, 2, 4, 1], size)
  return 1
}

function jobOf(market: Market, id: JobId): Job {
  const job = market.jobs.get(id)
  if (job === undefined) throw new FairleadError('NotFound', 'no such job')
  return job
}

function leaseOf(market: Market, id: LeaseId): Lease {
  const lease = market.leases.get(id)
  if (lease === undefined) throw new FairleadError('NotFound', 'no such lease')
  return lease
}

function providerOf(market: Market, id: ProviderId): Provider {
  const provider = market.pool.get(id)
  if (provider === undefined) throw new FairleadError('NotFound', 'no such provider')
  return provider
}

function isLeaseLive({ status }: Lease): boolean {
  return status === 'ACTIVE' || status === 'RENEWED'
}

function ahead(time: number | null, now: number): number | null {
  return time !== null && time > now ? time : null
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
}

function at<T>(items: readonly T[], i: number): T {
  return items[i % items.length] as T
}

function hex(n: number): string {
  return `0x${n.toString(16).padStart(64, '0')}`
}

function short(id: string): string {
  return id.replace(/^0x0*/, '').slice(0, 6)
}
