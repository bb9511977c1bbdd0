import {
  FairleadError,
  type LeaseFailure,
  type LeaseId,
  type LeaseListener,
  type LeaseProgress,
  type LeaseResult,
  type LeaseSession,
  type LeaseSource,
  type LeaseTimes,
  type ProviderId,
  type ProviderOffer,
  type WorkerHello,
  type WorkerId,
} from '@fairlead/core'
import { checkHello } from '../commands/check-arguments.ts'
import type { Engine } from '../engine.ts'
import type { EngineLoop } from '../loop/engine-loop.ts'
import type { Connections } from './connections.ts'

interface Parts {
  readonly engine: Engine
  readonly loop: EngineLoop
  readonly connections: Connections
}

/** Leases of the engine for workers in its own process. */
export class EngineLeaseSource implements LeaseSource {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async open(hello: WorkerHello, listener: LeaseListener): Promise<LeaseSession> {
    const { loop, connections } = this.#parts
    checkHello(hello, listener)
    const { providerId, workerId, slots, holds, offer } = hello
    if (offer !== undefined) {
      await this.#introduce(providerId, {
        capabilities: new Set(offer.kinds),
        models: new Set(offer.models),
        platforms: new Set(offer.platforms ?? []),
      })
    }
    // Before the command, because the batch that connects the worker may already have leases for it.
    const number = connections.put(providerId, workerId, listener)
    const session = new EngineSession(this.#parts, { providerId, workerId, listener })
    try {
      const worker = { providerId, workerId, session: number }
      await loop.submit({ type: 'connectWorker', ...worker, slots, holds })
    } catch (error) {
      // Perhaps only the answer was lost, and the store has the worker as connected.
      await session.close().catch(() => undefined)
      throw error
    }
    return session
  }

  /** Registers the provider, or updates its offer. */
  async #introduce(
    providerId: ProviderId,
    offer: Pick<ProviderOffer, 'capabilities' | 'models' | 'platforms'>,
  ): Promise<void> {
    const { engine } = this.#parts
    try {
      await engine.registerProvider(providerId, offer)
    } catch (error) {
      const isKnown = error instanceof FairleadError && error.code === 'InvalidState'
      if (!isKnown) throw error
      await engine.updateProvider(providerId, offer)
    }
  }
}

/** One connection of one worker. Once it is over, its calls are rejected, and `close` does nothing. */
class EngineSession implements LeaseSession {
  readonly #parts: Parts
  readonly #providerId: ProviderId
  readonly #workerId: WorkerId
  readonly #listener: LeaseListener

  constructor(
    parts: Parts,
    own: {
      readonly providerId: ProviderId
      readonly workerId: WorkerId
      readonly listener: LeaseListener
    },
  ) {
    this.#parts = parts
    this.#providerId = own.providerId
    this.#workerId = own.workerId
    this.#listener = own.listener
  }

  ack(leaseId: LeaseId): Promise<void> {
    return this.#isOpen() ? this.#engine.ack(this.#holder(leaseId)) : over()
  }

  progress(leaseId: LeaseId, progress: LeaseProgress): Promise<void> {
    if (!this.#isOpen()) return over()
    return this.#engine.progress.report({ ...progress, ...this.#holder(leaseId) })
  }

  renew(leaseId: LeaseId): Promise<LeaseTimes> {
    return this.#isOpen() ? this.#engine.renew(this.#holder(leaseId)) : over()
  }

  decline(leaseId: LeaseId): Promise<void> {
    return this.#isOpen() ? this.#engine.decline(this.#holder(leaseId)) : over()
  }

  release(leaseId: LeaseId): Promise<void> {
    return this.#isOpen() ? this.#engine.release(this.#holder(leaseId)) : over()
  }

  complete(leaseId: LeaseId, result: LeaseResult): Promise<void> {
    if (!this.#isOpen()) return over()
    const { digest, output, contentType, meta, actualUnits, actualTokens } = result
    // One literal: this runs for every job, and a spread costs more than the rest of the call.
    return this.#engine.complete({
      leaseId,
      by: this.#providerId,
      workerId: this.#workerId,
      digest,
      output,
      contentType,
      meta,
      actualUnits,
      actualTokens,
    })
  }

  fail(leaseId: LeaseId, failure: LeaseFailure): Promise<void> {
    if (!this.#isOpen()) return over()
    return this.#engine.fail({ ...failure, ...this.#holder(leaseId) })
  }

  async setSlots(slots: number): Promise<void> {
    if (!this.#isOpen()) return over()
    const worker = { providerId: this.#providerId, workerId: this.#workerId }
    await this.#parts.loop.submit({ type: 'setWorkerSlots', ...worker, slots })
  }

  heartbeat(): Promise<void> {
    return this.#isOpen() ? this.#engine.heartbeat(this.#providerId) : over()
  }

  async close(): Promise<void> {
    if (!this.#isOpen()) return
    const { loop, connections } = this.#parts
    const worker = { providerId: this.#providerId, workerId: this.#workerId }
    connections.remove(worker.providerId, worker.workerId)
    await loop.submit({ type: 'disconnectWorker', ...worker })
  }

  get #engine(): Engine {
    return this.#parts.engine
  }

  #isOpen(): boolean {
    return this.#parts.connections.isCurrent(this.#providerId, this.#workerId, this.#listener)
  }

  #holder(leaseId: LeaseId): { leaseId: LeaseId; by: ProviderId; workerId: WorkerId } {
    return { leaseId, by: this.#providerId, workerId: this.#workerId }
  }
}

/** Retryable: the same call on the worker's next session may succeed. */
function over(): Promise<never> {
  return Promise.reject(
    new FairleadError('StoreUnavailable', 'this session is over; call on the next one'),
  )
}
