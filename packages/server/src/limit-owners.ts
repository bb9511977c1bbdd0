import { createHash } from 'node:crypto'
import {
  type CompleteRequest,
  FairleadError,
  type Limit,
  type Limiter,
  type ReserveAnswer,
  type ReserveRequest,
} from '@fairlead/core'
import { isLimitKey, notAllowed, type Requirement } from '@fairlead/core/internal'
import type { EngineView } from '@fairlead/engine'
import { type Call, ownCaller } from './rpc/call.ts'

const PLACEHOLDER = '{caller}'
const CALLER_ID = /0x[0-9a-f]{64}/g
/** How long a definition of a limiter elsewhere is taken as it was read. */
const READ_MS = 1_000
const READ_MAX = 10_000

/**
 * Whose a limit is, and whose a lease id (LIMIT-21, LIMIT-22). Limits themselves know nothing of callers: what is
 * foreign is kept from them here, and answered as what is unknown.
 */
export class LimitOwners {
  readonly #view: EngineView
  readonly #limiter: Limiter
  /** Null where the engine has all definitions. */
  readonly #read: Map<string, { readonly limit: Limit | null; readonly until: number }> | null

  constructor(view: EngineView, limiter: Limiter, isElsewhere: boolean) {
    this.#view = view
    this.#limiter = limiter
    this.#read = isElsewhere ? new Map() : null
  }

  /** True if limits are counted in a limiter elsewhere. */
  get isElsewhere(): boolean {
    return this.#read !== null
  }

  keyFor(call: Call, key: string): string {
    return key.includes(PLACEHOLDER) ? key.replaceAll(PLACEHOLDER, ownCaller(call)) : key
  }

  reserveFor(call: Call, { leaseId, requirements }: ReserveRequest): ReserveRequest {
    return { leaseId: ownLeaseId(call, leaseId), requirements: this.#own(call, requirements) }
  }

  completeFor(call: Call, { leaseId, actuals = [] }: CompleteRequest): CompleteRequest {
    return { leaseId: ownLeaseId(call, leaseId), actuals: this.#own(call, actuals) }
  }

  /** Why a caller may not ask for these; null if it may. */
  async refusal(call: Call, requirements: readonly Requirement[]): Promise<ReserveAnswer | null> {
    for (const { key } of requirements) {
      if (await this.isOpenTo(call, key)) continue
      return notAllowed(`unknown_limit_key:${key}`, { deniedKey: key })
    }
    return null
  }

  /** Whether a caller may reserve on a limit. One by a pattern is made when its caller first asks for it. */
  async isOpenTo(call: Call, key: string): Promise<boolean> {
    const { role, subject } = call.identity
    const limit = (await this.#definition(key)) ?? (await this.#byPattern(call, key))
    if (role !== 'requester' && role !== 'provider') return true
    if (limit?.callers !== undefined) return limit.callers.includes(subject)
    const named = key.match(CALLER_ID)
    return named === null || named.includes(ownCaller(call))
  }

  /** Of a definition that was changed: what follows a pattern changes with it. */
  async changed(limit: Limit): Promise<void> {
    this.forget()
    if (!limit.key.includes(PLACEHOLDER)) return
    for (const { limit: one } of await this.#limiter.list()) {
      const isOfPattern = one.key !== limit.key && patternOf(one.key) === limit.key
      if (isOfPattern) await this.#limiter.define({ ...limit, key: one.key })
    }
  }

  /** A definition has gone, or may have. */
  forget(): void {
    this.#read?.clear()
  }

  #own(call: Call, amounts: readonly Requirement[]): readonly Requirement[] {
    const isOwn = ({ key }: Requirement): boolean => !key.includes(PLACEHOLDER)
    if (amounts.every(isOwn)) return amounts
    return amounts.map(({ key, amount }) => ({ key: this.keyFor(call, key), amount }))
  }

  async #byPattern(call: Call, key: string): Promise<Limit | null> {
    const pattern = key.replaceAll(ownCaller(call), PLACEHOLDER)
    if (pattern === key || !isLimitKey(key)) return null
    const limit = await this.#definition(pattern)
    if (limit === null) return null
    const actor = `token:${call.identity.tokenId}`
    await this.#limiter.define({ ...limit, key }, { actor })
    return limit
  }

  async #definition(key: string): Promise<Limit | null> {
    const read = this.#read
    if (read === null) return this.#view.limit(key)
    const known = read.get(key)
    if (known !== undefined && performance.now() < known.until) return known.limit
    const limit = await this.#elsewhere(key)
    if (read.size >= READ_MAX) read.clear()
    if (limit !== null) read.set(key, { limit, until: performance.now() + READ_MS })
    return limit
  }

  /** While the limiter is away the engine's own definitions count: they are the same (HTTP-5). */
  async #elsewhere(key: string): Promise<Limit | null> {
    try {
      return (await this.#limiter.get(key))?.limit ?? null
    } catch (error) {
      if (error instanceof FairleadError && error.code === 'StoreUnavailable') {
        return this.#view.limit(key)
      }
      throw error
    }
  }
}

function patternOf(key: string): string {
  return key.replaceAll(CALLER_ID, PLACEHOLDER)
}

/** Of a fixed length, so that an id of the greatest length has room; nobody can make that of another subject. */
function ownLeaseId({ identity: { subject } }: Call, leaseId: string): string {
  return createHash('sha256')
    .update(JSON.stringify([subject, leaseId]))
    .digest('base64url')
}
