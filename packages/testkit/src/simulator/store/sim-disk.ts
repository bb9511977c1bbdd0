import {
  type AuditEntry,
  type Caller,
  EMPTY_AUDIT,
  type FailureRow,
  type JobId,
  type JobRow,
  type LeaseId,
  type LeaseRow,
  type ProviderId,
  type ResultRow,
} from '@fairlead/core'
import {
  type AnyRow,
  appendAudit,
  compareText,
  type EndedSpan,
  FAILURES_KEPT,
  type JobFilter,
  type JournalRecord,
  type NewJobRow,
  type ProviderRow,
  type PrunedJobs,
  ROUNDS_KEPT,
  type RoundRow,
  resultWithoutPeople,
  type SettlementRow,
  type ShareRow,
  type Snapshot,
  storedRow,
  type WriteBatch,
  withoutPeople,
} from '@fairlead/core/internal'
import { hasEndedStatus, isLiveStatus } from '../ledger/rules/own-rules.ts'
import { broken } from '../violation.ts'

type JobParts = Pick<WriteBatch, 'newLeases' | 'leases' | 'results' | 'failures'>

function partsOf(batch: WriteBatch, isOfThese: (jobSeq: number) => boolean): JobParts {
  const ofThese = (row: { readonly jobSeq: number }): boolean => isOfThese(row.jobSeq)
  return {
    newLeases: batch.newLeases.filter(ofThese),
    leases: batch.leases.filter(ofThese),
    results: batch.results.filter(ofThese),
    failures: batch.failures.filter(ofThese),
  }
}

/**
 * Tables of rows. They keep the promises of the port, but where a real store would refuse a batch that breaks one of
 * its guards (STORE-5, STORE-6), here the simulation ends with the name of what was broken.
 */
export class SimDisk {
  readonly jobs = new Map<JobId, JobRow>()
  readonly payloads = new Map<JobId, Uint8Array>()
  readonly leases = new Map<LeaseId, LeaseRow>()
  readonly providers = new Map<ProviderId, ProviderRow>()
  readonly results = new Map<JobId, ResultRow>()
  readonly shares = new Map<string, ShareRow>()
  readonly lanes = new Map<string, Snapshot['lanes'][number]>()
  readonly rounds = new Map<string, RoundRow>()
  readonly settlements = new Map<number, SettlementRow>()
  /** All of it: what was cut cannot be read any more, and is still checked. */
  readonly journal: JournalRecord[] = []
  #cutAt = 0
  readonly meta = new Map<string, string>()
  /** Every job and lease that was ever stored, deleted ones too. */
  readonly everStored = new Set<JobId>()
  readonly everIssued = new Set<LeaseId>()
  /** Leases that went from one worker to another. */
  readonly everMoved = new Set<string>()
  readonly #failures = new Map<JobId, Map<number, FailureRow>>()
  readonly #bySeq = new Map<number, JobId>()
  readonly #byTx = new Map<string, JobId>()
  readonly #leasesOf = new Map<JobId, LeaseId[]>()
  /** The journal as far as it has been asked for. */
  readonly #chain: AuditEntry[] = []

