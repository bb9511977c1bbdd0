import {
  type Caller,
  callerOf,
  type JobId,
  type LeaseId,
  type LeaseOffer,
  type ProviderId,
  type Store,
} from '@fairlead/core'
import { type Engine, openEngine, Replica, recoverState } from '@fairlead/engine'
import { MemoryStore, TestClock } from '@fairlead/testkit'
import { type HeldAppend, HeldStore } from './held-store.ts'
import { ManualWorker } from './manual-worker.ts'

export const START = 1_760_000_000_000
export const ATLAS = 'provider:atlas' as ProviderId
export const ACME: Caller = callerOf('acme')
export const DIGEST = `0x${'d'.repeat(64)}`
export const OFFER = { capabilities: new Set(['task'] as const), models: new Set(['*']) }

/** How a call ends: `pending` until then, `ok`, or the code of its error. */
export class Call<Value> {
  outcome = 'pending'
  value: Value | undefined
  readonly done: Promise<string>

  constructor(promise: Promise<Value>) {
    this.done = promise.then(
      (value) => {
        this.value = value
        return this.#end('ok')
      },
      (error: { readonly code?: string }) => this.#end(error.code ?? String(error)),
    )
  }

  #end(outcome: string): string {
    this.outcome = outcome
    return outcome
  }
}

export function outcomesOf(calls: readonly Call<unknown>[]): Promise<string[]> {
  return Promise.all(calls.map(({ done }) => done))
}

/** An engine on a store and a clock that both wait for the test. */
export class Rig {
  store: HeldStore
  readonly clock: TestClock
  engine: Engine

  /** The store under the one that waits. */
  readonly inner: Store

  private constructor(inner: Store, store: HeldStore, clock: TestClock, engine: Engine) {
    this.inner = inner
    this.store = store
    this.clock = clock
    this.engine = engine
  }

  /** With a provider, whose workers the test connects. */
  static async open(inner: Store = new MemoryStore()): Promise<Rig> {
    const store = new HeldStore(inner)
    const clock = new TestClock(START)
    const rig = new Rig(inner, store, clock, await openEngine({ store, clock }))
    await rig.engine.registerProvider(ATLAS, OFFER)
    return rig
  }

  /** Closes the engine, and opens it so much later. */
  async restart(downMs: number): Promise<void> {
    await this.engine.close()
    await this.clock.advance(downMs)
    this.store = new HeldStore(this.inner)
    this.engine = await openEngine({ store: this.store, clock: this.clock })
    await this.clock.settle()
  }

  /** The process dies at this point, and the next one starts so much later. What is under way is lost. */
  async crash(downMs = 0): Promise<void> {
    this.store.die()
    await this.clock.advance(downMs)
    this.store = new HeldStore(this.inner)
    this.engine = await openEngine({ store: this.store, clock: this.clock })
    await this.clock.settle()
  }

  async close(): Promise<void> {
    this.store.isFull = false
    this.store.areTablesFull = false
    this.store.isUnloadable = false
    this.store.letRowsGo()
    await this.store.letGo()
    await this.engine.close()
  }

  connect(
    id = 'w-1',
    given: { readonly slots?: number; readonly holds?: readonly LeaseId[] | null } = {},
  ): Promise<ManualWorker> {
    return ManualWorker.connect(this.engine, ATLAS, { id, ...given })
  }

  /** A task under a key. */
  enqueue(key: string, args: object = {}): Call<JobId> {
    const request = { kind: 'task', payload: { name: 'resize', args }, idempotency_key: key }
    return new Call(this.engine.enqueue(request, { caller: ACME }))
  }

  /** One that was offered to this worker. */
  async offered(key: string, worker: ManualWorker): Promise<LeaseOffer> {
    await this.enqueue(key).done
    await this.clock.settle()
    return worker.offered
  }

  ack({ leaseId }: LeaseOffer, by = ATLAS): Call<void> {
    return new Call(this.engine.ack({ leaseId, by }))
  }

  complete({ leaseId }: LeaseOffer, digest = DIGEST): Call<void> {
    return new Call(this.engine.complete({ leaseId, by: ATLAS, digest }))
  }

  cancel(jobId: JobId, by: Caller | 'operator' = ACME): Call<void> {
    return new Call(this.engine.cancel(jobId, by))
  }

  /** The leases after a record whose append is under way, according to a replica. */
  async leasesAfter({ record }: HeldAppend): Promise<LeaseId[]> {
    const { tables } = this.store
    const replica = new Replica(await recoverState(this.store, await tables.load()))
    replica.apply(record.batch, record.body)
    return [...replica.state.market.leases.keys()]
  }

  async jobs(): Promise<JobId[]> {
    const { jobs } = await this.engine.listJobs({ limit: 1_000 })
    return jobs.map(({ id }) => id)
  }
}
