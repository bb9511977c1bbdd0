import type { JobEstimate, ModelLimits, PoolStart, Usage } from '@fairlead/core/limits'
import type { RedisPort } from '../../limits/redis/redis-port.ts'
import { runScript, type Script } from '../../limits/redis/script.ts'
import { POOL_SCRIPTS } from '../../lua-scripts.ts'
import { newId } from '../../new-id.ts'
import type { Allocation, Part } from '../pool-view.ts'

/** A typed wrapper for each script of a model's pool: what it takes as KEYS and ARGV, and what it answers. */

/** What every call carries. */
export interface PoolContext {
  readonly redis: RedisPort
  readonly keys: PoolKeys
  readonly instance: string
  /** What the caller knows. */
  readonly allocation: Allocation | null
  /** A time given by a test, else '' for the server's own. */
  readonly now: number | ''
}

export interface PoolReply {
  /** -1: the caller has to register first, and nothing was done. */
  readonly code: number
  readonly nowMs: number
  readonly version: number
  /** In how many ms the caller has to announce; 0: it does not. */
  readonly announceMs: number
  /** Of the last broadcast, if the caller did not know it. */
  readonly allocation: Allocation | null
}

export const NOT_A_MEMBER = -1

/** The names of what is kept of one model. They share one hash tag: a model is one slot of a cluster (SLOT-16). */
export class PoolKeys {
  readonly #tag: string

  constructor(name: string, model: string) {
    this.#tag = `{fairlead:${name}:${model}}`
  }

  /** The state, and the channel that its changes are told on. */
  get state(): string {
    return `${this.#tag}:pool`
  }

  of(instance: string): string[] {
    return [this.state, `${this.#tag}:instances`, `${this.#tag}:flight:${instance}`]
  }
}

/** acquire.lua; the code is how many of the references are started, from the first on. */
export function acquireScript(
  context: PoolContext,
  { estimate, refs }: { readonly estimate: JobEstimate; readonly refs: readonly string[] },
): Promise<PoolReply> {
  return run(context, POOL_SCRIPTS.acquire, [estimate.tokens, estimate.requests, ...refs])
}

/** release.lua */
export function releaseScript(
  context: PoolContext,
  ended: readonly { readonly ref: string; readonly actual: JobEstimate | null }[],
): Promise<PoolReply> {
  const args = ended.flatMap(({ ref, actual }) => [
    ref,
    actual?.tokens ?? -1,
    actual?.requests ?? -1,
  ])
  return run(context, POOL_SCRIPTS.release, args)
}

/** What was used, and in which windows. */
export interface WindowUsage {
  readonly minute: number
  readonly day: number
  readonly used: Usage
}

export interface Registration {
  readonly limits: ModelLimits
  /** Whether the limits take the place of those in force. */
  readonly isFirst: boolean
  readonly hasGuard: boolean
  /** Told to a Redis that has forgotten it. */
  readonly own: WindowUsage
  /** What was decided without Redis, under a name of its own. */
  readonly made: (WindowUsage & { readonly id: string }) | null
  readonly inFlight: readonly StartedRef[]
  /** Ended by now, and in flight as far as Redis knows. */
  readonly ended: readonly StartedRef[]
}

export type StartedRef = readonly [ref: string, start: PoolStart]

/** register.lua */
export function registerScript(
  context: PoolContext,
  { limits, isFirst, hasGuard, own, made, inFlight, ended }: Registration,
): Promise<PoolReply> {
  const { tpm, rpm, tpd, rpd, maxConcurrency } = limits
  return run(context, POOL_SCRIPTS.register, [
    newId(),
    ...[tpm, rpm, tpd, rpd, maxConcurrency].map((limit) => limit ?? -1),
    isFirst ? 1 : 0,
    hasGuard ? 1 : 0,
    ...usageArgs(own),
    made?.id ?? '',
    ...usageArgs(made ?? own),
    ended.length,
    ...inFlight.flatMap(startArgs),
    ...ended.flatMap(startArgs),
  ])
}

/** beat.lua; also gives those that have been silent for too long. */
export async function beatScript(
  context: PoolContext,
): Promise<PoolReply & { readonly silent: readonly string[] }> {
  const reply = await runRaw(context, POOL_SCRIPTS.beat, [])
  return { ...replyOf(reply), silent: reply.slice(5).map(String) }
}

/** drop.lua, for another that is silent or for oneself. */
export function dropScript(context: PoolContext, gone: string): Promise<PoolReply> {
  return run(context, POOL_SCRIPTS.drop, [gone, gone === context.instance ? 1 : 0], gone)
}

/** announce.lua */
export function announceScript(context: PoolContext): Promise<PoolReply> {
  return run(context, POOL_SCRIPTS.announce, [])
}

/** A message, as `pool-state.lua` writes it. */
export function readAllocation(text: string): Allocation {
  const { birth, version, instances, minute, day, ...parts } = JSON.parse(text) as {
    [dimension in keyof Allocation['parts']]: readonly [number, number, number] | null
  } & Omit<Allocation, 'parts'>
  const part = (dimension: keyof Allocation['parts']): Part | null => {
    const [limit, share, common] = parts[dimension] ?? [null, 0, 0]
    return limit === null ? null : { limit, share, common }
  }
  const rates = { tpm: part('tpm'), rpm: part('rpm'), tpd: part('tpd'), rpd: part('rpd') }
  return {
    ...{ birth, version, instances, minute, day },
    parts: { ...rates, concurrency: part('concurrency') },
  }
}

async function run(
  context: PoolContext,
  script: Script,
  args: readonly (string | number)[],
  instance = context.instance,
): Promise<PoolReply> {
  return replyOf(await runRaw(context, script, args, instance))
}

async function runRaw(
  { redis, keys, instance: caller, allocation, now }: PoolContext,
  script: Script,
  args: readonly (string | number)[],
  instance = caller,
): Promise<unknown[]> {
  const known = [allocation?.birth ?? '', allocation?.version ?? -1]
  const all = [now, caller, ...known, ...args]
  return (await runScript(redis, script, keys.of(instance), all)) as unknown[]
}

function replyOf([code, nowMs, version, announceMs, message]: readonly unknown[]): PoolReply {
  return {
    code: Number(code),
    nowMs: Number(nowMs ?? 0),
    version: Number(version ?? 0),
    announceMs: Number(announceMs ?? 0),
    allocation: typeof message === 'string' && message !== '' ? readAllocation(message) : null,
  }
}

function usageArgs({ minute, day, used }: WindowUsage): number[] {
  return [minute, used.tpm, used.rpm, day, used.tpd, used.rpd]
}

function startArgs([ref, { estimate, minute, day }]: StartedRef): (string | number)[] {
  return [ref, estimate.tokens, estimate.requests, minute, day]
}
