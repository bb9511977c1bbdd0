import { brokenSeq, type JobRow, type Policy } from '@fairlead/core'
import { type ProviderRow, storedRow, type WriteBatch } from '@fairlead/core/internal'
import type { LogEntry } from '@fairlead/engine'
import type { SimDisk } from '../store/sim-disk.ts'
import { broken } from '../violation.ts'
import { Book, endsAt, isReady, type JobEntry, lostAt, type ProviderEntry } from './book.ts'
import { type Hearsay, JournalReader } from './journal/journal-reader.ts'
import { Moment } from './journal/moment.ts'
import { readPolicy } from './read-policy.ts'
import { checkFailures } from './rows/kept-failure.ts'
import { Retention } from './rows/retention.ts'
import { SessionRowCheck } from './rows/session-row-check.ts'
import { StoredRows } from './rows/stored-rows.ts'
import { allowedOf, capOf, misfit } from './rules/fits.ts'
import { isRationed, type SimLimit } from './rules/limit-spans.ts'
import { hasEndedStatus, ttlRelAt } from './rules/own-rules.ts'
import { ProgressBook } from './rules/progress-book.ts'
import { FairBound, ShareBook } from './rules/shares.ts'
import { maySend, sessionTimes } from './sessions/session-times.ts'

/** Deadlines of one sort. */
export type DueSort = 'leases' | 'jobs' | 'windows' | 'sessions' | 'schedules' | 'proofs'

/** Everything is compared once in so many batches, what a batch touched after each. */
const FULL_EVERY = 32

/**
 * An account of its own of all that is durable, built from the journal and checked against the rows,
 * batch by batch as they reach the log. It knows the rules and nothing of the engine.
 */
export class Ledger {
  readonly book: Book
  readonly #disk: SimDisk
  readonly #shares = new ShareBook()
  readonly #moment: Moment
  readonly #reader: JournalReader
  readonly #rows: StoredRows
  readonly #retention: Retention
  readonly #progress = new ProgressBook()
  readonly #sessionRows: SessionRowCheck
  #batches = 0
  /** The time of the last batch, as it says itself. */
  beat: number
  #seq = 0

  constructor(options: {
    readonly disk: SimDisk
    readonly policy: Policy
    readonly nowMs: number
    readonly hearsay: Hearsay
    readonly limits: readonly SimLimit[]
    /** Jobs that nothing but their own failure could end otherwise than COMPLETED. */
    readonly mustSucceed: (job: JobRow) => boolean
    readonly hasProofs: boolean
    /** Only where the bound of FAIR-7 holds. */
    readonly withBound: boolean
  }) {
    this.#disk = options.disk
    this.book = new Book(options.policy, options)
    this.beat = options.nowMs
    this.#rows = new StoredRows(options.disk)
    this.#retention = new Retention(this.book)
    this.#sessionRows = new SessionRowCheck(this.book)
    this.#moment = new Moment(this.book, this.#shares)
    const bound = options.withBound ? new FairBound() : null
    this.#reader = new JournalReader(this.#moment, options.hearsay, bound)
  }

  /** Nobody could reach an engine for so long, which is charged to nobody (ENGINE-4). */
  resumed(gapMs: number, atMs: number): void {
    this.book.schedules.resumed(atMs)
    for (const lease of this.book.live) {
      lease.ackBy += gapMs
      lease.deadline += gapMs
      lease.timeoutAt += gapMs
      lease.gaps += gapMs
    }
    this.book.fund?.provings.resumed(gapMs)
    for (const { workers } of this.book.providers.values()) {
      for (const worker of workers.values())
        if (worker.goneSince !== null) worker.goneSince += gapMs
    }
  }

  /** A worker is connected. */
  get hasWorkers(): boolean {
    for (const { workers } of this.book.providers.values()) {
      for (const { goneSince } of workers.values()) if (goneSince === null) return true
    }
    return false
  }

  /** A command comes; the rows of all before it were written. */
  command({ command, at }: LogEntry): void {
    this.book.fund?.command(command, at)
    this.#progress.command({ command, at })
  }

