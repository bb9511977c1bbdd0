import {
  ACTUAL_FACTOR_MAX,
  addUp,
  type Clock,
  COMPLETED,
  type CompleteAnswer,
  type CompleteRequest,
  checkLimitBatch,
  checkLimitRequest,
  compareText,
  completeProblem,
  type Excess,
  FairleadError,
  invalidParams,
  LEASES_MAX,
  LIMIT_BATCH_MAX,
  type Limit,
  type Limiter,
  type LimitView,
  notAllowed,
  notCompleted,
  REMEMBER_MS,
  type ReserveAnswer,
  type ReserveRequest,
  readLimit,
  reserveProblem,
  unknownReserve,
} from '@fairlead/core/limits'
import { systemClock } from '../../clock.ts'
import { newId } from '../../new-id.ts'
import { reserveAnswer, TOO_CHANGEABLE } from './answers.ts'
import { instancesOf } from './backend-loss.ts'
import { GatheredCalls } from './gathered-calls.ts'
import { guardMsOf, Holdings } from './holdings.ts'
import { Keys } from './keys.ts'
import { LocalShare, reportOf } from './local-share.ts'
import type { RedisOptions } from './redis-backend.ts'
import { connectRedis, noAnswer, type RedisAddress, type RedisPort } from './redis-port.ts'
import {
  type BatchCall,
  completeScript,
  type Described,
  defineScript,
  joinScript,
  reserveScript,
  resetScript,
  type ScriptContext,
} from './scripts.ts'

/** How often a call is made again because limits changed meanwhile. */
const TRIES_MAX = 5
/** The most single calls that are made as one: with more, this process and Redis would only wait for each other. */
const GATHERED_MAX = 32
/** The most limits that are defined or told of in one script: Redis does nothing else meanwhile. */
const LIMITS_AT_ONCE = 256
/** Levels are kept in millionths in numbers that are exact below 2^53. */
const BURST_MAX = 9_007_199_254

interface Known {
  readonly limit: Limit
  readonly version: string
  readonly countsFrom: number
}

/**
 * A limiter on Redis. Decisions are made by scripts, one round trip each, on the server's clock. It keeps a
 * copy of the definitions with their versions: a script that finds another version does nothing, and the call is
 * made again with the new one. That is also how a Redis that has forgotten everything is found out.
 */
