import type { Caller, Job, JobId, JobRow, Market } from '@fairlead/core'
import { hasEnded } from '@fairlead/core'
import { isHex32 } from '@fairlead/core/internal'
import type { EnqueueRequest } from './command.ts'

/** Where a job that is named as a dependency can be. */
interface Sources {
  readonly market: () => Pick<Market, 'jobs'>
  /** Jobs that ended in the open batch. The tables cannot have that yet. */
  readonly ended: () => readonly Job[]
  /** A read that sees every batch that was handed to the log. */
  readonly job: (id: JobId) => Promise<Pick<JobRow, 'caller' | 'status'> | null>
}

/** Jobs that are not alive, and if they completed. */
type Told = ReadonlyMap<JobId, boolean>

/**
 * The facts about dependencies that the state does not have: it forgets a job that has ended. A command carries the
 * ids of those that completed (OPTIONS-8).
 */
export class DependencyFacts {
  readonly #sources: Sources

  constructor(sources: Sources) {
    this.#sources = sources
  }

  /** True if only the tables can tell how a dependency ended. */
  mustAsk(request: EnqueueRequest): boolean {
    return namesDependencies(request) && this.#unknown(request).length > 0
  }

  /** Asks the tables about all dependencies that nobody else knows. */
  async told(request: EnqueueRequest): Promise<Told> {
    const unknown = this.#unknown(request)
    const rows = await Promise.all(unknown.map((id) => this.#sources.job(id)))
    const told = new Map(request.told ?? [])
    for (const [i, id] of unknown.entries()) {
      const row = rows[i] ?? null
      const isOwn = row?.caller === request.caller
      // It ended in a batch that the tables do not have: the next look will find it.
      if (isOwn && !hasEnded(row.status)) continue
      told.set(id, isOwn && row.status === 'COMPLETED')
    }
    return told
  }

  /** The dependencies that completed, of those that are not alive. */
  completed(ids: readonly JobId[], { caller, told }: EnqueueRequest): readonly JobId[] {
    return ids.filter((id) => {
      const known = this.#known(id, caller)
      return known === null ? told?.get(id) === true : known === 'completed'
    })
  }

  #unknown({ request, caller, told }: EnqueueRequest): JobId[] {
    const named = request['depends_on']
    const ids: unknown[] = Array.isArray(named) ? named : []
    return ids.filter(
      (id): id is JobId =>
        isHex32(id) && told?.has(id as JobId) !== true && this.#known(id as JobId, caller) === null,
    )
  }

  /** A foreign job is as good as none. Null if memory does not tell. */
  #known(id: JobId, caller: Caller): 'live' | 'completed' | 'none' | null {
    const job = this.#sources.market().jobs.get(id)
    if (job !== undefined) return job.caller === caller ? 'live' : 'none'
    const ended = this.#sources.ended().find((one) => one.id === id)
    if (ended === undefined) return null
    return ended.caller === caller && ended.status === 'COMPLETED' ? 'completed' : 'none'
  }
}

function namesDependencies({ request }: EnqueueRequest): boolean {
  return request['depends_on'] != null
}
