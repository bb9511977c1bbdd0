import type {
  LeaseId,
  LeaseListener,
  LeaseOffer,
  LeaseSession,
  LeaseTimes,
  ProviderId,
  WorkerHello,
  WorkerId,
} from '@fairlead/core'
import type { Engine } from '@fairlead/engine'
import type { Witness } from '../checks/witness.ts'
import { broken } from '../violation.ts'

/** What a worker process wants to know of its connection. */
export interface WorkerEars {
  offered(offer: LeaseOffer): void
  held(leases: readonly LeaseId[]): void
  lost(leaseId: LeaseId): void
}

/** Looks at something without letting what it throws get to the engine. */
export type Watch = (look: () => void) => void

/**
 * One connection of a worker to an engine: the one place that knows how the two are tied. It remembers
 * what the worker was told on it, whatever the worker makes of that.
 */
export class WorkerLink implements LeaseListener {
  readonly providerId: ProviderId
  readonly workerId: WorkerId
  /** The leases that its worker has been told of. */
  readonly told = new Set<LeaseId>()
  readonly #witness: Witness
  readonly #watch: Watch
  readonly #ears: WorkerEars
  #session: LeaseSession | null = null
  #isOver = false
  #isWelcome = false

  constructor(options: {
    readonly providerId: ProviderId
    readonly workerId: WorkerId
    readonly witness: Witness
    readonly watch: Watch
    readonly ears: WorkerEars
  }) {
    this.providerId = options.providerId
    this.workerId = options.workerId
    this.#witness = options.witness
    this.#watch = options.watch
    this.#ears = options.ears
  }

  /** Null until it is open, and once it is over. */
  get session(): LeaseSession | null {
    return this.#isOver ? null : this.#session
  }

  get isOver(): boolean {
    return this.#isOver
  }

  async open(engine: Engine, terms: Pick<WorkerHello, 'slots' | 'holds'>): Promise<void> {
    const { providerId, workerId } = this
    try {
      this.#session = await engine.leaseSource().open({ ...terms, providerId, workerId }, this)
    } catch (error) {
      this.#isOver = true
      throw error
    }
  }

  /** The connection is cut, or its engine gone: nothing comes through any more. */
  cut(): Promise<void> {
    const { session } = this
    this.#isOver = true
    return session === null ? Promise.resolve() : session.close()
  }

  /** Its engine is gone. */
  die(): void {
    this.#isOver = true
  }

  offer(offer: LeaseOffer): void {
    if (this.#isOver) return
    this.#refuseEarly(offer.leaseId)
    this.#watch(() => this.#witness.offered(offer, this))
    this.told.add(offer.leaseId)
    this.#ears.offered(offer)
  }

  held(leases: readonly LeaseTimes[]): void {
    if (this.#isOver) return
    this.#isWelcome = true
    this.#watch(() => this.#witness.held(leases, this))
    this.told.clear()
    for (const { leaseId } of leases) this.told.add(leaseId)
    this.#ears.held([...this.told])
  }

  lost(leaseId: LeaseId): void {
    if (this.#isOver) return
    this.#refuseEarly(leaseId)
    this.#watch(() => this.#witness.lost(leaseId))
    this.told.delete(leaseId)
    this.#ears.lost(leaseId)
  }

  closed(): void {
    this.#isOver = true
  }

  /** The first that a session hears is what it goes on with (WORKER-5). */
  #refuseEarly(leaseId: LeaseId): void {
    if (this.#isWelcome) return
    this.#watch(() =>
      broken('offers', `${this.workerId} heard of ${leaseId} before what it goes on with`),
    )
  }
}
