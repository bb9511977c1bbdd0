import type { JobId } from '../encoding/ids.ts'
import { limitExceeded } from '../errors.ts'
import type { Job } from '../market/job.ts'

/** The dependents that one job may have, and all pairs of a job and its dependent (OPTIONS-9). */
export const DEPENDENTS_MAX = 10_000
export const EDGES_MAX = 1_000_000

/** A job that ended while others waited for it. They do not all know of it yet. */
export interface EndedDependency {
  readonly id: JobId
  /** The numbers of acceptance of its dependents that were not told: above the one, up to the other. */
  readonly toldTo: number
  readonly lastSeq: number
  readonly endedAt: number
  readonly isCompleted: boolean
  /** Its place in the line of ended jobs. */
  readonly place: number
}

/** A dependent, and the job that it waited for. */
export interface Told {
  readonly job: Job
  readonly dependency: EndedDependency
}

/**
 * The jobs that wait for others to end (OPTIONS-8). A job that ends only joins a line: `next` takes its dependents
 * from there, a few at a time, however many there are. They leave in the order of their acceptance.
 */
export class Dependencies {
  readonly #dependents = new Map<JobId, Set<Job>>()
  #edges = 0
  /** In the order in which they ended. */
  readonly #ended = new Map<JobId, EndedDependency>()
  #lastPlace = 0
  /** Those of `#ended` that joined or left since `takeChanges`. */
  #changed = new Map<JobId, EndedDependency | null>()
  readonly #touched: () => void

  /** `ended`: those that were in the line before, in any order. */
  constructor(ended: readonly EndedDependency[], touched: () => void) {
    for (const one of ended.toSorted((a, b) => a.place - b.place)) {
      this.#ended.set(one.id, one)
      this.#lastPlace = one.place
    }
    this.#touched = touched
  }

  /** True if dependents wait to be told. */
  get isDue(): boolean {
    return this.#ended.size > 0
  }

  /** Pairs of a job and its dependent. */
  get edges(): number {
    return this.#edges
  }

  /** Refuses a job with too many dependents, or too many pairs in all. */
  refuseTooMany(ids: readonly JobId[]): void {
    for (const id of ids) {
      const dependents = (this.#dependents.get(id)?.size ?? 0) + 1
      if (dependents > DEPENDENTS_MAX) throw limitExceeded('dependents', DEPENDENTS_MAX, dependents)
    }
    const edges = this.#edges + ids.length
    if (edges > EDGES_MAX) throw limitExceeded('dependency_edges', EDGES_MAX, edges)
  }

  /** The job waits for these, of which each is alive or in the line of ended ones. */
  add(job: Job, ids: readonly JobId[]): void {
    for (const id of ids) {
      let dependents = this.#dependents.get(id)
      if (dependents === undefined) {
        dependents = new Set()
        this.#dependents.set(id, dependents)
      }
      dependents.add(job)
    }
    this.#edges += ids.length
    job.waitsFor = ids.length
  }

  /** True if this job has ended, and the dependent was not told. */
  hasEnded(id: JobId, { enqueueSeq: seq }: Pick<Job, 'enqueueSeq'>): boolean {
    const ended = this.#ended.get(id)
    return ended !== undefined && ended.toldTo < seq && seq <= ended.lastSeq
  }

  /** The jobs that a job still waits for. */
  openOf(job: Job): JobId[] {
    if (job.waitsFor === 0) return []
    const ids = job.options?.dependsOn ?? []
    return ids.filter((id) => this.#dependents.get(id)?.has(job) === true)
  }

  /** A job has ended: it waits for nothing any more, and those that wait for it will be told. */
  end(job: Job): void {
    if (this.#edges === 0) return
    if (job.waitsFor > 0) {
      for (const id of this.openOf(job)) this.#remove(id, job)
      job.waitsFor = 0
    }
    const dependents = this.#dependents.get(job.id)
    if (dependents === undefined) return
    const { id, endedAt, status } = job
    const lastSeq = [...dependents].at(-1)?.enqueueSeq ?? 0
    const place = this.#ended.size === 0 ? 1 : this.#lastPlace + 1
    const isCompleted = status === 'COMPLETED'
    this.#lastPlace = place
    this.#set({ id, toldTo: 0, lastSeq, endedAt: endedAt ?? 0, isCompleted, place })
  }

  /** Takes the next dependent out of the line; null if there is none. */
  next(): Told | null {
    for (const dependency of this.#ended.values()) {
      for (const job of this.#dependents.get(dependency.id) ?? []) {
        this.#remove(dependency.id, job)
        job.waitsFor--
        this.#set({ ...dependency, toldTo: job.enqueueSeq })
        this.#tidy(dependency.id)
        return { job, dependency }
      }
      this.#tidy(dependency.id)
    }
    return null
  }

  /** Takes the changes of the line since the last call; null for one that left it. */
  takeChanges(): Map<JobId, EndedDependency | null> {
    const changes = this.#changed
    this.#changed = new Map()
    return changes
  }

  #set(ended: EndedDependency): void {
    this.#ended.set(ended.id, ended)
    this.#changed.set(ended.id, ended)
    this.#touched()
  }

  #remove(id: JobId, job: Job): void {
    const dependents = this.#dependents.get(id)
    if (dependents?.delete(job) !== true) return
    this.#edges--
    if (dependents.size === 0) this.#dependents.delete(id)
  }

  /** A job without dependents leaves the line. */
  #tidy(id: JobId): void {
    if (this.#dependents.has(id) || !this.#ended.delete(id)) return
    this.#changed.set(id, null)
    this.#touched()
  }
}
