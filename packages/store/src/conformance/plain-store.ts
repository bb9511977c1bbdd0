import {
  compareAscii,
  compareText,
  EMPTY_AUDIT,
  FairleadError,
  hasEnded,
  isLive,
  type JobFilter,
  type JobRow,
  type JobState,
  type JournalRow,
  type LeaseRow,
  type ProviderRow,
  type ResultRow,
  ROUNDS_KEPT,
  type RoundRow,
  type ShareRow,
  type Snapshot,
  type Store,
  type StoreReads,
  type WriteBatch,
} from '@fairlead/core'

/**
 * A store in plain maps: what the port means, in as few words as possible. Stores are compared with
 * it, so it is written to be obviously right, and copies its whole state for each batch.
 */
export class PlainStore implements Store {
  #state = emptyState()

  readonly read: StoreReads = {
    job: (id) => this.#state.jobs.get(id) ?? null,
    jobByTx: (caller, txHash) =>
      this.#jobs().find((job) => job.caller === caller && job.txHash === txHash) ?? null,
    payload: (id) => this.#state.payloads.get(id) ?? null,
    jobs: (filter) =>
      this.#jobs()
        .filter((job) => fits(job, filter))
        .slice(0, filter.limit),
    leases: (jobId) =>
      [...this.#state.leases.values()]
        .filter((lease) => lease.jobId === jobId)
        .sort((a, b) => a.attempt - b.attempt),
    lease: (id) => this.#state.leases.get(id) ?? null,
    result: (jobId) => this.#state.results.get(jobId) ?? null,
    round: (height, kind) => this.#state.rounds.get(roundKey({ height, kind })) ?? null,
    journal: (afterSeq, limit) =>
      this.#journal()
        .filter(({ seq }) => seq > afterSeq)
        .slice(0, limit),
    timeline: (jobId) => this.#journal().filter((entry) => entry.jobId === jobId),
    assignmentsSince: (atMs) =>
      this.#leases()
        .filter(({ tStart }) => tStart >= atMs)
        .map(({ jobId, tStart }) => ({ caller: this.#job(jobId).caller, at: tStart })),
    everything: () => this.#everything(),
  }

  async load(): Promise<Snapshot> {
    const { providers, shares, meta } = this.#state
    const jobs = this.#jobs().filter(({ status }) => !hasEnded(status))
    const alive = new Set(jobs.map(({ id }) => id))
    const { seq, hash } = this.#journal().at(-1) ?? EMPTY_AUDIT
    return {
      jobs,
      leases: this.#leases().filter(({ jobId }) => alive.has(jobId)),
      providers: sorted(providers),
      shares: sorted(shares),
      meta: Object.fromEntries(sorted(meta).map(({ name, value }) => [name, value])),
      journalHead: { seq, hash },
    }
  }

  async commit(batch: WriteBatch): Promise<void> {
    const next = structuredClone(this.#state)
    apply(next, batch)
    this.#state = next
  }

  async close(): Promise<void> {}

  #job(id: string): JobRow {
    return this.#state.jobs.get(id) as JobRow
  }

  #jobs(): JobRow[] {
    return [...this.#state.jobs.values()].sort((a, b) => a.seq - b.seq)
  }

  /** Oldest first. */
  #leases(): LeaseRow[] {
    const seqOf = (lease: LeaseRow) => this.#job(lease.jobId).seq
    return [...this.#state.leases.values()].sort(
      (a, b) => a.tStart - b.tStart || a.attempt - b.attempt || seqOf(a) - seqOf(b),
    )
  }

  #journal(): JournalRow[] {
    return [...this.#state.journal.values()].sort((a, b) => a.seq - b.seq)
  }

  *#everything(): ReturnType<StoreReads['everything']> {
    const { jobs, payloads, leases, providers, results, shares, rounds, meta } = this.#state
    const payloadRows = new Map([...payloads].map(([id, payload]) => [id, { jobId: id, payload }]))
    const tables = {
      jobs: sorted(jobs),
      payloads: sorted(payloadRows),
      leases: sorted(leases),
      providers: sorted(providers),
      results: sorted(results),
      shares: sorted(shares),
      rounds: sorted(rounds),
      journal: this.#journal(),
      meta: sorted(meta),
    }
    for (const [table, rows] of Object.entries(tables)) {
      for (const row of rows) yield [table, { ...row }]
    }
  }
}

interface State {
  readonly jobs: Map<string, JobRow>
  readonly payloads: Map<string, Uint8Array>
  readonly leases: Map<string, LeaseRow>
  readonly providers: Map<string, ProviderRow>
  readonly results: Map<string, ResultRow>
  readonly shares: Map<string, ShareRow>
  readonly rounds: Map<string, RoundRow>
  readonly journal: Map<number, JournalRow>
  readonly meta: Map<string, { readonly name: string; readonly value: string }>
}

function emptyState(): State {
  return {
    jobs: new Map(),
    payloads: new Map(),
    leases: new Map(),
    providers: new Map(),
    results: new Map(),
    shares: new Map(),
    rounds: new Map(),
    journal: new Map(),
    meta: new Map(),
  }
}

function apply(state: State, batch: WriteBatch): void {
  prune(state, batch.pruneEndedBefore)
  for (const { row, payload } of batch.newJobs) {
    const isKnown = (job: JobRow) =>
      job.id === row.id ||
      job.seq === row.seq ||
      (job.caller === row.caller && job.txHash === row.txHash)
    refuseIf([...state.jobs.values()].some(isKnown), 'the job is not new')
    putJob(state, row)
    state.payloads.set(row.id, payload)
  }
  for (const job of batch.jobs) updateJob(state, job)
  const [live, ended] = [true, false].map((is) =>
    batch.leases.filter(({ status }) => isLive(status) === is),
  )
  for (const lease of [...(ended ?? []), ...(live ?? [])]) putLease(state, lease)
  for (const row of batch.providers) state.providers.set(row.id, row)
  for (const row of batch.results) state.results.set(row.jobId, row)
  for (const row of batch.shares) {
    if (row.finish === null) state.shares.delete(`${row.kind} ${row.caller}`)
    else state.shares.set(`${row.kind} ${row.caller}`, row)
  }
  for (const row of batch.rounds) insert(state.rounds, roundKey(row), row)
  const heights = [...new Set([...state.rounds.values()].map(({ height }) => height))]
  const kept = new Set(heights.sort((a, b) => b - a).slice(0, ROUNDS_KEPT))
  for (const [key, { height }] of state.rounds) if (!kept.has(height)) state.rounds.delete(key)
  for (const row of batch.journal) insert(state.journal, row.seq, row)
  for (const [name, value] of Object.entries(batch.meta)) state.meta.set(name, { name, value })
  prune(state, batch.pruneEndedBefore)
}

function updateJob(state: State, job: JobState & { readonly id: string }): void {
  const row = state.jobs.get(job.id)
  if (row === undefined) throw refused('there is no such job')
  refuseIf(hasEnded(row.status) && row.status !== job.status, 'the job has ended')
  putJob(state, { ...row, ...job, id: row.id })
}

function putJob(state: State, row: JobRow): void {
  refuseIf(hasEnded(row.status) !== (row.endedAt !== null), 'an end is what an ended job has')
  state.jobs.set(row.id, row)
}

function putLease(state: State, row: LeaseRow): void {
  const others = [...state.leases.values()].filter(({ id }) => id !== row.id)
  const ofJob = others.filter(({ jobId }) => jobId === row.jobId)
  refuseIf(
    ofJob.some(({ attempt }) => attempt === row.attempt),
    'the attempt is another lease',
  )
  refuseIf(isLive(row.status) && ofJob.some(({ status }) => isLive(status)), 'two live leases')
  const old = state.leases.get(row.id)
  if (old !== undefined) {
    refuseIf(old.jobId !== row.jobId || old.attempt !== row.attempt, 'it is a lease of another job')
    refuseIf(!isLive(old.status) && old.status !== row.status, 'the lease has ended')
  }
  state.leases.set(row.id, row)
}

function prune(state: State, before: number | null): void {
  for (const [id, { endedAt }] of state.jobs) {
    if (before === null || endedAt === null || endedAt >= before) continue
    state.jobs.delete(id)
    state.payloads.delete(id)
    for (const [leaseId, { jobId }] of state.leases) {
      if (jobId === id) state.leases.delete(leaseId)
    }
  }
}

function fits(job: JobRow, filter: JobFilter): boolean {
  return (
    job.seq > filter.afterSeq &&
    (filter.status === undefined || job.status === filter.status) &&
    (filter.providerId === undefined || job.providerId === filter.providerId) &&
    (filter.caller === undefined || job.caller === filter.caller) &&
    (filter.kind === undefined || job.kind === filter.kind) &&
    (filter.afterHeight === undefined || job.enqueueHeight > filter.afterHeight)
  )
}

/** Heights sort as numbers. */
function roundKey({ height, kind }: Pick<RoundRow, 'height' | 'kind'>): string {
  return `${height.toString().padStart(16, '0')} ${kind}`
}

function sorted<Row>(table: ReadonlyMap<string, Row>): Row[] {
  return [...table]
    .sort(([a], [b]) => compareText(a, b) || compareAscii(a, b))
    .map(([, row]) => row)
}

function insert<Key, Row>(table: Map<Key, Row>, key: Key, row: Row): void {
  refuseIf(table.has(key), 'the row is there already')
  table.set(key, row)
}

function refuseIf(condition: boolean, why: string): void {
  if (condition) throw refused(why)
}

function refused(why: string): FairleadError {
  return new FairleadError('StoreUnavailable', why, {}, { cause: new Error(why) })
}
