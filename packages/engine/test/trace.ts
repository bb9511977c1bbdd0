import {
  type Caller,
  callerOf,
  FairleadError,
  isLive,
  type Job,
  type JobId,
  type Lease,
  type LeaseFailure,
  type LeaseId,
  type Limit,
  type ProviderId,
  type Seed,
  type Store,
  taggedHash,
  taggedHashHex,
  toHex,
  type WorkerId,
} from '@fairlead/core'
import { NO_ROWS, type PauseKey, SeededDice } from '@fairlead/core/internal'
import {
  acceptEnqueue,
  acceptReport,
  assignedSince,
  DependencyFacts,
  type EngineState,
  KnownKeys,
  LookUps,
  Sealer,
  type Submission,
  stateOf,
  type TokenFacts,
} from '@fairlead/engine'

import { FundTrace, keyOf, SHORT_FUND } from './fund-trace.ts'

/** Short times, so that everything happens often. */
export const SHORT = {
  queue: {
    ack_timeout_ms: 1_500,
    worker_lost_ms: 500,
    worker_lost_registration_ms: 2_000,
    lease: { ai_secs: 4, quantum_secs: 3, task_secs: 4, registration_secs: 4 },
    retries: { attempt_max: 3, base_backoff_ai_secs: 1, backoff_cap_secs: 2 },
    ttl: { abs_default_ai_secs: 30, rel_max_secs: 20, gc_horizon_secs: 40 },
    quotas: { leases_max_per_provider: 3, requester_window: { jobs: 12, secs: 5 }, epoch_secs: 10 },
  },
  admit: [
    { kind: 'ai', model: 'm1', requirements: [{ key: 'l-tokens', amount: 'tokens' }] },
    { kind: 'task', caller: callerOf('ann'), requirements: [{ key: 'l-conc', amount: 1 }] },
  ],
  registry: {
    heartbeat_timeout_ms: 20_000,
    heartbeat_interval_ms: 1_000,
    min_health: 0,
    cooldown_after: 9,
  },
  sessions: {
    platforms: {
      default: {
        max_concurrency: 3,
        burst: 3,
        max_rps: 4,
        window_ms: 6_000,
        backoff_ms: [200, 900],
      },
      asks: { lookup_supported: true, min_spacing_ms: 20 },
      keyed: { idempotency_key_supported: true, lookup_supported: true, weights: { e1: 2 } },
    },
  },
} as const

export const START = 1_760_000_000_000

/** An ordinary queue; a fund whose proofs are sent to it; and one whose proofs come in the blocks of a chain. */
export type TracePreset = 'queue' | 'fund' | 'chain'
export const PRESETS: readonly TracePreset[] = ['queue', 'fund', 'chain']

export function presetOf(seed: number): TracePreset {
  return PRESETS[seed % PRESETS.length] as TracePreset
}

const CALLERS: readonly Caller[] = ['ann', 'bob', 'cyd'].map(callerOf)
const PROVIDERS = ['a', 'b', 'c'].map((name) => `provider:${name}` as ProviderId)
const WORKERS = ['w-1', 'w-2', 'w-3'] as WorkerId[]

/** A command and its time. What it refers to may be gone by then, as in life. */
export interface Step {
  readonly at: number
  readonly command: Submission
}

/** Commands that come together. */
export interface Turn {
  readonly at: number
  readonly commands: readonly Submission[]
}

/** A trace tells of some of them at a time. */
const TOKENS: readonly TokenFacts[] = ['a', 'b', 'c'].map((id, i) => {
  const facts = { role: 'requester', holder: 'h', scope: '', expiresAt: null }
  return { ...facts, id, digest: `${id}${i}`, isRevoked: i > 0 }
})

/** Asks for the next step, given what is alive. */
export class TraceMaker {
  readonly #dice: SeededDice
  /** With registrations among the jobs. */
  readonly #hasSessions: boolean
  /** With options of jobs: where a dependency has ended, the loop asks the tables, and a turn becomes two batches. */
  readonly #hasOptions: boolean
  readonly #hasPauses: boolean
  readonly #startMs: number
  #now: number
  #made = 0

