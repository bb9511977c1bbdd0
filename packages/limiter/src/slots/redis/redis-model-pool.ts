import {
  FairleadError,
  type JobEstimate,
  type ModelLimits,
  type PoolStart,
  SharedUsage,
  type Usage,
} from '@fairlead/core/limits'
import { noAnswer, type RedisConnection } from '../../limits/redis/redis-port.ts'
import { newId } from '../../new-id.ts'
import { type Allocation, limitsOf, type PoolView, wholeAllocation } from '../pool-view.ts'
import {
  acquireScript,
  announceScript,
  beatScript,
  dropScript,
  NOT_A_MEMBER,
  type PoolContext,
  type PoolKeys,
  type PoolReply,
  registerScript,
  releaseScript,
  type StartedRef,
  type WindowUsage,
} from './pool-scripts.ts'
import type { ServerClock } from './server-clock.ts'

export interface RedisModelPoolOptions {
  readonly connection: Promise<RedisConnection>
  readonly keys: PoolKeys
  readonly instance: string
  readonly limits: ModelLimits
  readonly view: PoolView
  readonly clock: ServerClock
  /** A time given by a test, else ''. */
  readonly now: () => number | ''
  readonly newRef: () => string
  readonly hasGuard: boolean
  /** Among how many the model is divided while Redis is away; null: nothing starts then. */
  readonly instances: number | null
  readonly onChange: () => void
}

/** A job that has ended and that Redis has not heard of yet; without a start it may not know the job at all. */
interface Ended {
  readonly start: PoolStart | null
  readonly actual: JobEstimate | null
}

/** What was decided without Redis. */
interface Local {
  readonly id: string
  readonly made: SharedUsage
}

/** How often a call is made again because the instance had to register first. */
const TRIES_MAX = 5
const RETRY_MS = 100
const RELEASES_MAX = 100
/** Beyond this only ends that Redis needs are kept for it. */
const ENDED_MAX = 10_000
const NO_USE: JobEstimate = { tokens: 0, requests: 0 }
const NO_LIMITS: ModelLimits = { tpm: null, rpm: null, tpd: null, rpd: null, maxConcurrency: null }

/**
 * One model as this instance shares it through Redis. Every decision is a script's; the instance keeps what it
 * has itself started and used, to tell a Redis that has forgotten it, or dropped this instance meanwhile.
 */
export class RedisModelPool {
  readonly view: PoolView
  readonly #options: RedisModelPoolOptions
  readonly #own = new SharedUsage(NO_LIMITS)
  readonly #ended = new Map<string, Ended>()
  /** References of calls whose answer was lost, by their estimate; they are used again before new ones. */
  readonly #unsure = new Map<string, string[]>()
  #wasRegistered = false
  #isRegistered = false
  #registering: Promise<void> | null = null
  #isTelling = false
  #isGone = false
  #local: Local | null = null
  #cancelAnnounce: (() => void) | null = null
  #cancelRetry: (() => void) | null = null

  constructor(options: RedisModelPoolOptions) {
    this.#options = options
    this.view = options.view
  }

  get channel(): string {
    return this.#options.keys.state
  }

