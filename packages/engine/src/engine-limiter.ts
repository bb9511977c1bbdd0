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
  notCompleted,
  unknownReserve,
} from '@fairlead/core/internal'
import type { Acting } from './commands/command.ts'
import type { EngineLoop } from './loop/engine-loop.ts'

/**
 * The engine's own limits behind the `Limiter` port: in memory, durable with the state, and shared with the
 * reservations of the queue (ADMIT-1). An answer is given once it is stored.
 */
export class EngineLimiter implements Limiter {
  readonly #loop: EngineLoop

  constructor(loop: EngineLoop) {
    this.#loop = loop
  }

  define(limit: Limit, acting: Acting | null = null): Promise<LimitView> {
    const actor = acting?.actor
    return this.#loop.submit({ type: 'defineLimit', limit, actor }) as Promise<LimitView>
  }

  reset(key: string, acting: Acting | null = null): Promise<LimitView | null> {
    const actor = acting?.actor
    return this.#loop.submit({ type: 'resetLimit', key, actor }) as Promise<LimitView | null>
  }

  delete(key: string, acting: Acting | null = null): Promise<boolean> {
    const actor = acting?.actor
    return this.#loop.submit({ type: 'deleteLimit', key, actor }) as Promise<boolean>
  }

  list(): Promise<LimitView[]> {
    return this.#loop.submit({ type: 'listLimits', key: null }) as Promise<LimitView[]>
  }

  async get(key: string): Promise<LimitView | null> {
    const [view] = (await this.#loop.submit({ type: 'listLimits', key })) as LimitView[]
    return view ?? null
  }

  async reserve(request: ReserveRequest): Promise<ReserveAnswer> {
    checkLimitRequest(request, 'reserve')
    const [answer] = await this.#reserve([request])
    return answer as ReserveAnswer
  }

  async complete(request: CompleteRequest): Promise<CompleteAnswer> {
    checkLimitRequest(request, 'complete')
    const [answer] = await this.#complete([request])
    return answer as CompleteAnswer
  }

  async reserveMany(requests: readonly ReserveRequest[]): Promise<ReserveAnswer[]> {
    checkLimitBatch(requests, 'reserve')
    return this.#reserve(requests)
  }

  async completeMany(requests: readonly CompleteRequest[]): Promise<CompleteAnswer[]> {
    checkLimitBatch(requests, 'complete')
    return this.#complete(requests)
  }

  /** Does nothing: the limits belong to the engine and end with it. */
  async close(): Promise<void> {}

  async #reserve(requests: readonly ReserveRequest[]): Promise<ReserveAnswer[]> {
    try {
      return (await this.#loop.submit({ type: 'reserveLimits', requests })) as ReserveAnswer[]
    } catch (error) {
      const answer = unknownReserve(unknownOutcome(error))
      return requests.map(() => answer)
    }
  }

  async #complete(requests: readonly CompleteRequest[]): Promise<CompleteAnswer[]> {
    try {
      return (await this.#loop.submit({ type: 'completeLimits', requests })) as CompleteAnswer[]
    } catch (error) {
      const answer = notCompleted('backend_error', unknownOutcome(error))
      return requests.map(() => answer)
    }
  }
}

/** The message of the store. The write may have happened all the same; only a repeat of the call can tell. */
function unknownOutcome(error: unknown): string {
  if (error instanceof FairleadError && error.code === 'StoreUnavailable') return error.message
  throw error
}