  /** Other tables with the same rows. */
  copy(): SimDisk {
    const copy = new SimDisk()
    copyMaps(this, copy)
    copyMaps(
      { failures: this.#failures, bySeq: this.#bySeq, byTx: this.#byTx, leasesOf: this.#leasesOf },
      { failures: copy.#failures, bySeq: copy.#bySeq, byTx: copy.#byTx, leasesOf: copy.#leasesOf },
    )
    for (const [id, failures] of this.#failures) copy.#failures.set(id, new Map(failures))
    for (const [id, leases] of this.#leasesOf) copy.#leasesOf.set(id, [...leases])
    for (const record of this.journal) copy.journal.push(record)
    for (const entry of this.#chain) copy.#chain.push(entry)
    copy.#cutAt = this.#cutAt
    return copy
  }

  write(batch: WriteBatch): void {
    // Rows of many commands may have the end of a job, its pruning, and a new job under its key: in this order.
    const isKnown = (jobSeq: number): boolean => this.#bySeq.has(jobSeq)
    for (const state of batch.jobs) this.#changeJob(state)
    this.#writeParts(partsOf(batch, isKnown))
    const newParts = partsOf(batch, (jobSeq) => !isKnown(jobSeq))
    if (batch.eraseEnded !== null) this.#erase(batch.eraseEnded)
    this.#prune(batch)
    for (const { row, payload } of batch.newJobs) this.#writeNewJob(row, payload)
    this.#writeParts(newParts)
    for (const row of batch.providers) this.providers.set(row.id, row)
    for (const [name, { lane }] of this.lanes) {
      if (batch.clearedLanes.includes(lane)) this.lanes.delete(name)
    }
    for (const { lane, key, value } of batch.lanes) {
      if (value === null) this.lanes.delete(JSON.stringify([lane, key]))
      else this.lanes.set(JSON.stringify([lane, key]), { lane, key, value })
    }
    for (const row of batch.shares) {
      const key = shareKey(row)
      if (row.finish === null) this.shares.delete(key)
      else this.shares.set(key, row)
    }
    for (const row of batch.rounds) this.#writeRound(row)
    for (const row of batch.settlements) this.#writeSettlement(row)
    for (const record of batch.journal) {
      const due = this.journal.length + 1
      if (record.seq !== due) broken('journal', `entry ${record.seq} stands where ${due} is due`)
      this.journal.push(record)
      if (record.action === 'leaseMoved') this.everMoved.add(record.subject)
    }
    for (const [name, value] of Object.entries(batch.meta)) this.meta.set(name, value)
    this.#cutAt = Math.max(this.#cutAt, batch.cutJournalAt ?? 0)
    if (batch.eraseEnded !== null) this.#erase(batch.eraseEnded)
    this.#prune(batch)
  }

  /** What is alive, in the order of STORE-4. */
  snapshot(batch: number): Snapshot {
    const jobs = [...this.jobs.values()]
      .filter(({ status }) => !hasEndedStatus(status))
      .sort((a, b) => a.seq - b.seq)
    const leases = jobs
      .flatMap(({ id }) => this.leasesOf(id))
      .sort((a, b) => a.tStart - b.tStart || a.attempt - b.attempt || a.jobSeq - b.jobSeq)
    return {
      batch,
      jobs,
      leases,
      providers: sortedValues(this.providers),
      shares: sortedValues(this.shares),
      lanes: sortedValues(this.lanes),
      meta: Object.fromEntries(this.meta),
      due: this.settledBefore(Number.MAX_SAFE_INTEGER)[0]?.due ?? new Uint8Array(),
      lastEntry: this.journal.at(-1)?.seq ?? 0,
    }
  }

  /** The newest first. */
  settledBefore(epochId: number): SettlementRow[] {
    return [...this.settlements.values()]
      .filter((row) => row.epochId < epochId)
      .sort((a, b) => b.epochId - a.epochId)
  }

  #writeSettlement(row: SettlementRow): void {
    const newest = this.settledBefore(Number.MAX_SAFE_INTEGER)[0]?.epochId ?? -1
    if (row.epochId <= newest) broken('settlements', `epoch ${row.epochId} comes after ${newest}`)
    this.settlements.set(row.epochId, row)
  }

  /** The journal, each entry linked to the one before (AUDIT-1). */
  chain(): readonly AuditEntry[] {
    for (const record of this.journal.slice(this.#chain.length)) {
      this.#chain.push(appendAudit(this.#chain.at(-1) ?? EMPTY_AUDIT, record))
    }
    return this.#chain
  }

  /** Entries after a number that were not cut. */
  entriesAfter(seq: number): readonly AuditEntry[] {
    return this.chain().slice(Math.max(seq, this.#cutAt))
  }

  timeline(jobId: JobId): AuditEntry[] {
    const seq = this.jobs.get(jobId)?.seq
    return this.entriesAfter(0).filter((entry) => this.journal[entry.seq - 1]?.jobSeq === seq)
  }

  jobByTx(caller: Caller, txHash: string): JobId | null {
    return this.#byTx.get(caller + txHash) ?? null
  }

  payloadOf(seq: number): Uint8Array | null {
    const id = this.#bySeq.get(seq)
    return id === undefined ? null : (this.payloads.get(id) ?? null)
  }

  leasesOf(jobId: JobId): LeaseRow[] {
    const ids = this.#leasesOf.get(jobId) ?? []
    return ids.map((id) => this.leases.get(id) as LeaseRow).sort((a, b) => a.attempt - b.attempt)
  }

  /** The failures that are kept of a job, oldest first. */
  failuresOf(jobId: JobId): FailureRow[] {
    const rows = [...(this.#failures.get(jobId)?.values() ?? [])]
    return rows.sort((a, b) => a.attempt - b.attempt)
  }

  assignmentsSince(atMs: number): { readonly caller: Caller; readonly at: number }[] {
    return [...this.leases.values()]
      .filter(({ tStart }) => tStart >= atMs)
      .sort((a, b) => a.tStart - b.tStart || a.attempt - b.attempt || a.jobSeq - b.jobSeq)
      .map(({ jobId, tStart }) => ({
        caller: (this.jobs.get(jobId) as JobRow).caller,
        at: tStart,
      }))
  }

  list({ afterSeq, beforeSeq, limit, ...wanted }: JobFilter): JobRow[] {
    const { status, providerId, caller, kind, model, idPrefix, afterHeight } = wanted
    return [...this.jobs.values()]
      .filter(
        (job) =>
          job.seq > afterSeq &&
          job.seq < (beforeSeq ?? Number.POSITIVE_INFINITY) &&
          (status === undefined || job.status === status) &&
          (providerId === undefined || job.providerId === providerId) &&
          (caller === undefined || job.caller === caller) &&
          (kind === undefined || job.kind === kind) &&
          (model === undefined || job.model === model) &&
          (idPrefix === undefined || job.id.startsWith(idPrefix)) &&
          (afterHeight === undefined || job.enqueueHeight > afterHeight),
      )
      .sort((a, b) => (beforeSeq === undefined ? a.seq - b.seq : b.seq - a.seq))
      .slice(0, limit)
  }

  /** Every row of every table in the order of STORE-9. */
  everything(): AnyRow[] {
    return [...this.rows(), ...named('journal', this.entriesAfter(0))]
  }

  /** The same without the journal, which only ever grows. */
  rows(): AnyRow[] {
    const valued = (table: string, values: ReadonlyMap<string, unknown>): AnyRow[] =>
      sortedEntries(values).map(([id, value]) => [table, { id, value }])
    return [
      ...named('jobs', sortedValues(this.jobs)),
      ...valued('payloads', this.payloads),
      ...named('leases', sortedValues(this.leases)),
      ...named('providers', sortedValues(this.providers)),
      ...named('results', sortedValues(this.results)),
      ...named(
        'failures',
        sortedValues(this.jobs).flatMap(({ id }) => this.failuresOf(id)),
      ),
      ...named('shares', sortedValues(this.shares)),
      ...named('lanes', sortedValues(this.lanes)),
      ...named('rounds', sortedValues(this.rounds)),
      ...named('settlements', this.settledBefore(Number.MAX_SAFE_INTEGER)),
      ...valued('meta', this.meta),
    ]
  }

  #writeNewJob(given: NewJobRow, payload: Uint8Array): void {
    const row = storedRow(given)
    const key = row.caller + row.txHash
    const known = this.#byTx.get(key)
    if (known !== undefined || this.jobs.has(row.id)) {
      broken('idempotency', `job ${row.id} is a second one under the key of ${known ?? row.id}`)
    }
    if (this.#bySeq.has(row.seq)) broken('order', `two jobs have the number ${row.seq}`)
    this.jobs.set(row.id, row)
    this.everStored.add(row.id)
    this.payloads.set(row.id, payload)
    this.#byTx.set(key, row.id)
    this.#bySeq.set(row.seq, row.id)
  }

  #changeJob({ id, seq, ...state }: WriteBatch['jobs'][number]): void {
    const row = this.jobs.get(id)
    if (row === undefined || row.seq !== seq)
      broken('job-lost', `job ${id} is changed and not there`)
    if (hasEndedStatus(row.status)) {
      broken('final-state', `job ${id} is ${row.status} and is changed`)
    }
    this.jobs.set(id, { ...row, ...state })
  }

  #writeNewLease(row: LeaseRow): void {
    const ids = this.#leasesOf.get(row.jobId)
    if (this.leases.has(row.id)) broken('one-live-lease', `lease ${row.id} was issued twice`)
    if (ids === undefined) this.#leasesOf.set(row.jobId, [row.id])
    else ids.push(row.id)
    this.everIssued.add(row.id)
    this.leases.set(row.id, row)
  }

  #changeLease({ id, jobSeq, attempt, ...state }: WriteBatch['leases'][number]): void {
    const row = this.leases.get(id)
    if (row === undefined || row.jobSeq !== jobSeq || row.attempt !== attempt) {
      broken('rows', `lease ${id} is changed and not there`)
    }
    if (!isLiveStatus(row.status) && state.status !== row.status) {
      broken('final-state', `lease ${id} was ${row.status} and becomes ${state.status}`)
    }
    this.leases.set(id, { ...row, ...state })
  }

  #refuseTwoLive(jobId: JobId): void {
    const live = this.leasesOf(jobId).filter(({ status }) => isLiveStatus(status))
    if (live.length > 1) {
      broken('one-live-lease', `job ${jobId} has the leases ${live.map(({ id }) => id).join(', ')}`)
    }
  }

  /** What belongs to jobs that are there. */
  #writeParts({ newLeases, leases, results, failures }: JobParts): void {
    for (const row of newLeases) this.#writeNewLease(row)
    for (const state of leases) this.#changeLease(state)
    for (const { jobId } of newLeases) this.#refuseTwoLive(jobId)
    for (const row of results) {
      if (this.results.has(row.jobId)) broken('completed-once', `job ${row.jobId} has two results`)
      this.results.set(row.jobId, row)
    }
    for (const row of failures) this.#writeFailure(row)
  }

  #writeFailure(row: FailureRow): void {
    if (this.jobs.get(row.jobId)?.seq !== row.jobSeq)
      broken('failure-kept', `an attempt of ${row.jobId} failed, and the job is not there`)
    const failures = this.#failures.get(row.jobId) ?? new Map<number, FailureRow>()
    this.#failures.set(row.jobId, failures.set(row.attempt, row))
    for (const attempt of failures.keys()) {
      if (attempt <= row.attempt - FAILURES_KEPT) failures.delete(attempt)
    }
  }

  #writeRound(row: RoundRow): void {
    this.rounds.set(roundKey(row.height, row.kind), row)
    const oldest = row.height - ROUNDS_KEPT
    if (oldest < 0) return
    for (const [key, { height }] of this.rounds) {
      if (height > oldest) return
      this.rounds.delete(key)
    }
  }

  #erase({ from, before }: EndedSpan): void {
    for (const [id, { kind, endedAt }] of this.jobs) {
      const payload = this.payloads.get(id)
      if (kind !== 'registration' || endedAt === null || payload === undefined) continue
      if (endedAt < from || endedAt >= before) continue
      this.payloads.set(id, withoutPeople(payload))
      const result = this.results.get(id)
      if (result !== undefined) this.results.set(id, { ...result, ...resultWithoutPeople(result) })
    }
  }

  #prune({ pruneEndedBefore, pruneResultsBefore, prunedJobs }: WriteBatch): void {
    for (const pruned of prunedJobs) this.#pruneNamed(pruned)
    if (pruneEndedBefore !== null) this.#pruneJobs(pruneEndedBefore)
    if (pruneResultsBefore === null) return
    for (const [id, { at }] of this.results) {
      if (at < pruneResultsBefore && !this.jobs.has(id)) this.results.delete(id)
    }
  }

