import type { JobId, JobRow, KindName, LeaseId } from '@fairlead/core'
import type { Engine, EngineEvent, Unsubscribe } from '@fairlead/engine'

/** What a filter and a receiver learn of the job of an event. */
export interface JobFacts {
  readonly task_id: JobId
  readonly kind: KindName
  readonly name: string | null
  readonly caller: string
  readonly tags: readonly string[]
}

/** Jobs that are remembered. Most events are about one of the newest jobs. */
const KEPT = 20_000

/** Which job an event is about. It is looked up in memory, and in the store once the job has ended. */
export class JobFactsDesk {
  readonly #engine: Engine
  readonly #jobs = new Map<JobId, JobFacts | null>()
  readonly #leases = new Map<LeaseId, JobId | null>()
  #stop: Unsubscribe = () => {}

  private constructor(engine: Engine) {
    this.#engine = engine
  }

  static async open(engine: Engine): Promise<JobFactsDesk> {
    const desk = new JobFactsDesk(engine)
    desk.#stop = await engine.onEvent((event) => desk.#see(event))
    return desk
  }

  close(): void {
    this.#stop()
  }

  /** Null for an event that is about no job, or about one that is gone. */
  async of(event: EngineEvent): Promise<JobFacts | null> {
    if ('jobId' in event) return this.#job(event.jobId)
    if (!('leaseId' in event)) return null
    const jobId = await this.#jobOf(event.leaseId)
    return jobId === null ? null : this.#job(jobId)
  }

  /** While a job is in memory, its facts cost nothing. */
  #see(event: EngineEvent): void {
    if (event.type !== 'jobEnqueued' && event.type !== 'jobAssigned') return
    const { view } = this.#engine
    const job = view.job(event.jobId)
    if (job !== null) keep(this.#jobs, event.jobId, { task_id: event.jobId, ...shown(job) })
    if (event.type === 'jobAssigned') keep(this.#leases, event.leaseId, event.jobId)
  }

  async #job(id: JobId): Promise<JobFacts | null> {
    const known = this.#jobs.get(id)
    if (known !== undefined) return known
    const { view } = this.#engine
    const job = view.job(id) ?? factsOf(await view.read.job(id))
    return keep(this.#jobs, id, job === null ? null : { task_id: id, ...shown(job) })
  }

  async #jobOf(id: LeaseId): Promise<JobId | null> {
    const known = this.#leases.get(id)
    if (known !== undefined) return known
    const { view } = this.#engine
    const lease = view.lease(id) ?? (await view.read.lease(id))
    return keep(this.#leases, id, lease?.jobId ?? null)
  }
}

type Named = Pick<JobRow, 'kind' | 'model' | 'caller'> & { readonly tags: readonly string[] }

function factsOf(row: JobRow | null): Named | null {
  return row && { ...row, tags: row.options?.tags ?? [] }
}

function shown({ kind, model, caller, tags }: Named): Omit<JobFacts, 'task_id'> {
  return { kind, name: model, caller, tags }
}

function keep<Key, Value>(kept: Map<Key, Value>, key: Key, value: Value): Value {
  if (kept.size >= KEPT) kept.clear()
  kept.set(key, value)
  return value
}
