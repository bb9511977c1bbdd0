import { decodeCbor, type JobId } from '@fairlead/core'
import type { WriteBatch } from '@fairlead/core/internal'
import type { Command, LogEntry } from '@fairlead/engine'
import type { SimDisk } from '../../store/sim-disk.ts'
import { broken } from '../../violation.ts'
import type { Book, LeaseEntry } from '../book.ts'

type Report = Extract<Command, { type: 'progress' }>

/** Attempt, percent, message and time, as they are stored. */
type Cells = readonly [number, number | null, string | null, number]

const LANE = 'progress'

/** What workers said last of live jobs, by the recorded commands alone (PROGRESS-1). */
export class ProgressBook {
  readonly #said = new Map<JobId, Cells>()
  /** Reports of a record, whose leases are known once its journal was read. */
  #reports: (readonly [Report, at: number])[] = []

  command({ command, at }: LogEntry): void {
    if (command.type === 'progress') this.#reports.push([command, at])
  }

  /** The journal of a record was read. */
  written({ lanes }: WriteBatch, known: Pick<Book, 'leases' | 'jobs'>, disk: SimDisk): void {
    const changed = new Set<JobId>()
    for (const { lane, key } of lanes) if (lane === LANE) changed.add(key as JobId)
    for (const [report, at] of this.#reports.splice(0)) {
      const lease = known.leases.get(report.leaseId)
      if (lease === undefined)
        broken('progress', `a report on ${report.leaseId}, which is no lease`)
      if (!lease.acked) broken('progress', `a report on ${lease.id}, and it is not acked`)
      this.#take(report, lease, at)
      changed.add(lease.job.facts.id)
    }
    for (const id of this.#said.keys()) {
      if (known.jobs.get(id)?.endedAt === null) continue
      this.#said.delete(id)
      changed.add(id)
    }
    for (const id of changed) this.#compare(id, disk)
  }

  #take({ percent, message }: Report, { job, attempt }: LeaseEntry, at: number): void {
    const { id } = job.facts
    const last = this.#said.get(id)
    const [, lastPercent, lastMessage] = last?.[0] === attempt ? last : [attempt, null, null]
    const next = [percent ?? lastPercent, message ?? lastMessage] as const
    if (next[0] === lastPercent && next[1] === lastMessage) return
    this.#said.set(id, [attempt, ...next, at])
  }

  #compare(id: JobId, disk: SimDisk): void {
    const stored = disk.lanes.get(JSON.stringify([LANE, id]))?.value ?? null
    const found = stored === null ? 'none' : JSON.stringify(decodeCbor(stored))
    const said = this.#said.get(id)
    const due = said === undefined ? 'none' : JSON.stringify(said)
    if (found !== due) broken('progress', `the progress of ${id} is stored as ${found}, not ${due}`)
  }
}
