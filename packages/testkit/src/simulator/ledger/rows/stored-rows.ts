import type { JobRow, LeaseRow } from '@fairlead/core'
import type { ProviderRow } from '@fairlead/core/internal'
import type { SimDisk } from '../../store/sim-disk.ts'
import { broken, type InvariantName } from '../../violation.ts'
import { type JobEntry, type LeaseEntry, leasesOf, type ProviderEntry } from '../book.ts'

/** Compares rows with the book: what is stored must be what the journal says has happened. */
export class StoredRows {
  readonly #disk: SimDisk
  /** Jobs that ended before this time may have been deleted. */
  prunedBefore = Number.NEGATIVE_INFINITY

  constructor(disk: SimDisk) {
    this.#disk = disk
  }

  compareJob(job: JobEntry, atMs: number): void {
    const { id } = job.facts
    const row = this.#disk.jobs.get(id)
    if (row === undefined) {
      if (job.endedAt !== null && job.endedAt < this.prunedBefore) return
      broken('job-lost', `job ${id} is ${job.status} and not stored`)
    }
    const same = (
      field: keyof Omit<JobRow, 'origin' | 'needs' | 'options'>,
      due: unknown,
      invariant: InvariantName = 'rows',
    ): void => {
      if (row[field] === due) return
      broken(
        invariant,
        `job ${id} is stored with ${field} ${String(row[field])}, not ${String(due)}`,
      )
    }
    same('status', job.status)
    same('retries', job.retries, 'retries')
    same('attempt', job.attempt)
    same('declines', job.declines)
    same('workerLosses', job.workerLosses, 'worker-loss')
    same('notBefore', job.notBefore, 'backoff')
    same('firstAssignedAt', job.firstAssignedAt)
    same('endedAt', job.endedAt)
    same('reason', job.reason)
    same('providerId', job.lastProvider)
    same('enqueueTs', job.facts.enqueueTs)
    this.#compareFailures(job)
    if (job.status === 'COMPLETED' && this.#disk.results.get(id)?.jobSeq !== row.seq) {
      broken('result-kept', `job ${id} is COMPLETED, and its result is gone`)
    }
    const stored = row.denials.filter(([, until]) => until > atMs)
    const due = [...job.denials].filter(([, until]) => until > atMs)
    if (
      stored.length !== due.length ||
      due.some(([p, t]) => !stored.some(([q, u]) => p === q && t === u))
    ) {
      broken('rows', `job ${id} is stored with the denials ${String(stored)}, not ${String(due)}`)
    }
  }

  /** Those of its newest attempts, and no older ones (FAIL-3). */
  #compareFailures({ facts, failures }: JobEntry): void {
    const stored = this.#disk.failuresOf(facts.id)
    const isKept = stored.every(({ attempt, code }) => failures.get(attempt)?.code === code)
    if (isKept && stored.length === failures.size) return
    const [told, due] = [stored.map(({ attempt }) => attempt), [...failures.keys()]]
    broken('failure-kept', `job ${facts.id} has failures of ${told.join()}, not ${due.join()}`)
  }

  compareLease(lease: LeaseEntry): void {
    const row = this.#disk.leases.get(lease.id)
    if (row === undefined) {
      if (lease.job.endedAt !== null && lease.job.endedAt < this.prunedBefore) return
      broken('rows', `lease ${lease.id} is not stored`)
    }
    const same = (field: keyof LeaseRow, due: unknown, invariant: InvariantName = 'rows'): void => {
      if (row[field] === due) return
      broken(
        invariant,
        `lease ${lease.id} is stored with ${field} ${String(row[field])}, not ${String(due)}`,
      )
    }
    same('status', lease.status)
    same('jobId', lease.job.facts.id)
    same('providerId', lease.provider.id)
    same('attempt', lease.attempt)
    same('tStart', lease.tStart)
    same('tDeadline', lease.deadline, 'deadline')
    same('timeoutAt', Number.isFinite(lease.timeoutAt) ? lease.timeoutAt : null, 'deadline')
    same('ackTimeoutMs', lease.ackBy - lease.tStart, 'deadline')
    same('lengthMs', lease.lengthMs)
    same('renewals', lease.renewals)
    same('isAcked', lease.acked)
    same('epoch', lease.epoch)
    same('round', lease.round)
    same('digest', lease.digest)
    same('workerId', lease.workerId)
  }

  compareProvider(provider: ProviderEntry, atMs: number, hasHealth: boolean): void {
    const { id } = provider
    const row = this.#disk.providers.get(id)
    if (row === undefined) broken('rows', `${id} is not stored`)
    // With health off nothing that fails is noted of a provider.
    const invariant = hasHealth ? 'rows' : 'fails-alone'
    const same = (field: 'status' | 'failures' | 'cooldownUntil', due: unknown): void => {
      if (row[field] === due) return
      broken(invariant, `${id} is stored with ${field} ${row[field]}, not ${String(due)}`)
    }
    same('status', provider.status)
    same('failures', provider.failures)
    same('cooldownUntil', provider.cooldownUntil)
    if (row.health < 0 || row.health > 1_000) broken('rows', `${id} has a health of ${row.health}`)
    const units = row.units
      .filter(([, , n]) => n !== 0)
      .map(([kind, epoch, n]) => `${kind}@${epoch}=${n}`)
    const due = [...provider.units].map(([key, n]) => `${key}=${n}`)
    if (units.length !== due.length || due.some((text) => !units.includes(text))) {
      broken('unit-quota', `${id} is stored with the units ${units.join()}, not ${due.join()}`)
    }
    compareWorkers(provider, row)
    for (const [key, until] of provider.classCooldowns) {
      if (until <= atMs) continue
      const stored = row.classCooldowns.find((c) => `${c.kind}|${c.model ?? ''}` === key)
      if (stored?.until !== until)
        broken('rows', `${id} cools down for ${key} until ${until}, not stored`)
    }
    for (const { kind, model, until } of row.classCooldowns) {
      const key = `${kind}|${model ?? ''}`
      if (until <= atMs || provider.classCooldowns.get(key) === until) continue
      broken(invariant, `${id} is stored as cooling down for ${key}, and does not`)
    }
  }
}

/** Who has left and holds nothing is forgotten; all others are stored. */
function compareWorkers(provider: ProviderEntry, { id, workers }: ProviderRow): void {
  if (workers === null) return
  for (const worker of provider.workers.values()) {
    if (worker.goneSince !== null && leasesOf(provider, worker.id).length === 0)
      provider.workers.delete(worker.id)
  }
  for (const row of workers) {
    const due = provider.workers.get(row.id)
    if (due === undefined || due.goneSince !== row.goneSince) {
      broken(
        'rows',
        `${row.id} of ${id} is stored as gone since ${row.goneSince}, not ${due?.goneSince}`,
      )
    }
  }
  if (workers.length !== provider.workers.size) {
    broken('rows', `${id} is stored with ${workers.length} workers, not ${provider.workers.size}`)
  }
}
