import type { FairleadError, NodeClient } from '@fairlead/client'

/** Names that are remembered, so that most events of a job need no call. */
const REMEMBERED_MAX = 10_000

/** The names of jobs that events are about: events carry ids only. */
export class JobNames {
  readonly #server: Pick<NodeClient, 'call'>
  readonly #isOptional: boolean
  readonly #names = new Map<string, string | null>()

  /** Optional names are left out for a token that may hear of jobs but not list them. */
  constructor(server: Pick<NodeClient, 'call'>, { isOptional }: { readonly isOptional: boolean }) {
    this.#server = server
    this.#isOptional = isOptional
  }

  /** Null for a job without a name, and for one that was deleted. */
  async of(taskId: string): Promise<string | null> {
    const known = this.#names.get(taskId)
    if (known !== undefined) return known
    const name = await this.#ask(taskId)
    this.#names.set(taskId, name)
    const [oldest] = this.#names.keys()
    if (this.#names.size > REMEMBERED_MAX && oldest !== undefined) this.#names.delete(oldest)
    return name
  }

  async #ask(task_id_prefix: string): Promise<string | null> {
    try {
      const { jobs } = await this.#server.call('aicf.listJobs', { task_id_prefix, limit: 1 })
      return jobs[0]?.name ?? null
    } catch (error) {
      if (!this.#isOptional || (error as FairleadError).code !== 'Forbidden') throw error
      return null
    }
  }
}