  #pruneJobs(before: number): void {
    for (const job of this.jobs.values()) {
      if (job.endedAt !== null && job.endedAt < before) this.#pruneJob(job)
    }
  }

  #pruneNamed({ seqs, resultsBefore }: PrunedJobs): void {
    for (const seq of seqs) {
      const id = this.#bySeq.get(seq)
      const job = id === undefined ? undefined : this.jobs.get(id)
      if (job === undefined || job.endedAt === null) continue
      this.#pruneJob(job)
      const result = this.results.get(job.id)
      if (result !== undefined && result.at < (resultsBefore ?? 0)) this.results.delete(job.id)
    }
  }

  #pruneJob({ id, caller, txHash, seq }: JobRow): void {
    this.jobs.delete(id)
    this.payloads.delete(id)
    this.#byTx.delete(caller + txHash)
    this.#bySeq.delete(seq)
    for (const leaseId of this.#leasesOf.get(id) ?? []) this.leases.delete(leaseId)
    this.#leasesOf.delete(id)
    this.#failures.delete(id)
  }
}

function named(table: string, rows: readonly object[]): AnyRow[] {
  return rows.map((row) => [table, { ...row } as Readonly<Record<string, unknown>>])
}

/** Copies the entries of each map and set to the one of the same name. */
function copyMaps(from: object, to: object): void {
  for (const [name, entries] of Object.entries(from)) {
    const copy = (to as Readonly<Record<string, unknown>>)[name]
    if (entries instanceof Map)
      for (const [key, value] of entries) (copy as Map<unknown, unknown>).set(key, value)
    if (entries instanceof Set) for (const item of entries) (copy as Set<unknown>).add(item)
  }
}

export function shareKey({ kind, caller }: Pick<ShareRow, 'kind' | 'caller'>): string {
  return `${kind}|${caller}`
}

export function roundKey(height: number, kind: string): string {
  return `${String(height).padStart(16, '0')}|${kind}`
}

function sortedEntries<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => compareText(a, b))
}

function sortedValues<T>(map: ReadonlyMap<string, T>): T[] {
  return sortedEntries(map).map(([, value]) => value)
}
