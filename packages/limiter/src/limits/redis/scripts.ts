import {
  capacityOf,
  type ExactInt,
  type Excess,
  exactInt,
  invariant,
  type Limit,
  type LimitView,
  type MeterState,
  type Requirement,
} from '@fairlead/core/limits'
import { LIMIT_SCRIPTS } from '../../lua-scripts.ts'
import type { Keys } from './keys.ts'
import type { RedisPort } from './redis-port.ts'
import { runScript } from './script.ts'

/** A typed wrapper for each script: what it takes as KEYS and ARGV, and what its numbers mean. */

/** What every call carries. */
export interface ScriptContext {
  readonly redis: RedisPort
  readonly keys: Keys
  /** A time given by a test, else '' for the server's own. */
  readonly now: number | ''
}

/** The limits of a call and the version of each as the caller knows it; '' is none. */
export type KnownVersions = ReadonlyMap<string, string>

/** Of reserve and complete. */
export interface BatchCall {
  readonly versions: KnownVersions
  readonly rememberMs: number
  readonly leasesMax: number
  readonly actualFactorMax: number
  readonly requests: readonly {
    readonly leaseId: string
    readonly amounts: readonly Requirement[]
  }[]
}

/** `stale` are limits that are not as the caller knows them; then nothing was done. */
export type Stale = { readonly stale: readonly string[] }

export const RESERVE_CODES = [
  'allowed',
  'denied',
  'decreasing',
  'finished',
  'denied before',
  'other requirements',
  'unknown',
  'exceeds',
] as const

export interface ReserveRow {
  readonly code: (typeof RESERVE_CODES)[number]
  /** When it was reserved, or how long to wait. */
  readonly value: number
  readonly key: string | null
}

/** reserve.lua */
export async function reserveScript(
  { redis, keys, now }: ScriptContext,
  call: BatchCall,
): Promise<Stale | { readonly nowMs: number; readonly rows: readonly ReserveRow[] }> {
  const limits = [...call.versions.keys()]
  const reply = (await runScript(
    redis,
    LIMIT_SCRIPTS.reserve,
    ...batchArgs(keys, now, call),
  )) as number[]
  if (reply[0] === -1) return { stale: named(limits, reply.slice(1)) }
  const nowMs = reply[0] as number
  const allowed: ReserveRow = { code: 'allowed', value: nowMs, key: null }
  const rows = call.requests.map(() => allowed)
  for (let at = 1; at < reply.length; at += 4) {
    const [which = 0, code = -1, value = 0, limit = 0] = reply.slice(at, at + 4)
    const name = RESERVE_CODES[code]
    invariant(name !== undefined, `reserve.lua gave the code ${code}`)
    rows[which - 1] = { code: name, value, key: limits[limit - 1] ?? null }
  }
  return { nowMs, rows }
}

/** complete.lua */
export async function completeScript(
  { redis, keys, now }: ScriptContext,
  call: BatchCall,
): Promise<
  | Stale
  | { readonly missing: readonly string[] }
  | { readonly nowMs: number; readonly excess: ReadonlyMap<number, readonly Excess[]> }
> {
  const limits = [...call.versions.keys()]
  const reply = (await runScript(redis, LIMIT_SCRIPTS.complete, ...batchArgs(keys, now, call))) as (
    | number
    | string
  )[]
  const [first, ...rest] = reply
  if (first === -1) return { stale: named(limits, rest as number[]) }
  if (first === -2) return { missing: rest.map((key) => keys.limitOf(String(key))) }
  const excess = new Map<number, Excess[]>()
  for (let i = 0; i < rest.length; i += 3) {
    const [request, limit, amount] = rest.slice(i, i + 3).map(Number) as [number, number, number]
    const beyond = { key: limits[limit - 1] as string, amount }
    excess.set(request - 1, [...(excess.get(request - 1) ?? []), beyond])
  }
  return { nowMs: Number(first), excess }
}

/** What Redis says of a limit. */
export interface Described {
  readonly version: string
  readonly view: LimitView
  /** Leases from before this hold nothing of it (LIMIT-20). */
  readonly countsFrom: number
}

/** reset.lua; null where there is no such limit, `deleted` where that was asked for. */
export async function resetScript(
  { redis, keys, now }: ScriptContext,
  key: string,
  isDelete: boolean,
): Promise<Described | 'deleted' | null> {
  const names = limitKeys(keys, [{ key }])
  const args = [now, key, isDelete ? 1 : 0]
  const [, row] = (await runScript(redis, LIMIT_SCRIPTS.reset, names, args)) as unknown[]
  return row === 1 ? 'deleted' : describedOf(row)
}

/** define.lua; null where the limit has another kind. */
export async function defineScript(
  { redis, keys, now }: ScriptContext,
  limits: readonly Limit[],
  birth: string,
): Promise<readonly (Described | null)[]> {
  const args = limits.flatMap((limit) => [limit.key, ...fieldsOf(limit)])
  const reply = await runScript(redis, LIMIT_SCRIPTS.define, limitKeys(keys, limits), [
    now,
    birth,
    ...args,
  ])
  return (reply as unknown[]).slice(1).map(describedOf)
}

