import {
  callerOf,
  FairleadError,
  type JobId,
  type KindName,
  type LeaseListener,
  type LeaseSession,
  type LeaseSource,
  type ProviderId,
  taggedHash,
  type WorkerHello,
} from '@fairlead/core'
import { type Engine, type EngineEvent, openEngine } from '@fairlead/engine'
import { MemoryStore, TestClock } from '@fairlead/testkit'
import {
  type Handler,
  type Job,
  type StandardSchema,
  type Worker,
  type WorkerOptions,
  worker,
} from '../src/index.ts'

export const START = 1_760_000_000_000
export const ATLAS = 'provider:atlas' as ProviderId
const ACME = { caller: callerOf('acme') }

/** An engine on a clock that is moved by hand, with workers in the same process. */
export class Rig {
  readonly clock = new TestClock(START)
  readonly store: MemoryStore
  readonly engine: Engine
  readonly source: CuttableSource
  readonly errors: unknown[] = []
  readonly events: EngineEvent[] = []
  #jobs = 0

  private constructor(store: MemoryStore, engine: Engine, clock: TestClock) {
    this.store = store
    this.clock = clock
    this.engine = engine
    this.source = new CuttableSource(engine.leaseSource())
  }

  static async open(policy: object = {}): Promise<Rig> {
    const store = new MemoryStore()
    const clock = new TestClock(START)
    let drawn = 0
    // Not random at all, so that a seed that fails fails again.
    const random = () => taggedHash('rig', ++drawn)
    const rig = new Rig(store, await openEngine({ store, clock, policy, random }), clock)
    await rig.engine.onEvent((event) => rig.events.push(event))
    return rig
  }

  /** A worker of the provider atlas for tasks, four at once unless it is said otherwise. */
  async worker(handler: Handler, given: Partial<WorkerOptions> = {}): Promise<Worker> {
    const started = worker({
      source: this.source,
      providerId: ATLAS,
      kinds: ['task'],
      concurrency: 4,
      handler,
      onError: (error) => this.errors.push(error),
      clock: this.clock,
      random: () => 0,
      ...given,
    })
    started.closed.catch(() => undefined)
    await this.clock.settle()
    await this.clock.settle()
    return started
  }

  /** The same with a schema for results. */
  async schemaWorker<Value>(
    result: StandardSchema<Value>,
    handler: Handler<KindName, Value>,
  ): Promise<Worker> {
    const started = worker({
      source: this.source,
      providerId: ATLAS,
      kinds: ['task'],
      concurrency: 4,
      handler,
      result,
      onError: (error) => this.errors.push(error),
      clock: this.clock,
      random: () => 0,
    })
    await this.clock.settle()
    return started
  }

  /** The providers as they are stored. */
  async providers(): Promise<readonly unknown[]> {
    await this.engine.checkpoint()
    return (await this.store.tables.load()).providers
  }

  /** The output of a completed job, as text. */
  async output(jobId: JobId): Promise<string> {
    return Buffer.from((await this.engine.getResult(jobId)).output ?? []).toString()
  }

  async enqueue(): Promise<JobId> {
    const payload = { name: 'resize', args: { n: ++this.#jobs } }
    const jobId = await this.engine.enqueue({ kind: 'task', payload }, ACME)
    await this.settle()
    return jobId
  }

  enqueueMany(count: number): Promise<JobId[]> {
    return Promise.all(Array.from({ length: count }, () => this.enqueue()))
  }

  /** Lets a job go through all of its steps, as far as it gets by itself. */
  async settle(): Promise<void> {
    for (let i = 0; i < 8; i++) await this.clock.settle()
  }

  /** So long on the clock of the test; it ends early with the signal. */
  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.clock.wakeAt(this.clock.now() + ms, resolve)
      signal.addEventListener('abort', () => {
        cancel()
        resolve()
      })
    })
  }

  async status(jobId: JobId): Promise<string> {
    return (await this.engine.getJob(jobId)).status
  }

  /** What happened to the leases of a job, in the words of the journal. */
  async story(jobId: JobId): Promise<string[]> {
    const rows = await this.engine.timeline(jobId)
    return rows.map(({ action, details }) => [action, details['reason']].filter(Boolean).join(' '))
  }
}

/** A handler that waits for the test, one gate for each job in the order of their starts. */
export class Gates {
  readonly jobs: Job[] = []
  readonly #open: ((result: Uint8Array | Error) => void)[] = []

  readonly handler: Handler = (job) => {
    this.jobs.push(job)
    return new Promise((resolve, reject) => {
      this.#open.push((result) => (result instanceof Error ? reject(result) : resolve(result)))
    })
  }

  finish(n: number, result: Uint8Array | Error = new Uint8Array()): void {
    this.#open[n]?.(result)
  }
}

/** A source whose sessions can be cut, as a network does it. */
export class CuttableSource implements LeaseSource {
  readonly hellos: WorkerHello[] = []
  readonly #source: LeaseSource
  #open: { readonly session: LeaseSession; readonly listener: LeaseListener } | null = null
  /** Refuses to open while it is set. */
  down = false
  /** Refuses any change of slots while it is set. */
  keepsSlots = false

  constructor(source: LeaseSource) {
    this.#source = source
  }

  async open(hello: WorkerHello, listener: LeaseListener): Promise<LeaseSession> {
    if (this.down) throw cut()
    this.hellos.push(hello)
    const session = await this.#source.open(hello, listener)
    this.#open = { session, listener }
    const setSlots = session.setSlots.bind(session)
    session.setSlots = async (slots) => {
      if (this.keepsSlots) throw new FairleadError('Forbidden', 'slots are as they are')
      await setSlots(slots)
    }
    return session
  }

  async cut(): Promise<void> {
    const open = this.#open
    // Both ends notice, whatever the store says to it.
    await open?.session.close().catch(() => undefined)
    open?.listener.closed(cut())
  }
}

function cut(): FairleadError {
  return new FairleadError('StoreUnavailable', 'the line is cut')
}

/** Resolves when so many jobs have been completed; for engines on a real clock. */
export function allEnded(engine: Engine, count: number): Promise<void> {
  const ended = new Set<JobId>()
  return new Promise((resolve, reject) => {
    const note = (event: EngineEvent) => {
      if (event.type === 'jobCompleted') ended.add(event.jobId)
      if (ended.size === count) resolve()
    }
    engine.onEvent(note).catch(reject)
  })
}