  readonly #fund: FundTrace

  constructor(
    seed: number,
    { hasSessions = false, hasOptions = true, hasPauses = false, startMs = START } = {},
  ) {
    this.#hasOptions = hasOptions
    this.#hasSessions = hasSessions
    this.#hasPauses = hasPauses
    this.#startMs = startMs
    this.#now = startMs
    this.#dice = new SeededDice(taggedHashHex('fairlead|trace', seed) as Seed)
    this.#fund = new FundTrace(this.#dice)
  }

  next(state: EngineState): Step {
    return { at: this.#later(), command: this.#command(state) }
  }

  /** So many steps at one time. */
  nextTurn(state: EngineState, size: number): Turn {
    const at = this.#later()
    return { at, commands: Array.from({ length: size }, () => this.#command(state)) }
  }

  #later(): number {
    this.#now += this.#dice.draw(4) === 0 ? this.#dice.draw(1_500) : this.#dice.draw(100)
    return this.#now
  }

  #command(state: EngineState): Submission {
    this.#made++
    const { length } = PROVIDERS
    const first = PROVIDERS[(this.#made - 1) % length] as ProviderId
    if (this.#made <= length) return register(first)
    if (this.#made <= 3 * length) {
      return connect(first, WORKERS[this.#made <= 2 * length ? 0 : 1] as WorkerId, 2)
    }
    const providerId = this.#pick(PROVIDERS) as ProviderId
    const isFund = state.market.policy.queue.completion.aiVerification === 'proof'
    if (isFund && this.#dice.draw(3) === 0) return this.#fund.next(state, this.#now, providerId)
    // By id: a state that was loaded anew may list the same things in another order.
    const isLate = this.#dice.draw(8) === 0
    const leases = [...state.market.leases.values()].filter(
      ({ status }) => isLate || isLive(status),
    )
    const lease = this.#pick(leases.sort(byId))
    const job = this.#pick([...state.market.jobs.values()].sort(byId))
    const leaseId = lease?.id ?? (`0x${'1'.repeat(64)}` as LeaseId)
    // At times somebody who does not hold it.
    const by = this.#dice.draw(12) === 0 ? providerId : (lease?.provider.id ?? providerId)
    const workerId = this.#worker(lease)
    const holder = { leaseId, by, ...(workerId === undefined ? {} : { workerId }) }
    switch (this.#dice.draw(22)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return this.#enqueue(job, isFund)
      case 4:
      case 5:
        return { type: 'ack', ...holder }
      case 6:
        return { type: 'renew', ...holder }
      case 7:
        return { type: this.#dice.draw(2) === 0 ? 'decline' : 'release', ...holder }
      case 8:
      case 9: {
        const digest = taggedHashHex('output', leaseId)
        const actualUnits = this.#dice.draw(3) === 0 ? this.#dice.draw(9) : null
        const actualTokens = this.#dice.draw(2) === 0 ? this.#dice.draw(1_200) : null
        const actual = { actualUnits, actualTokens }
        return { type: 'complete', ...holder, digest, output: null, meta: null, ...actual }
      }
      case 10: {
        const permanent = this.#dice.draw(4) === 0
        if (lease?.job.session != null) return { type: 'fail', ...holder, ...this.#answer() }
        return { type: 'fail', ...holder, code: 'oom', permanent }
      }
      case 11: {
        const jobId = job?.id ?? (`0x${'2'.repeat(64)}` as JobId)
        return { type: 'cancel', jobId, by: this.#dice.draw(2) === 0 ? 'operator' : this.#caller() }
      }
      case 12:
        if (this.#dice.draw(2) === 0) return this.#ofOperator(providerId)
        return { type: 'heartbeat', providerId }
      case 13: {
        const status = this.#dice.draw(8) === 0 ? 'SUSPENDED' : 'ACTIVE'
        return { type: 'setProviderStatus', providerId, status }
      }
      case 14:
      case 15:
        return this.#onWorker(providerId, leases)
      case 16:
      case 17:
        return this.#onLimit()
      case 18:
        return { type: this.#hasOptions ? 'cascade' : 'round' }
      default:
        return { type: 'round' }
    }
  }

  #ofOperator(providerId: ProviderId): Submission {
    const actor = this.#pick(['token:a', 'token:b', undefined])
    switch (this.#dice.draw(this.#hasPauses ? 5 : 3)) {
      case 3:
        return { type: 'pauseQueue', ...this.#paused() }
      case 4:
        return { type: 'resumeQueue', ...this.#paused() }
      case 0:
        return { type: 'stake', providerId, amount: BigInt(this.#dice.draw(50)), actor }
      case 1:
        return { type: 'updateProvider', providerId, offer: {}, actor }
      default: {
        const attempts = 1 + this.#dice.draw(9)
        if (attempts > 6) return { type: 'noteTokens', tokens: TOKENS.slice(attempts - 7) }
        const refusal = { by: '192.0.2.7', subject: 'policy.set', reason: 'forbidden', attempts }
        return { type: 'note', note: { type: 'accessRefused', ...refusal } }
      }
    }
  }

  #paused(): PauseKey {
    const name = this.#pick([null, 'm1']) ?? null
    return { kind: this.#pick(['ai', 'task'] as const) ?? 'ai', name, caller: null }
  }

  /** Whom a call on a lease comes from: its worker, nobody in particular, at times another one. */
  #worker(lease: Lease | undefined): WorkerId | undefined {
    if (this.#dice.draw(12) === 0) return this.#pick(WORKERS)
    return this.#dice.draw(2) === 0 ? undefined : (lease?.workerId ?? undefined)
  }

  #onWorker(named: ProviderId, leases: readonly Lease[]): Submission {
    // Mostly one that holds something.
    const held = this.#pick(leases.filter(({ workerId: by }) => by !== null))
    const providerId = held?.provider.id ?? named
    const workerId = held?.workerId ?? (this.#pick(WORKERS) as WorkerId)
    const slots = this.#dice.draw(6)
    switch (this.#dice.draw(6)) {
      case 0:
      case 1:
        return { type: 'disconnectWorker', providerId, workerId }
      case 2:
        return { type: 'setWorkerSlots', providerId, workerId, slots }
      case 3: {
        const holds = leases.filter(() => this.#dice.draw(2) === 0).map(({ id }) => id)
        return { ...connect(providerId, workerId, slots), holds }
      }
      default:
        return connect(named, this.#pick(WORKERS) as WorkerId, slots)
    }
  }

  /** Few lease ids and small limits, so that all of LIMIT-8 to LIMIT-13 happens. */
  #onLimit(): Submission {
    const key = this.#pick(['l-roll', 'l-fix', 'l-conc', 'l-buck', 'l-tokens']) as string
    const leaseId = `reserved-${this.#dice.draw(12)}`
    const amount = 1 + this.#dice.draw(5)
    switch (this.#dice.draw(8)) {
      case 0:
      case 1:
        return { type: 'defineLimit', limit: limitOf(key, 2 + this.#dice.draw(5)) }
      case 2:
        return { type: 'listLimits', key: null }
      case 3:
      case 4:
        return { type: 'completeLimits', requests: [{ leaseId, actuals: [{ key, amount }] }] }
      default:
        return { type: 'reserveLimits', requests: [{ leaseId, requirements: [{ key, amount }] }] }
    }
  }

  /** What a platform may answer to a registration, or a lookup find. */
  #answer(): Pick<Extract<Submission, { type: 'fail' }>, keyof LeaseFailure> {
    const found = this.#pick(['booked', 'not_booked', 'failed'] as const) ?? 'failed'
    return this.#pick([
      { code: 'busy', permanent: false, http: 429, retryAfterMs: this.#dice.draw(3) * 500 },
      { code: 'unavailable', permanent: false, http: 503 },
      { code: 'sold_out', permanent: true, http: 409 },
      { code: 'timeout', permanent: false, isUnknown: true },
      { code: 'timeout', permanent: false, isUnknown: true, lookup: found },
    ]) as LeaseFailure
  }

  /** A session opens every 4 s; some join before, some after, and some at a wrong time. */
  #registration(): Submission {
    const n = Math.floor((this.#now - this.#startMs) / 4_000) + 1 - this.#dice.draw(2)
    const wrongMs = this.#dice.draw(12) === 0 ? 1 : 0
    const payload = {
      provider: this.#pick(['plain', 'asks', 'keyed']),
      org_ref: this.#pick(['north', 'south']),
      event_id: `e${2 * n + this.#dice.draw(2)}`,
      user_id: `u${this.#dice.draw(40)}`,
      args: {},
      scheduled_time: this.#startMs + 4_000 * n + wrongMs,
    }
    const request = { kind: 'registration', payload, idempotency_key: `r-${this.#made}` }
    const caller = this.#caller()
    return {
      type: 'enqueue',
      request,
      txHash: null,
      caller,
      tier: 'FREE',
      origin: null,
      before: 'unknown',
    }
  }

  #enqueue(other: Job | undefined, isFund: boolean): Submission {
    if (this.#hasSessions && this.#dice.draw(3) === 0) return this.#registration()
    const isQuantum = isFund && this.#dice.draw(3) === 0
    const isAi = !isQuantum && this.#dice.draw(3) > 0
    const payload = isQuantum
      ? { circuit: '0x00', shots: 1 + this.#dice.draw(90_000), depth_hint: this.#dice.draw(40) }
      : isAi
        ? { model: this.#pick(['m1', 'm2']), prompt: '0x00', max_tokens: 1 + this.#dice.draw(900) }
        : { name: 'resize', args: { n: this.#dice.draw(5) } }
    const request = {
      kind: isQuantum ? 'quantum' : isAi ? 'ai' : 'task',
      payload,
      // A few keys are used again, with the same payload or another one.
      idempotency_key: `key-${this.#dice.draw(120)}`,
      max_fee_u64: this.#dice.draw(3_000_000),
      ...this.#options(other),
    }
    const origin = this.#pick([null, { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01` }])
    return {
      type: 'enqueue',
      request,
      txHash: null,
      caller: this.#caller(),
      tier: 'FREE',
      origin: origin ?? null,
      before: 'unknown',
    }
  }

  /** Half of the jobs have none. */
  #options(other: Job | undefined): object {
    if (!this.#hasOptions) return {}
    const unknown = `0x${'3'.repeat(64)}`
    const depends_on = [other?.id ?? unknown, ...(this.#dice.draw(4) === 0 ? [unknown] : [])]
    const backoff = { base_ms: 300, factor_permille: 1_500, cap_ms: 900, jitter_permille: 500 }
    const choices: readonly object[] = [
      { delay_ms: this.#dice.draw(3_000) },
      { depends_on },
      { depends_on, on_dependency: 'run' },
      { timeout_ms: 1_000 + this.#dice.draw(1_000), attempts: 1 + this.#dice.draw(3) },
      { backoff, tags: ['a', 'b'] },
      { dedupe_key: `d-${this.#dice.draw(3)}` },
    ]
    return this.#dice.draw(2) === 0 ? {} : (this.#pick(choices) ?? {})
  }

  #caller(): Caller {
    return this.#pick(CALLERS) as Caller
  }

  #pick<T>(list: readonly T[]): T | undefined {
    return list.length === 0 ? undefined : list[this.#dice.draw(list.length)]
  }
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1
}

function limitOf(key: string, capacity: number): Limit {
  if (key === 'l-roll') return { key, kind: 'rolling', capacity, windowSecs: 3 }
  if (key === 'l-tokens') return { key, kind: 'rolling', capacity: 900 * capacity, windowSecs: 4 }
  if (key === 'l-fix') return { key, kind: 'fixed', capacity, windowSecs: 5, overage: 'deny' }
  if (key === 'l-conc') return { key, kind: 'concurrency', capacity, timeoutSecs: 4 }
  return { key, kind: 'bucket', burst: capacity, rate: 1.5 }
}

function register(providerId: ProviderId): Submission {
  const offer = {
    capabilities: new Set(['ai', 'quantum', 'task', 'registration'] as const),
    models: new Set(['*']),
    platforms: new Set(['*']),
  }
  const publicKey = keyOf(providerId)
  return { type: 'registerProvider', providerId, offer, stake: 0n, publicKey }
}

export function connect(
  providerId: ProviderId,
  workerId: WorkerId,
  slots: number,
): Extract<Submission, { type: 'connectWorker' }> {
  return { type: 'connectWorker', providerId, workerId, session: 1, slots, holds: null }
}

/** Writes the rows that a new store must have for a trace. */
async function install({ tables }: Store, preset: TracePreset): Promise<void> {
  const { completion, ...fund } = SHORT_FUND
  const proved = {
    ...fund,
    queue: { ...SHORT.queue, completion },
    registry: { ...SHORT.registry, unstake_delay_secs: 8 },
    chain: { source: preset === 'chain' ? 'blocks' : 'none', finality_k: 3 },
  }
  const policy = {
    ...SHORT,
    ...(preset === 'queue' ? {} : proved),
    match: { fairness: preset === 'queue' ? 'tenant' : 'score' },
  }
  const meta = {
    installation_seed: toHex(taggedHash('installation', 1)),
    policy: JSON.stringify(policy),
    preset: 'queue',
    beat: String(START),
  }
  await tables.apply({ ...NO_ROWS, meta }, 0)
}

/** A state on a store, without the loop: for tests that decide themselves when to write. It replays no log. */
export async function stateFrom(store: Store, preset: TracePreset): Promise<EngineState> {
  if ((await store.tables.load()).meta['policy'] === undefined) await install(store, preset)
  const snapshot = await store.tables.load()
  const since = assignedSince(snapshot)
  const assigned = since === null ? [] : await store.read.assignmentsSince(since)
  return stateOf(snapshot, assigned)
}

/** Looks up what a command needs, on tables that have everything. */
export async function preparedOn(
  { read }: Store,
  state: EngineState,
  command: Submission,
): Promise<Submission> {
  const keys = { mustLookUp: () => true }
  const { market } = state
  const clock = { now: () => market.nowMs, wakeAt: () => () => {} }
  const sources = { market: () => market, ended: () => state.ended }
  const lookUps = new LookUps({ clock, read, upToDate: read, keys, ...sources })
  const [prepared] =
    command.type === 'enqueue'
      ? await lookUps.earlierJobs([command])
      : ((await lookUps.windows([command])) ?? [command])
  if (prepared instanceof FairleadError) throw prepared
  return prepared ?? command
}

const SEALER = new Sealer([])

/** Applies a command whose facts were looked up, as the loop does. */
export function submit(
  state: EngineState,
  command: Submission,
  at: number,
  keys = new KnownKeys(),
): unknown {
  const { market } = state
  if (command.type === 'complete' || command.type === 'fail') {
    return state.apply(acceptReport(command, market, SEALER), at).reply
  }
  if (command.type !== 'enqueue') return state.apply(command, at).reply
  const nowMs = Math.max(at, market.nowMs)
  const dependencies = new DependencyFacts({
    market: () => market,
    ended: () => state.ended,
    job: async () => null,
  })
  const accepted = acceptEnqueue(command, { market, nowMs, keys, dependencies, sealer: SEALER })
  if ('known' in accepted) return accepted.known
  if ('duplicateOf' in accepted) return accepted.duplicateOf
  const id = state.apply(accepted.command, at).reply as JobId
  if (accepted.key !== null) keys.add(accepted.key, { id, payload: accepted.payload })
  return id
}
