import {
  FairleadError,
  hasEnded,
  invariant,
  isLive,
  type JobFilter,
  type JobId,
  type JobRow,
  type JournalRow,
  type LeaseId,
  type LeaseRow,
  type ProviderId,
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

/** What becomes of a commit: it is stored and answered, refused, or stored with its answer lost. */
export type CommitFate = 'ok' | 'fails' | 'answer lost'

interface Tables {
  readonly jobs: Map<JobId, JobRow>
  readonly payloads: Map<JobId, Uint8Array>
  readonly leases: Map<LeaseId, LeaseRow>
  readonly providers: Map<ProviderId, ProviderRow>
  readonly results: Map<JobId, ResultRow>
  readonly shares: Map<string, ShareRow>
  readonly rounds: Map<string, RoundRow>
  readonly journal: JournalRow[]
  readonly meta: Map<string, string>
}

/**
 * A store in memory that keeps the promises of the port, the constraints included, and breaks them
 * when it is told to: the simulated disk under the real engine.
 */
export class MemoryStore implements Store {
  #tables: Tables = emptyTables()
  /** Asked before each commit. */
  fate: () => CommitFate = () => 'ok'
  commits = 0

  load(): Promise<Snapshot> {
    const { jobs, leases, providers, shares, meta, journal } = this.#tables
    const alive = sorted([...jobs.values()], ({ seq }) => seq).filter(
      (job) => !hasEnded(job.status),
    )
    const ids = new Set(alive.map(({ id }) => id))
    const last = journal.at(-1)
    return Promise.resolve({
      jobs: alive,
      leases: sorted([...leases.values()], ({ attempt }) => attempt).filter((l) =>
        ids.has(l.jobId),
      ),
      providers: sorted([...providers.values()], ({ id }) => id),
      shares: [...shares.values()],
      meta: Object.fromEntries(meta),
      journalHead: { seq: last?.seq ?? 0, hash: last?.hash ?? `0x${'00'.repeat(32)}` },
    })
  }

  commit(batch: WriteBatch): Promise<void> {
    const fate = this.fate()
    if (fate === 'fails') return Promise.reject(unavailable('the disk is full'))
    // On a copy, so that a batch that breaks a constraint leaves nothing behind.
    const tables = copyOf(this.#tables)
    try {
      write(tables, batch)
    } catch (cause) {
      return Promise.reject(unavailable((cause as Error).message))
    }
    this.#tables = tables
    this.commits++
    return fate === 'ok' ? Promise.resolve() : Promise.reject(unavailable('the answer was lost'))
  }

  readonly read: StoreReads = {
    job: (id) => this.#tables.jobs.get(id) ?? null,
    jobByTx: (caller, txHash) =>
      [...this.#tables.jobs.values()].find((j) => j.caller === caller && j.txHash === txHash) ??
      null,
    payload: (id) => this.#tables.payloads.get(id) ?? null,
    jobs: (filter) => this.#list(filter),
    leases: (jobId) => {
      const own = [...this.#tables.leases.values()].filter((lease) => lease.jobId === jobId)
      return sorted(own, ({ attempt }) => attempt)
    },
    lease: (id) => this.#tables.leases.get(id) ?? null,
    result: (jobId) => this.#tables.results.get(jobId) ?? null,
    round: (height, kind) => this.#tables.rounds.get(roundKey(height, kind)) ?? null,
    journal: (afterSeq, limit) => this.#tables.journal.slice(afterSeq, afterSeq + limit),
    timeline: (jobId) => this.#tables.journal.filter((row) => row.jobId === jobId),
    assignmentsSince: (atMs) => {
      const recent = [...this.#tables.leases.values()].filter(({ tStart }) => tStart > atMs)
      return sorted(recent, ({ tStart }) => tStart).map(({ jobId, tStart }) => {
        const job = this.#tables.jobs.get(jobId)
        invariant(job !== undefined, 'a lease has a job')
        return { caller: job.caller, at: tStart }
      })
    },
    everything: () => everything(this.#tables),
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  #list({ afterSeq, limit, ...wanted }: JobFilter): JobRow[] {
    const { status, providerId, caller, kind, afterHeight } = wanted
    return sorted([...this.#tables.jobs.values()], ({ seq }) => seq)
      .filter(
        (job) =>
          job.seq > afterSeq &&
          (status === undefined || job.status === status) &&
          (providerId === undefined || job.providerId === providerId) &&
          (caller === undefined || job.caller === caller) &&
          (kind === undefined || job.kind === kind) &&
          (afterHeight === undefined || job.enqueueHeight > afterHeight),
      )
      .slice(0, limit)
  }
}

function write(tables: Tables, batch: WriteBatch): void {
  for (const { row, payload } of batch.newJobs) {
    invariant(!tables.jobs.has(row.id), 'a job is new once')
    tables.jobs.set(row.id, row)
    tables.payloads.set(row.id, payload)
  }
  for (const { id, ...state } of batch.jobs) {
    const row = tables.jobs.get(id)
    invariant(row !== undefined, 'only a job that is there can change')
    invariant(!hasEnded(row.status), 'an ended job never changes again')
    tables.jobs.set(id, { ...row, ...state })
  }
  for (const row of batch.leases) tables.leases.set(row.id, row)
  refuseTwoLive(tables, batch)
  for (const row of batch.providers) tables.providers.set(row.id, row)
  for (const row of batch.results) {
    invariant(!tables.results.has(row.jobId), 'a job has one result')
    tables.results.set(row.jobId, row)
  }
  for (const row of batch.shares) {
    const key = `${row.kind}|${row.caller}`
    if (row.finish === null) tables.shares.delete(key)
    else tables.shares.set(key, row)
  }
  for (const row of batch.rounds) tables.rounds.set(roundKey(row.height, row.kind), row)
  const heights = [...tables.rounds.values()].map(({ height }) => height)
  const oldest = Math.max(0, ...heights) - ROUNDS_KEPT
  for (const [key, { height }] of tables.rounds) if (height <= oldest) tables.rounds.delete(key)
  for (const row of batch.journal) {
    invariant(row.seq === tables.journal.length + 1, 'the journal has no gap')
    tables.journal.push(row)
  }
  for (const [name, value] of Object.entries(batch.meta)) tables.meta.set(name, value)
  if (batch.pruneEndedBefore !== null) prune(tables, batch.pruneEndedBefore)
}

function refuseTwoLive({ leases }: Tables, batch: WriteBatch): void {
  const touched = new Set(batch.leases.map(({ jobId }) => jobId))
  const live = new Set<JobId>()
  for (const { jobId, status } of leases.values()) {
    if (!touched.has(jobId) || !isLive(status)) continue
    invariant(!live.has(jobId), 'a job has at most one live lease')
    live.add(jobId)
  }
}

function prune(tables: Tables, before: number): void {
  for (const [id, { endedAt }] of tables.jobs) {
    if (endedAt === null || endedAt >= before) continue
    tables.jobs.delete(id)
    tables.payloads.delete(id)
    for (const [leaseId, { jobId }] of tables.leases)
      if (jobId === id) tables.leases.delete(leaseId)
  }
}

function* everything(
  tables: Tables,
): Iterable<readonly [string, Readonly<Record<string, unknown>>]> {
  const named = Object.entries(tables) as [string, Map<string, object> | JournalRow[]][]
  for (const [table, rows] of sorted(named, ([name]) => name)) {
    const pairs = Array.isArray(rows)
      ? rows.map((row): [string, object] => [String(row.seq).padStart(16, '0'), row])
      : [...rows]
    for (const [id, row] of sorted(pairs, ([key]) => key)) {
      const isValue = typeof row !== 'object' || row instanceof Uint8Array
      yield [table, { id, ...(isValue ? { value: row } : row) }]
    }
  }
}

function emptyTables(): Tables {
  return {
    jobs: new Map(),
    payloads: new Map(),
    leases: new Map(),
    providers: new Map(),
    results: new Map(),
    shares: new Map(),
    rounds: new Map(),
    journal: [],
    meta: new Map(),
  }
}

function copyOf(tables: Tables): Tables {
  return {
    jobs: new Map(tables.jobs),
    payloads: new Map(tables.payloads),
    leases: new Map(tables.leases),
    providers: new Map(tables.providers),
    results: new Map(tables.results),
    shares: new Map(tables.shares),
    rounds: new Map(tables.rounds),
    journal: [...tables.journal],
    meta: new Map(tables.meta),
  }
}

function roundKey(height: number, kind: string): string {
  return `${String(height).padStart(16, '0')}|${kind}`
}

function sorted<T>(items: readonly T[], key: (item: T) => string | number): T[] {
  return items.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0))
}

function unavailable(why: string): FairleadError {
  return new FairleadError('StoreUnavailable', why)
}