/** What an instance knows of a limit and holds of it. */
export interface Joined {
  readonly key: string
  /** Made anew from this if Redis does not have it. */
  readonly limit: Limit | null
  readonly version: string
  readonly guardMs: number
  readonly holds: MeterState['holds']
  readonly takenMicro: ExactInt
}

/** join.lua; null where there is no such limit. */
export async function joinScript(
  { redis, keys, now }: ScriptContext,
  limits: readonly Joined[],
  names: { readonly birth: string; readonly reporter: string; readonly isForced: boolean },
): Promise<{ readonly nowMs: number; readonly limits: readonly (Described | null)[] }> {
  const args = limits.flatMap(({ key, limit, version, guardMs, holds, takenMicro }) => [
    key,
    ...(limit === null ? ['', 0, 0, 0, 0, 0] : fieldsOf(limit)),
    version,
    guardMs,
    String(takenMicro),
    holds.length,
    ...holds.flatMap(([end, amount]) => [end, String(amount)]),
  ])
  const reply = await runScript(redis, LIMIT_SCRIPTS.join, limitKeys(keys, limits), [
    now,
    names.birth,
    names.reporter,
    names.isForced ? 1 : 0,
    ...args,
  ])
  const [nowMs, ...rows] = reply as unknown[]
  return { nowMs: Number(nowMs), limits: rows.map(describedOf) }
}

function limitKeys(keys: Keys, limits: readonly { readonly key: string }[]): string[] {
  return [keys.index, ...limits.map(({ key }) => keys.limit(key))]
}

/**
 * KEYS: the limits, one lease a request, the index. ARGV: what all calls have, the versions, then for requests in a row with
 * the same amounts how many they are, the number of amounts, and of each the number of its limit and the amount. In a
 * batch many ask for the same, and each argument costs this process and Redis something.
 */
function batchArgs(
  keys: Keys,
  now: number | '',
  { versions, rememberMs, leasesMax, actualFactorMax, requests }: BatchCall,
): [names: string[], args: (string | number)[]] {
  const names: string[] = []
  const args: (string | number)[] = [now, rememberMs, leasesMax, actualFactorMax, versions.size]
  const numbers = new Map<string, number>()
  for (const [key, version] of versions) {
    names.push(keys.limit(key))
    args.push(version)
    numbers.set(key, names.length)
  }
  for (let i = 0, end = 0; i < requests.length; i = end) {
    const { amounts } = requests[i] as BatchCall['requests'][number]
    for (end = i; end < requests.length; end++) {
      const request = requests[end] as BatchCall['requests'][number]
      if (!areSame(request.amounts, amounts)) break
      names.push(keys.lease(request.leaseId))
    }
    args.push(end - i, amounts.length)
    for (const { key, amount } of amounts) args.push(numbers.get(key) ?? 0, amount)
  }
  names.push(keys.index)
  return [names, args]
}

function areSame(a: readonly Requirement[], b: readonly Requirement[]): boolean {
  if (a === b) return true
  return (
    a.length === b.length &&
    a.every(({ key, amount }, i) => key === b[i]?.key && amount === b[i]?.amount)
  )
}

/** As `limit-state.lua` counts them. */
const KIND_NUMBERS = { rolling: 1, fixed: 2, concurrency: 3, bucket: 4 } as const

/** JSON, kind, capacity or burst, window or timeout (ms), rate (thousandths), 1 for deny. */
function fieldsOf(limit: Limit): (string | number)[] {
  const windowMs = 1_000 * windowSecsOf(limit)
  const rate = limit.kind === 'bucket' ? Math.round(1_000 * limit.rate) : 0
  const deny = limit.overage === 'deny' ? 1 : 0
  return [JSON.stringify(limit), KIND_NUMBERS[limit.kind], capacityOf(limit), windowMs, rate, deny]
}

function windowSecsOf(limit: Limit): number {
  if (limit.kind === 'bucket') return Math.ceil(limit.burst / limit.rate)
  return limit.kind === 'concurrency' ? limit.timeoutSecs : limit.windowSecs
}

function describedOf(row: unknown): Described | null {
  if (!Array.isArray(row)) return null
  const [version, def, next, held, level, since] = row as string[]
  const limit = JSON.parse(def ?? '') as Limit
  const waiting = next === '' || next === undefined ? null : (JSON.parse(next) as Limit)
  const isBucket = limit.kind === 'bucket'
  const view: LimitView = {
    limit,
    state: waiting === null ? 'active' : 'decreasing',
    pendingDecreaseTo: waiting === null ? null : capacityOf(waiting),
    held: isBucket ? null : exactInt(BigInt(held ?? 0)),
    levelMicro: isBucket ? exactInt(BigInt(level ?? 0)) : null,
  }
  return { version: version ?? '', view, countsFrom: Number(since) }
}

function named(limits: readonly string[], numbers: readonly number[]): string[] {
  return numbers.map((n) => limits[n - 1] as string)
}