export class RedisLimiter implements Limiter {
  readonly #connection: Promise<{ redis: RedisPort; disconnect: () => void }>
  readonly #keys: Keys
  readonly #clock: Pick<Clock, 'now'> | null
  /** How long lease ids are remembered, how many of them, and what their actuals count at most. */
  readonly #memory: Pick<BatchCall, 'rememberMs' | 'leasesMax' | 'actualFactorMax'>
  readonly #hasGuard: boolean
  readonly #instance = newId()
  readonly #known = new Map<string, Known>()
  readonly #holdings: Holdings
  /** How many share the limits while Redis is away; null: nothing is allowed then. */
  readonly #instances: number | null
  readonly #reserves = new GatheredCalls(
    (all: readonly ReserveRequest[]) => this.#reserve(all),
    GATHERED_MAX,
  )
  readonly #completes = new GatheredCalls(
    (all: readonly CompleteRequest[]) => this.#complete(all),
    GATHERED_MAX,
  )
  #local: LocalShare | null = null
  /** What was given at the start and Redis has not heard of yet. */
  #given: readonly Limit[]
  #defining: Promise<void> | null = null

  constructor(address: RedisAddress, limits: readonly Limit[], options: RedisOptions) {
    const { name = 'default', coldStartGuard = true, clock } = options
    const { rememberMs = REMEMBER_MS, leasesMax = LEASES_MAX } = options
    const { actualFactorMax = ACTUAL_FACTOR_MAX } = options
    this.#given = limits.map(checkExact)
    this.#keys = new Keys(name)
    this.#hasGuard = coldStartGuard
    // Redis takes no expiry of 0.
    this.#memory = { rememberMs: Math.max(1, rememberMs), leasesMax, actualFactorMax }
    this.#holdings = new Holdings(actualFactorMax)
    this.#clock = clock ?? null
    this.#instances = instancesOf(options)
    this.#connection = connectRedis(address)
    // Whoever calls is told.
    this.#connection.catch(() => undefined)
  }

  async define(given: Limit): Promise<LimitView> {
    const limit = checkExact(readLimit(given))
    const [described] = await answered(async () =>
      defineScript(await this.#context(), [limit], newId()),
    )
    if (described == null) {
      throw invalidParams('kind', 'the kind it was defined with; another one needs another key')
    }
    this.#learn(described)
    return described.view
  }

  async reset(key: string): Promise<LimitView | null> {
    const described = await answered(async () => resetScript(await this.#context(), key, false))
    if (described === null || described === 'deleted') return null
    this.#learn(described)
    return described.view
  }

  async delete(key: string): Promise<boolean> {
    const deleted = await answered(async () => resetScript(await this.#context(), key, true))
    this.#unlearn(key)
    return deleted !== null
  }

  async list(): Promise<LimitView[]> {
    const described = await answered(async () => {
      const context = await this.#context()
      // Those that a Redis without persistence has forgotten are made again by whoever knows them.
      const keys = new Set([
        ...(await context.redis.smembers(this.#keys.index)),
        ...this.#known.keys(),
      ])
      return keys.size === 0 ? [] : this.#join(context, [...keys].sort(compareText))
    })
    return described.flatMap((one) => (one === null ? [] : [one.view]))
  }

  async get(key: string): Promise<LimitView | null> {
    const [described] = await answered(async () => this.#join(await this.#context(), [key]))
    return described?.view ?? null
  }

  async reserve(request: ReserveRequest): Promise<ReserveAnswer> {
    checkLimitRequest(request, 'reserve')
    return this.#reserves.add(request)
  }

  async complete(request: CompleteRequest): Promise<CompleteAnswer> {
    checkLimitRequest(request, 'complete')
    return this.#completes.add(request)
  }

  async reserveMany(requests: readonly ReserveRequest[]): Promise<ReserveAnswer[]> {
    checkLimitBatch(requests, 'reserve')
    return this.#reserve(requests)
  }

  async completeMany(requests: readonly CompleteRequest[]): Promise<CompleteAnswer[]> {
    checkLimitBatch(requests, 'complete')
    return this.#complete(requests)
  }

  async close(): Promise<void> {
    const connection = await this.#connection.catch(() => null)
    connection?.disconnect()
  }

  async #reserve(requests: readonly ReserveRequest[]): Promise<ReserveAnswer[]> {
    const problems = requests.map((one) => reserveProblem(one.leaseId, one.requirements))
    const sound = requests
      .filter((_, i) => problems[i] === null)
      .map(({ leaseId, requirements }) => ({ leaseId, amounts: addUp(requirements) }))
    const decided = sound.length === 0 ? [] : await this.#decide(sound)
    const next = decided.values()
    return problems.map((problem) =>
      problem === null
        ? (next.next().value as ReserveAnswer)
        : notAllowed('invalid_request', { detail: problem }),
    )
  }

  async #decide(requests: readonly Sound[]): Promise<ReserveAnswer[]> {
    // No repetition makes a client where none can be made: that is thrown, and not an unknown outcome (REDIS-8).
    await this.#connection
    try {
      const context = await this.#context()
      await this.#comeBack(context)
      const keys = keysIn(requests)
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        const call = { ...this.#memory, versions: this.#versions(keys), requests }
        const reply = await reserveScript(context, call)
        if ('stale' in reply) {
          await this.#join(context, reply.stale)
          continue
        }
        return reply.rows.map((row, i) => {
          const { leaseId, amounts } = requests[i] as Sound
          if (row.code === 'allowed') this.#holdings.granted(leaseId, amounts, row.value)
          return reserveAnswer(row)
        })
      }
      return requests.map(() => TOO_CHANGEABLE)
    } catch (error) {
      const local = this.#goLocal()
      return requests.map(({ leaseId, amounts }) =>
        local === null
          ? unknownReserve(noAnswer(error))
          : local.reserve(leaseId, amounts, this.#serverNow()),
      )
    }
  }

  async #complete(requests: readonly CompleteRequest[]): Promise<CompleteAnswer[]> {
    const problems = requests.map((one) => completeProblem(one.leaseId, one.actuals ?? []))
    const sound = requests
      .filter((_, i) => problems[i] === null)
      .map(({ leaseId, actuals = [] }) => ({ leaseId, amounts: addUp(actuals) }))
    const excessOf = sound.length === 0 ? NO_EXCESS : await this.#completeSound(sound)
    let next = 0
    return problems.map((problem) => {
      if (problem !== null) return notCompleted('invalid_request', problem)
      if (typeof excessOf === 'string') return notCompleted('backend_error', excessOf)
      const excess = excessOf.get(next++)
      return excess === undefined ? COMPLETED : { ...COMPLETED, excess }
    })
  }

  /** What was not booked, by the number of the request; or what went wrong. */
  async #completeSound(requests: readonly Sound[]): Promise<string | ExcessOf> {
    await this.#connection
    try {
      const context = await this.#context()
      await this.#comeBack(context)
      return await this.#completeInRedis(context, requests)
    } catch (error) {
      const local = this.#goLocal()
      for (const { leaseId, amounts } of requests) {
        local?.complete(leaseId, amounts, this.#serverNow())
      }
      return local === null ? noAnswer(error) : NO_EXCESS
    }
  }

  async #completeInRedis(
    context: ScriptContext,
    requests: readonly Sound[],
  ): Promise<string | ExcessOf> {
    const keys = keysIn(requests)
    for (const { leaseId } of requests) {
      for (const key of this.#holdings.keysOf(leaseId)) keys.add(key)
    }
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const call = { ...this.#memory, versions: this.#versions(keys), requests }
      const reply = await completeScript(context, call)
      if ('stale' in reply) await this.#join(context, reply.stale)
      else if ('missing' in reply) for (const key of reply.missing) keys.add(key)
      else {
        for (const { leaseId, amounts } of requests) {
          this.#holdings.completed(leaseId, amounts, reply.nowMs)
        }
        return reply.excess
      }
    }
    return TOO_CHANGEABLE.detail ?? ''
  }

  /** Learns of limits, makes those that Redis has lost, and tells it what is held of them. */
  async #join(
    context: ScriptContext,
    keys: readonly string[],
    made: LocalShare | null = null,
  ): Promise<readonly (Described | null)[]> {
    const report = made === null ? reportOf(this.#holdings.state()) : made.made()
    const joined = keys.map((key) => {
      const known = this.#known.get(key)
      const own = report.get(key)
      return {
        key,
        limit: known?.limit ?? null,
        version: known?.version ?? '',
        guardMs: known !== undefined && this.#hasGuard ? guardMsOf(known.limit) : 0,
        holds: own?.holds ?? [],
        takenMicro: own?.takenMicro ?? 0,
      }
    })
    const reporter = made?.id ?? this.#instance
    const names = { birth: newId(), reporter, isForced: made !== null }
    const limits: (Described | null)[] = []
    for (let i = 0; i < joined.length; i += LIMITS_AT_ONCE) {
      const told = await joinScript(context, joined.slice(i, i + LIMITS_AT_ONCE), names)
      for (const [j, described] of told.limits.entries()) {
        if (described !== null) this.#learn(described)
        // Somebody else has deleted it.
        else this.#unlearn(keys[i + j] as string)
        limits.push(described)
      }
    }
    return limits
  }

  /** Goes on with an equal share, where that is wanted; null where it is not. */
  #goLocal(): LocalShare | null {
    if (this.#instances === null) return null
    this.#local ??= new LocalShare(this.#holdings.state(), this.#instances)
    return this.#local
  }

  /** Before anything else Redis hears what was granted and completed while it was away (REDIS-6). */
  async #comeBack(context: ScriptContext): Promise<void> {
    const local = this.#local
    if (local === null) return
    const keys = [...this.#known.keys()]
    if (keys.length > 0) {
      await this.#join(context, keys)
      await this.#join(context, keys, local)
    }
    const completes = local.completes()
    for (let i = 0; i < completes.length; i += LIMIT_BATCH_MAX) {
      await this.#completeInRedis(context, completes.slice(i, i + LIMIT_BATCH_MAX))
    }
    if (this.#local === local) this.#local = null
  }

  /** The server's time, as far as it can be told without it. */
  #serverNow(): number {
    return this.#clock?.now() ?? systemClock.now() + this.#holdings.clockOffsetMs
  }

  #learn({ view: { limit }, version, countsFrom }: Described): void {
    const before = this.#known.get(limit.key)?.countsFrom ?? countsFrom
    this.#known.set(limit.key, { limit, version, countsFrom })
    this.#holdings.define(limit)
    if (countsFrom > before) this.#holdings.reset(limit.key)
  }

  #unlearn(key: string): void {
    this.#known.delete(key)
    this.#holdings.delete(key)
  }

  #versions(keys: Iterable<string>): Map<string, string> {
    const versions = new Map<string, string>()
    for (const key of keys) versions.set(key, this.#known.get(key)?.version ?? '')
    return versions
  }

  /** Connected, and with the limits that were given at the start defined. */
  async #context(): Promise<ScriptContext> {
    const { redis } = await this.#connection
    const context = { redis, keys: this.#keys, now: this.#clock?.now() ?? '' } as const
    if (this.#given.length > 0) {
      this.#defining ??= this.#defineGiven(context).finally(() => {
        this.#defining = null
      })
      await this.#defining
    }
    return context
  }

  async #defineGiven(context: ScriptContext): Promise<void> {
    while (this.#given.length > 0) {
      const some = this.#given.slice(0, LIMITS_AT_ONCE)
      for (const [i, one] of (await defineScript(context, some, newId())).entries()) {
        const key = some[i]?.key
        if (one === null)
          throw invalidParams('kind', `the kind that ${key} was defined with before`)
        this.#learn(one)
      }
      this.#given = this.#given.slice(LIMITS_AT_ONCE)
    }
  }
}

/** Where there is no answer to give, a Redis that is away is an error like a store that is (REDIS-5). */
async function answered<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask()
  } catch (cause) {
    if (cause instanceof FairleadError) throw cause
    throw new FairleadError(
      'StoreUnavailable',
      `${noAnswer(cause)}; whether a limit was changed is not known; try again`,
      { reason: 'redis' },
      { cause },
    )
  }
}

type ExcessOf = ReadonlyMap<number, readonly Excess[]>
const NO_EXCESS: ExcessOf = new Map()

interface Sound {
  readonly leaseId: string
  readonly amounts: ReturnType<typeof addUp>
}

function keysIn(requests: readonly Sound[]): Set<string> {
  const keys = new Set<string>()
  for (const { amounts } of requests) for (const { key } of amounts) keys.add(key)
  return keys
}

function checkExact(limit: Limit): Limit {
  if (limit.kind === 'bucket' && limit.burst > BURST_MAX) {
    throw invalidParams(
      'burst',
      `at most ${BURST_MAX} on Redis, where numbers are exact up to 2^53`,
    )
  }
  return limit
}
