import {
  type CompleteAnswer,
  type CompleteRequest,
  FairleadError,
  type Limit,
  type Limiter,
  type LimitView,
  type ReserveAnswer,
  type ReserveRequest,
} from '@fairlead/core'
import {
  checkLimitBatch,
  checkLimitRequest,
  LIMIT_BATCH_MAX,
  type LimitCall,
} from '@fairlead/core/internal'
import type { CompleteRecord, LimitRecord, ReserveRecord } from '@fairlead/protocol'
import {
  completeToWire,
  limitToWire,
  reserveAnswerOfWire,
  reserveToWire,
  viewOfWire,
} from '@fairlead/protocol/rpc'
import type { Rig } from './rig.ts'

interface Refusal {
  readonly error: string
  readonly detail: string
}

/** The limits of a server by its plain HTTP routes, as a client in another language would do it. */
export class HttpLimiter implements Limiter {
  readonly #rig: Rig

  constructor(rig: Rig) {
    this.#rig = rig
  }

  async define(limit: Limit): Promise<LimitView> {
    const body = await this.#ask<{ limit: LimitRecord }>(
      'PUT',
      '/v1/admin/limits',
      limitToWire(limit),
    )
    return viewOfWire(body.limit)
  }

  async reset(key: string): Promise<LimitView | null> {
    const { status, body } = await this.#rig.json('admin', 'POST', '/v1/admin/reset', { key })
    return status === 404 ? null : viewOfWire((body as { limit: LimitRecord }).limit)
  }

  async delete(key: string): Promise<boolean> {
    const path = `/v1/admin/limits/${encodeURIComponent(key)}`
    return (await this.#rig.json('admin', 'DELETE', path)).status === 200
  }

  async list(): Promise<LimitView[]> {
    const body = await this.#ask<{ limits: LimitRecord[] }>('GET', '/v1/admin/limits')
    return body.limits.map(viewOfWire)
  }

  async get(key: string): Promise<LimitView | null> {
    const path = `/v1/admin/limits/${encodeURIComponent(key)}`
    const { status, body } = await this.#rig.json('admin', 'GET', path)
    return status === 404 ? null : viewOfWire((body as { limit: LimitRecord }).limit)
  }

  async reserve(request: ReserveRequest): Promise<ReserveAnswer> {
    checkLimitRequest(request, 'reserve')
    const { status, body } = await this.#rig.json(
      'admin',
      'POST',
      '/v1/reserve',
      reserveToWire(request),
    )
    if (status === 200) return reserveAnswerOfWire(body as ReserveRecord)
    const refused = { allowed: false, retryAfterMs: 0, reservedAtUnixMs: null, deniedKey: null }
    return { ...refused, ...(body as Refusal) }
  }

  async complete(request: CompleteRequest): Promise<CompleteAnswer> {
    checkLimitRequest(request, 'complete')
    const { status, body } = await this.#rig.json(
      'admin',
      'POST',
      '/v1/complete',
      completeToWire(request),
    )
    return status === 200 ? (body as CompleteRecord) : { ok: false, ...(body as Refusal) }
  }

  async reserveMany(requests: readonly ReserveRequest[]): Promise<ReserveAnswer[]> {
    checkOwnPart(requests, 'reserve')
    const items = { requests: requests.map(reserveToWire) }
    const body = await this.#ask<{ results: ReserveRecord[] }>('POST', '/v1/reserve/batch', items)
    return body.results.map(reserveAnswerOfWire)
  }

  async completeMany(requests: readonly CompleteRequest[]): Promise<CompleteAnswer[]> {
    checkOwnPart(requests, 'complete')
    const items = { requests: requests.map(completeToWire) }
    const body = await this.#ask<{ results: CompleteRecord[] }>('POST', '/v1/complete/batch', items)
    return body.results
  }

  async close(): Promise<void> {}

  /** The answer; 400 is thrown. */
  async #ask<Body>(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<Body> {
    const answer = await this.#rig.json('admin', method, path, body)
    if (answer.status === 200) return answer.body as Body
    const { error, detail } = answer.body as Refusal
    throw new FairleadError(error === 'invalid_request' ? 'InvalidParams' : 'Internal', detail)
  }
}

/** What cannot be written as JSON; how many there may be is for the server to say. */
function checkOwnPart(requests: readonly unknown[], call: LimitCall): void {
  const count = Array.isArray(requests) ? requests.length : 1
  if (count > 0 && count <= LIMIT_BATCH_MAX) checkLimitBatch(requests, call)
}
