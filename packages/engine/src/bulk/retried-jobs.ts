import { type JobId, type JobRow, sha3Hex } from '@fairlead/core'
import type { StoreReads } from '@fairlead/core/internal'

/** The jobs that take others up in one retry, found by the keys that the run gives them (BULK-3). */
export class RetriedJobs {
  readonly #run: string
  readonly #read: Pick<StoreReads, 'jobsByTx'>

  constructor(run: string, read: Pick<StoreReads, 'jobsByTx'>) {
    this.#run = run
    this.#read = read
  }

  /** The key of the job that takes this one up. */
  keyOf(id: JobId): string {
    return `retry:${this.#run}:${id}`
  }

  /** For each job, the new ids of those of its dependencies that the run has taken up. */
  async dependenciesOf(rows: readonly JobRow[]): Promise<JobId[][]> {
    const asked = rows.flatMap((row) =>
      dependsOn(row).map((id) => ({
        caller: row.caller,
        txHash: sha3Hex(Buffer.from(this.keyOf(id))),
      })),
    )
    const found = (asked.length === 0 ? [] : await this.#read.jobsByTx(asked)).values()
    return rows.map((row) => dependsOn(row).flatMap(() => found.next().value?.id ?? []))
  }
}

/** The same jobs in parts, none of which has a job together with a dependency of it. */
export function wavesOf(rows: readonly JobRow[]): JobRow[][] {
  const waves: JobRow[][] = []
  let wave: JobRow[] = []
  let ids = new Set<JobId>()
  for (const row of rows) {
    if (dependsOn(row).some((id) => ids.has(id))) {
      waves.push(wave)
      wave = []
      ids = new Set()
    }
    wave.push(row)
    ids.add(row.id)
  }
  return wave.length === 0 ? waves : [...waves, wave]
}

function dependsOn({ options }: JobRow): readonly JobId[] {
  return options?.dependsOn ?? []
}
