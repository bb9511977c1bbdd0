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
  completeProblem,
  invalidParams,
  LIMIT_BATCH_MAX,
  notAllowed,
  notCompleted,
  reserveProblem,
  unknownReserve,
  wholeNumber,
} from '@fairlead/core/internal'
import type { MethodName, ParamsOf, ResultOf } from '@fairlead/protocol'
import {
  completeToWire,
  limitToWire,
  reserveAnswerOfWire,
  reserveToWire,
  viewOfWire,
} from '@fairlead/protocol/rpc'
import { Batcher } from './batcher.ts'
import { isRetryable } from './wire/lost.ts'

export interface RemoteLimiterOptions {
  /** Reserves, and completes, that go together at most; 128 if left out. */
  readonly maxBatch?: number
  /** How long the first of them waits for others; 2 ms if left out, 0: for those of the same turn. */
  readonly flushMs?: number
  /** How long an answer is waited for before the outcome is unknown; 5 s if left out. */
  readonly answerMs?: number
}

/** Calls of a client, as far as they are needed here. */
export interface LimitCalls {
  call<Name extends MethodName>(
    method: Name,
    params: ParamsOf<Name>,
    options?: { readonly timeoutMs?: number },
  ): Promise<ResultOf<Name>>
}

/**
 * The limits of a server. Reserves, and completes, that are made at about the same time go in one call. Where no
 * answer came, nobody knows whether the server has decided: that is told at once, as `backend_error`, and whoever
 * asked makes the same call again (REMOTE-2).
 */
export class RemoteLimiter implements Limiter {
  readonly #calls: LimitCalls
  readonly #answerMs: number
  readonly #close: () => Promise<void>
  readonly #reserves: Batcher<ReserveRequest, ReserveAnswer>
  readonly #completes: Batcher<CompleteRequest, CompleteAnswer>

  constructor(calls: LimitCalls, options: RemoteLimiterOptions, close: () => Promise<void>) {
    const { maxBatch = 128, flushMs = 2, answerMs = 5_000, ...unknown } = options
    for (const name of Object.keys(unknown)) {
      throw invalidParams(name, 'no such option; there are maxBatch, flushMs, answerMs')
    }
    wholeNumber('maxBatch', maxBatch, { min: 1, max: LIMIT_BATCH_MAX })
    wholeNumber('flushMs', flushMs, { min: 0, max: 1_000 })
    wholeNumber('answerMs', answerMs, { min: 1, max: 600_000 })
    this.#calls = calls
    this.#answerMs = answerMs
    this.#close = close
    this.#reserves = new Batcher((batch) => this.reserveMany(batch), { maxBatch, flushMs })
    this.#completes = new Batcher((batch) => this.completeMany(batch), { maxBatch, flushMs })
  }

  async define(limit: Limit): Promise<LimitView> {
    const defined = await this.#calls.call('limits.define', { limit: limitToWire(limit) })
    return viewOfWire(defined.limit)
  }

  async reset(key: string): Promise<LimitView | null> {
    const found = await known(() => this.#calls.call('limits.reset', { key }))
    return found === null ? null : viewOfWire(found.limit)
  }

  async delete(key: string): Promise<boolean> {
    return (await known(() => this.#calls.call('limits.delete', { key }))) !== null
  }

  async list(): Promise<LimitView[]> {
    const views: LimitView[] = []
    let cursor: string | null = null
    do {
      const page: ResultOf<'limits.list'> = await this.#calls.call('limits.list', {
        limit: 1_000,
        ...(cursor === null ? {} : { cursor }),
      })
      for (const record of page.limits) views.push(viewOfWire(record))
      cursor = page.cursor
    } while (cursor !== null)
    return views
  }

  async get(key: string): Promise<LimitView | null> {
    const found = await known(() => this.#calls.call('limits.get', { key }))
    return found === null ? null : viewOfWire(found.limit)
  }

  async reserve(request: ReserveRequest): Promise<ReserveAnswer> {
    // Before it is put together with those of others.
    checkLimitRequest(request, 'reserve')
    const problem = reserveProblem(request.leaseId, request.requirements)
    if (problem !== null) return notAllowed('invalid_request', { detail: problem })
    return this.#reserves.add(request)
  }

  async complete(request: CompleteRequest): Promise<CompleteAnswer> {
    checkLimitRequest(request, 'complete')
    const problem = completeProblem(request.leaseId, request.actuals ?? [])
    if (problem !== null) return notCompleted('invalid_request', problem)
    return this.#completes.add(request)
  }

  async reserveMany(requests: readonly ReserveRequest[]): Promise<ReserveAnswer[]> {
    checkLimitBatch(requests, 'reserve')
    const answer = await this.#known('limits.reserveMany', {
      requests: requests.map(reserveToWire),
    })
    if (typeof answer !== 'string') return answer.results.map(reserveAnswerOfWire)
    return requests.map(() => unknownReserve(answer))
  }

  async completeMany(requests: readonly CompleteRequest[]): Promise<CompleteAnswer[]> {
    checkLimitBatch(requests, 'complete')
    const answer = await this.#known('limits.completeMany', {
      requests: requests.map(completeToWire),
    })
    if (typeof answer !== 'string') return answer.results
    return requests.map(() => notCompleted('backend_error', answer))
  }

  /** Sends what waits to be sent; what is answered by then is answered. */
  async close(): Promise<void> {
    await Promise.all([this.#reserves.drain(), this.#completes.drain()])
    await this.#close()
  }

  /** The answer, or why there is none; a refusal for good is thrown. */
  async #known<Name extends 'limits.reserveMany' | 'limits.completeMany'>(
    method: Name,
    params: ParamsOf<Name>,
  ): Promise<ResultOf<Name> | string> {
    const { promise: late, end } = patience(this.#answerMs)
    try {
      // Not tried again in here: who asks may have had enough of it by then.
      return await Promise.race([this.#calls.call(method, params, { timeoutMs: 0 }), late])
    } catch (error) {
      if (isRetryable(error)) return error.message
      throw error
    } finally {
      end()
    }
  }
}

/** Null where there is no such limit. */
async function known<Result>(call: () => Promise<Result>): Promise<Result | null> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof FairleadError && error.code === 'NotFound') return null
    throw error
  }
}

function patience(ms: number): { readonly promise: Promise<string>; readonly end: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined
  const promise = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer within ${ms} ms`), ms)
  })
  return { promise, end: () => clearTimeout(timer) }
}