  /** All rows of one batch, or of a part of it; `isPart`: what falls due may come in the next part. */
  written(batch: WriteBatch, isPart = false): void {
    const beat = Number(batch.meta['beat'] ?? this.beat)
    if (beat < this.beat) broken('transition', `time went back from ${this.beat} to ${beat}`)
    this.#takePolicy(batch, beat)
    this.#checkUnharmed(batch)
    for (const row of batch.providers) this.#takeProvider(row)
    this.book.fund?.begin(this.#disk)
    this.#readJournal(batch)
    this.book.fund?.end(batch, this.#disk)
    this.#progress.written(batch, this.book, this.#disk)
    this.beat = beat
    this.#sessionRows.compare(batch.lanes, beat)
    this.#retention.check(batch, beat)
    this.#rows.prunedBefore = this.#retention.prunedBefore
    this.#compare(batch)
    this.#checkLimits()
    if (!isPart) this.#checkDue()
    if (this.#batches++ % FULL_EVERY === 0) this.compareAll()
  }

  compareAll(): void {
    const { jobs, leases, providers, alive } = this.book
    for (const job of jobs.values()) this.#rows.compareJob(job, this.beat)
    for (const lease of leases.values()) this.#rows.compareLease(lease)
    for (const provider of providers.values())
      this.#rows.compareProvider(provider, this.beat, this.#moment.hasHealth)
    this.#shares.compareAll(this.#disk.shares)
    this.book.fund?.compareAll(this.#disk)
    let stored = 0
    for (const { status } of this.#disk.jobs.values()) if (!hasEndedStatus(status)) stored++
    if (stored !== alive.size)
      broken('job-lost', `${stored} jobs are alive in the store, not ${alive.size}`)
    this.#forgetDeleted()
  }

  /** The log holds from its first entry to its last. */
  checkChain(): void {
    const brokenAt = brokenSeq(this.#disk.chain())
    if (brokenAt !== null) broken('journal', `the chain is broken at entry ${brokenAt}`)
  }

  /** A ready job and a provider that fits it now; null if every ready job has to wait. */
  stranded(nowMs: number): { readonly job: JobEntry; readonly provider: ProviderEntry } | null {
    const open = [...this.book.providers.values()].filter(
      (provider) =>
        provider.status === 'ACTIVE' && provider.live.size < capOf(provider, this.book.policy),
    )
    if (open.length === 0) return null
    for (const job of this.book.alive) {
      if (!isReady(job, nowMs)) continue
      if (isRationed(this.book, job, nowMs) || this.book.paused.holds(job.facts)) continue
      if (job.facts.kind === 'registration' && !maySend(this.book, job, nowMs)) continue
      const provider = open.find((candidate) => misfit(this.book, candidate, job, nowMs) === null)
      if (provider !== undefined) return { job, provider }
    }
    return null
  }

  /** Something that failed before is noted of a provider, where that must not keep it from work (HEALTH-7). */
  isHeldUp({ row }: ProviderEntry, nowMs: number): boolean {
    if (this.#moment.hasHealth) return false
    const cooldowns = [row.cooldownUntil ?? 0, ...row.classCooldowns.map(({ until }) => until)]
    return row.health < 1_000 || row.failures > 0 || cooldowns.some((until) => until > nowMs)
  }

  /** A lease or job whose time is over at this time; null if there is none. */
  overdue(nowMs: number): string | null {
    for (const lease of this.book.live) {
      const { acked, ackBy } = lease
      const due = Math.min(
        endsAt(lease),
        acked ? endsAt(lease) : ackBy,
        lostAt(lease, this.book.policy),
      )
      if (due <= nowMs) return `lease ${lease.id}`
    }
    for (const job of this.book.alive) {
      // A life that ended during the wait for a proof is over with that wait, and told of by itself (TTL-2).
      const isJustCharged = job.provedUntil === nowMs
      if (this.#lifeEnd(job) <= nowMs && !isJustCharged) return `job ${job.facts.id}`
      if ((this.book.fund?.provings.dueAt(job) ?? Infinity) <= nowMs)
        return `the proof of ${job.facts.id}`
    }
    for (const { id, status, jailedUntil } of this.book.providers.values()) {
      if (status === 'JAILED' && jailedUntil !== null && jailedUntil <= nowMs)
        return `the jail of ${id}`
    }
    const { sessions } = this.book
    for (const registration of sessions.jobs.values()) {
      if (sessions.givenUpAt(registration) <= nowMs) {
        return `the retry window of ${registration.job.facts.id}`
      }
    }
    return null
  }

  /** Times at which something falls due, for a clock that likes boundaries. */
  *dueTimes(of: DueSort): Iterable<number> {
    if (of === 'sessions') yield* sessionTimes(this.book)
    if (of === 'schedules') yield* this.book.schedules.times()
    if (of === 'leases') {
      for (const lease of this.book.live) {
        if (!lease.acked) yield lease.ackBy
        yield endsAt(lease)
        yield lostAt(lease, this.book.policy)
      }
    }
    if (of === 'proofs') {
      const { fund } = this.book
      for (const job of fund?.provings.all ?? []) yield fund?.provings.dueAt(job) ?? 0
      for (const { jailedUntil } of this.book.providers.values()) yield jailedUntil ?? 0
      const epochMs = 1_000 * this.book.policy.queue.quotas.epochSecs
      yield epochMs * Math.ceil((this.beat + 1) / epochMs)
    }
    if (of === 'jobs') {
      for (const job of this.book.alive)
        yield job.notBefore ?? job.facts.options?.runAt ?? this.#lifeEnd(job)
    }
    if (of !== 'windows') return
    const window = this.book.policy.queue.quotas.requesterWindow
    if (window === null) return
    for (const times of this.book.assignedAt.values()) {
      for (const at of times.slice(-window.jobs)) yield at + 1_000 * window.secs
    }
  }

  /** Times at which something ends that may keep a job waiting. */
  *waitTimes(): Iterable<number> {
    yield* this.dueTimes('jobs')
    yield* this.dueTimes('windows')
    yield* this.dueTimes('sessions')
    if (this.book.fund !== null) yield* this.dueTimes('proofs')
    for (const { denials } of this.book.alive) yield* denials.values()
    for (const { cooldownUntil, classCooldowns } of this.book.providers.values()) {
      yield cooldownUntil ?? 0
      yield* classCooldowns.values()
    }
  }

  #takePolicy({ meta }: WriteBatch, beat: number): void {
    if (meta['policy'] === undefined) return
    this.book.policy = readPolicy(this.#disk.meta)
    this.book.fund?.service.trim(this.book.policy)
    this.#moment.floors.add(beat)
  }

  /** With health off only an operator's word touches the health of a provider: ACTIVE is `min_health` at least. */
  #checkUnharmed({ providers }: WriteBatch): void {
    const { health, minHealth } = this.book.policy.registry
    if (health === 'on') return
    for (const row of providers) {
      const before = this.book.providers.get(row.id)?.row.health ?? 1_000
      if (row.health === before || (row.health > before && row.health === minHealth)) continue
      broken('fails-alone', `${row.id} had a health of ${before} and has ${row.health}`)
    }
  }

  /** What a provider offers and how it fares is its own word; the rest must follow from the journal. */
  #takeProvider(row: ProviderRow): void {
    const known = this.book.providers.get(row.id)
    if (known !== undefined) {
      known.row = row
      return
    }
    this.book.providers.set(row.id, {
      id: row.id,
      row,
      status: 'ACTIVE',
      live: new Set(),
      units: new Map(),
      failures: 0,
      cooldownUntil: null,
      jailedUntil: null,
      classCooldowns: new Map(),
      workers: new Map(),
    })
  }

  #readJournal({ journal, newJobs, results, rounds, newLeases, failures }: WriteBatch): void {
    this.#checkNumbers(journal)
    this.#reader.read(journal, {
      newJobs: new Map(newJobs.map(({ row }) => [row.id, storedRow(row)])),
      payloads: new Map(newJobs.map(({ row, payload }) => [row.id, payload])),
      results: new Map(results.map((row) => [row.jobId, row])),
      rounds,
      leases: new Map(newLeases.map((row) => [row.id, row])),
    })
    for (const { row } of newJobs) {
      if (!this.book.jobs.has(row.id)) broken('journal', `job ${row.id} is stored and not told of`)
    }
    checkFailures(failures, this.#moment.failed)
    for (const { jobId } of results) {
      if (this.book.jobs.get(jobId)?.status !== 'COMPLETED') {
        broken('completed-once', `job ${jobId} has a result and is not COMPLETED`)
      }
    }
  }

  /** No number is left out or used twice. */
  #checkNumbers(journal: WriteBatch['journal']): void {
    for (const { seq } of journal) {
      if (seq !== this.#seq + 1) broken('journal', `entry ${seq} comes after ${this.#seq}`)
      this.#seq = seq
    }
  }

  /** Whatever the batch wrote or the journal moved. */
  #compare(batch: WriteBatch): void {
    const { jobs, leases, providers } = this.#moment
    const { book } = this
    for (const { id } of batch.jobs) jobs.add(book.jobs.get(id) ?? this.#unknown(id))
    for (const { id } of [...batch.newLeases, ...batch.leases]) {
      leases.add(book.leases.get(id) ?? this.#unknown(id))
    }
    for (const { id } of batch.providers) providers.add(book.providers.get(id) ?? this.#unknown(id))
    for (const provider of providers)
      this.#rows.compareProvider(provider, this.beat, this.#moment.hasHealth)
    for (const job of jobs) this.#rows.compareJob(job, this.beat)
    for (const lease of leases) this.#rows.compareLease(lease)
    this.#shares.compare(batch)
    const counters: [string, number][] = [
      ['enqueue_seq', book.accepted],
      ['round_height', book.rounds],
      ...[...book.grants].map(([kind, n]): [string, number] => [`grants.${kind}`, n]),
    ]
    for (const [name, due] of counters) {
      const stored = this.#disk.meta.get(name) ?? '0'
      if (stored !== String(due)) broken('rows', `${name} is stored as ${stored}, not ${due}`)
    }
  }

  #unknown(id: string): never {
    broken('rows', `${id} is stored, and the journal never told of it`)
  }

  /** At all times, not only when something is assigned. */
  #checkLimits(): void {
    for (const provider of this.book.providers.values()) {
      const { id, live, status } = provider
      if (
        provider.jailedUntil !== null &&
        provider.jailedUntil > this.beat &&
        this.book.fund !== null
      ) {
        if (status !== 'JAILED' && status !== 'RETIRED')
          broken('service', `${id} should be in jail, and is ${status}`)
      }
      const cap = status === 'ACTIVE' ? allowedOf(provider, this.book.policy) : 0
      if (live.size > cap)
        broken('lease-cap', `${id} is ${status} and holds ${live.size} leases of ${cap}`)
    }
  }

  /** Nothing that fell due up to the time of the batch may be left. */
  #checkDue(): void {
    const overdue = this.overdue(this.beat)
    if (overdue !== null) broken('deadline', `${overdue} outlived its time`)
  }

  #lifeEnd(job: JobEntry): number {
    // A job that waits for nothing but its proof has no end of its own (TTL-2).
    if (job.proving !== null) return Number.POSITIVE_INFINITY
    const relative = ttlRelAt(job.firstAssignedAt, this.book.policy)
    return Math.min(relative, this.book.lifeEndsAt(job))
  }

  /** What is deleted needs no account any more. */
  #forgetDeleted(): void {
    for (const [id, job] of this.book.jobs) {
      if (job.endedAt !== null && !this.#disk.jobs.has(id)) this.book.jobs.delete(id)
    }
    for (const [id, { job }] of this.book.leases) {
      if (!this.book.jobs.has(job.facts.id)) this.book.leases.delete(id)
    }
  }
}