  own(): { readonly used: Usage; readonly inFlight: number } {
    return { used: this.#own.used(this.#now()), inFlight: this.#own.inFlight }
  }

  hear(allocation: Allocation): void {
    if (this.view.learn(allocation)) this.#options.onChange()
  }

  async join(): Promise<void> {
    try {
      await this.#register(await this.#context())
    } catch (error) {
      await this.#options.connection
      if (this.#goLocal() === null) throw away(error)
    }
  }

  async acquire(estimate: JobEstimate, count: number): Promise<readonly string[]> {
    const unsure = this.#unsureOf(estimate)
    const refs = unsure.splice(0, count)
    while (refs.length < count) refs.push(this.#options.newRef())
    try {
      const reply = await this.#asMember((context) => acquireScript(context, { estimate, refs }))
      // Whatever else was asked for before the answer was lost is not wanted any more.
      for (const ref of unsure.splice(0)) this.#end(ref, { start: null, actual: NO_USE })
      const started = refs.slice(0, reply.code)
      for (const ref of started) this.#count(this.#own, ref, estimate, reply)
      return started
    } catch (error) {
      await this.#options.connection
      unsure.push(...refs)
      const local = this.#goLocal()
      if (local === null) throw away(error)
      return this.#acquireLocally(local, estimate, count)
    }
  }

  release(ref: string, actual: JobEstimate | null): JobEstimate {
    const isMade = this.#local?.made.start(ref) !== undefined
    const start = isMade ? null : (this.#own.start(ref) ?? null)
    this.#local?.made.release(ref, actual, this.#now())
    const { overage } = this.#own.release(ref, actual, this.#now())
    this.#end(ref, { start, actual })
    return overage
  }

  /** A sign of life; and whoever has given none for too long is dropped (SLOT-14). */
  async beat(): Promise<void> {
    try {
      const { silent } = await this.#asMember(beatScript, true)
      const context = await this.#context()
      for (const gone of silent) this.#heard(await dropScript(context, gone), false)
    } catch {
      // The next one may get through; until then calls fail, or are decided here.
    }
  }

  async leave(): Promise<void> {
    this.#isGone = true
    this.#cancelAnnounce?.()
    this.#cancelRetry?.()
    try {
      await this.#tell()
      if (this.#isRegistered) await dropScript(await this.#context(), this.#options.instance)
    } catch {
      // It will be dropped.
    }
  }

  #acquireLocally(local: Local, estimate: JobEstimate, count: number): string[] {
    const refs: string[] = []
    while (refs.length < count) {
      const ref = this.#options.newRef()
      const nowMs = this.#now()
      if (!this.#own.acquire(ref, estimate, nowMs).allowed) break
      // Of no version yet: Redis hears of it when this instance registers again.
      this.#count(local.made, ref, estimate, { nowMs, version: Number.MAX_SAFE_INTEGER })
      refs.push(ref)
    }
    return refs
  }

  #count(
    usage: SharedUsage,
    ref: string,
    estimate: JobEstimate,
    { nowMs, version }: Pick<PoolReply, 'nowMs' | 'version'>,
  ): void {
    usage.acquire(ref, estimate, nowMs)
    const start = usage.start(ref)
    if (start !== undefined) this.view.started(start, version)
  }

  #end(ref: string, ended: Ended): void {
    if (ended.start !== null || this.#ended.size < ENDED_MAX) this.#ended.set(ref, ended)
    void this.#tell().catch(() => this.#tellLater())
  }

  /** Tells Redis of jobs that have ended, one call at a time, in order. */
  async #tell(): Promise<void> {
    if (this.#isTelling) return
    this.#isTelling = true
    try {
      while (this.#ended.size > 0) {
        const batch = [...this.#ended].slice(0, RELEASES_MAX)
        const ended = batch.map(([ref, { actual }]) => ({ ref, actual }))
        await this.#asMember((context) => releaseScript(context, ended))
        for (const [ref] of batch) this.#ended.delete(ref)
        this.#options.onChange()
      }
    } finally {
      this.#isTelling = false
    }
  }

  #tellLater(): void {
    if (this.#isGone) return
    const { clock } = this.#options
    this.#cancelRetry ??= clock.wakeAt(clock.now() + RETRY_MS, () => {
      this.#cancelRetry = null
      void this.#tell().catch(() => this.#tellLater())
    })
  }

  /** Makes a call as one that is registered, registering first where Redis does not know this instance. */
  async #asMember<R extends PoolReply>(
    call: (context: PoolContext) => Promise<R>,
    isRegular = false,
  ): Promise<R> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      await this.#register(await this.#context())
      const reply = await call(await this.#context())
      // A state that is older than what is known has lost its last writes: what it says now counts.
      if (reply.version < (this.view.allocation?.version ?? 0)) this.#isRegistered = false
      if (reply.code !== NOT_A_MEMBER) {
        this.#heard(reply, isRegular)
        return reply
      }
      this.#isRegistered = false
    }
    throw new FairleadError('RateLimited', 'this instance was dropped again and again', {})
  }

  async #register(context: PoolContext): Promise<void> {
    if (this.#isRegistered) return
    this.#registering ??= this.#registerNow(context).finally(() => {
      this.#registering = null
    })
    await this.#registering
  }

  async #registerNow(context: PoolContext): Promise<void> {
    const local = this.#local
    const { allocation } = this.view
    const isFirst = !this.#wasRegistered
    const reply = await registerScript(context, {
      limits: isFirst || allocation === null ? this.#options.limits : limitsOf(allocation),
      isFirst,
      hasGuard: this.#options.hasGuard,
      own: this.#usageOf(this.#own),
      made: local === null ? null : { id: local.id, ...this.#usageOf(local.made) },
      inFlight: [...this.#own.starts()],
      ended: [...this.#ended].flatMap(([ref, { start }]): StartedRef[] =>
        start === null ? [] : [[ref, start]],
      ),
    })
    this.#isRegistered = true
    this.#wasRegistered = true
    if (this.#local === local) this.#local = null
    if (this.#local === null) this.#own.changeLimits(NO_LIMITS)
    if (reply.allocation !== null) this.view.adopt(reply.allocation)
    this.#heard(reply, true)
    this.#options.onChange()
  }

  #heard({ code, nowMs, allocation, announceMs }: PoolReply, isRegular: boolean): void {
    if (code === NOT_A_MEMBER) return
    this.#options.clock.heard(nowMs, isRegular)
    if (announceMs > 0) this.#announceIn(announceMs)
    if (allocation !== null) this.hear(allocation)
  }

  /** This call was the first to change something since the last broadcast: it also sees to the next. */
  #announceIn(ms: number): void {
    if (this.#isGone) return
    const { clock } = this.#options
    this.#cancelAnnounce?.()
    this.#cancelAnnounce = clock.wakeAt(clock.now() + ms, () => {
      this.#cancelAnnounce = null
      void this.#announce()
    })
  }

  async #announce(): Promise<void> {
    try {
      this.#heard(await announceScript(await this.#context()), false)
    } catch {
      // Whoever calls next finds it overdue.
    }
  }

  /** Goes on with an equal share, where that is wanted; null where it is not (REDIS-6). */
  #goLocal(): Local | null {
    const { instances, limits: given } = this.#options
    if (instances === null) return null
    if (this.#local !== null) return this.#local
    const { allocation } = this.view
    const limits = allocation === null ? given : limitsOf(allocation)
    if (allocation === null) {
      this.view.learn(wholeAllocation(limits, { birth: '', version: 0, instances }))
    }
    this.#own.changeLimits(dividedBy(limits, instances))
    this.#isRegistered = false
    this.#local = { id: newId(), made: new SharedUsage(NO_LIMITS) }
    return this.#local
  }

  async #context(): Promise<PoolContext> {
    const { connection, keys, instance, now } = this.#options
    const { redis } = await connection
    return { redis, keys, instance, allocation: this.view.allocation, now: now() }
  }

  #usageOf(usage: SharedUsage): WindowUsage {
    const now = this.#now()
    return { ...usage.windows(now), used: usage.used(now) }
  }

  #unsureOf({ tokens, requests }: JobEstimate): string[] {
    const key = `${tokens} ${requests}`
    const known = this.#unsure.get(key)
    if (known !== undefined) return known
    const none: string[] = []
    this.#unsure.set(key, none)
    return none
  }

  #now(): number {
    return this.#options.clock.now()
  }
}

function away(cause: unknown): unknown {
  if (cause instanceof FairleadError) return cause
  return new FairleadError('StoreUnavailable', noAnswer(cause), { reason: 'redis' }, { cause })
}

function dividedBy(limits: ModelLimits, instances: number): ModelLimits {
  const part = (limit: number | null): number | null =>
    limit === null ? null : Math.floor(limit / instances)
  const { tpm, rpm, tpd, rpd, maxConcurrency } = limits
  return {
    tpm: part(tpm),
    rpm: part(rpm),
    tpd: part(tpd),
    rpd: part(rpd),
    maxConcurrency: part(maxConcurrency),
  }
}
