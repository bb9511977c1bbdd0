import { JOB_STATUSES, type JobId, LEASE_STATUSES, type LeaseId } from '@fairlead/core'
import { invariant, type JournalRecord, type WriteBatch } from '@fairlead/core/internal'
import {
  FAILURE,
  JOB,
  LANE,
  LEASE,
  META,
  PROVIDER,
  RESULT,
  ROUND,
  type RowType,
  SHARE,
} from '../../../rows/rows.ts'
import { BatchReader } from './batch-reader.ts'

/** Columns of a row in the order in which version 4 logged them. */
function part<Row>({ columns, ...rest }: RowType<Row>, names: string): RowType<Row> {
  const found = names.split(' ').map((name) => columns.find(({ column }) => column === name))
  return { ...rest, columns: found.filter((column) => column !== undefined) }
}

const JOB_FACTS = part(
  JOB,
  'kind enqueue_height tier fee size_bytes model shots depth_hint units tokens regions needs ttl_abs_secs enqueue_ts chain_id origin',
)
const JOB_STATE = part(
  JOB,
  'provider_id attempt retries declines worker_losses not_before first_assigned_at ended_at reason proof_awaited_since denials',
)
const LEASE_FACTS = part(
  LEASE,
  'provider_id t_start epoch round length_ms renew_alpha renew_beta renewals_max',
)
const LEASE_STATE = part(LEASE, 't_deadline renewals is_acked digest ack_timeout_ms worker_id')
const OLD_PROVIDER = part(
  PROVIDER,
  'id status capabilities models platforms max_depth max_shots max_width gates precision region allow deny leases_max stake attestation last_heartbeat credited_at silent_steps health failures cooldown_until class_cooldowns units workers',
)
const OLD_RESULT = part(
  RESULT,
  'job_id caller lease_id provider_id digest units at output content_type meta',
)
const OLD_FAILURE = part(FAILURE, 'at code message details')

type JobRow = WriteBatch['newJobs'][number]['row']
type LeaseRow = WriteBatch['newLeases'][number]

/** The rows of several batches of a log of rows, each in its newest form. */
export class LoggedRows {
  readonly newJobs = new Map<number, { row: JobRow; payload: Uint8Array }>()
  readonly jobs = new Map<number, WriteBatch['jobs'][number]>()
  readonly newLeases = new Map<string, LeaseRow>()
  readonly leases = new Map<string, WriteBatch['leases'][number]>()
  readonly rounds = new Map<string, WriteBatch['rounds'][number]>()
  readonly journal: JournalRecord[] = []
  readonly #results = new Map<number, WriteBatch['results'][number]>()
  readonly #failures = new Map<string, WriteBatch['failures'][number]>()
  readonly #providers = new Map<string, WriteBatch['providers'][number]>()
  readonly #shares = new Map<string, WriteBatch['shares'][number]>()
  readonly #lanes = new Map<string, WriteBatch['lanes'][number]>()
  readonly #meta: Record<string, string> = {}
  #prune: Pick<WriteBatch, 'pruneEndedBefore' | 'pruneResultsBefore' | 'cutJournalAt'> = {
    pruneEndedBefore: null,
    pruneResultsBefore: null,
    cutJournalAt: null,
  }
  #erase: WriteBatch['eraseEnded'] = null

  constructor(batches: readonly Buffer[]) {
    for (const batch of batches) this.#take(new BatchReader(batch))
  }

  /**
   * What the tables lack. A job that was deleted may have changes that came before; `storedId` gives the ids of jobs that are in
   * the tables.
   */
  rest(lastEntry: number, storedId: (jobSeq: number) => JobId | null): Partial<WriteBatch> {
    const idOf = (seq: number): JobId | null => this.newJobs.get(seq)?.row.id ?? storedId(seq)
    const there = <Row extends { readonly jobSeq: number }>(rows: Iterable<Row>): Row[] =>
      [...rows].filter(({ jobSeq }) => idOf(jobSeq) !== null)
    const newLeases = there(this.newLeases.values()).map((row) => {
      return { ...row, jobId: idOf(row.jobSeq) as JobId }
    })
    return {
      ...this.#prune,
      eraseEnded: this.#erase,
      newJobs: [...this.newJobs.values()],
      jobs: [...this.jobs.values()].filter(({ seq }) => idOf(seq) !== null),
      newLeases,
      leases: there(this.leases.values()),
      results: there(this.#results.values()),
      failures: there(this.#failures.values()),
      journal: this.journal.filter(({ seq }) => seq > lastEntry),
      rounds: [...this.rounds.values()],
      providers: [...this.#providers.values()],
      shares: [...this.#shares.values()],
      lanes: [...this.#lanes.values()],
      meta: this.#meta,
    }
  }

  #take(reader: BatchReader): void {
    this.#takeTimes(reader)
    const facts = reader.rows(() => newJobIn(reader))
    const states = reader.rows(() => jobStateIn(reader))
    for (const [i, { row, payload }] of facts.entries()) {
      this.newJobs.set(row.seq, { row: { ...row, ...states[i] }, payload })
    }
    reader.rows(() => this.#changeJob(jobStateIn(reader)))
    const leaseFacts = reader.rows(() => newLeaseIn(reader))
    const leaseStates = reader.rows(() => leaseStateIn(reader))
    for (const [i, facts] of leaseFacts.entries()) {
      const row = { ...facts, ...leaseStates[i] } as LeaseRow
      this.newLeases.set(leaseKey(row), row)
    }
    reader.rows(() => this.#changeLease(leaseStateIn(reader)))
    reader.rows(() => keep(this.#providers, providerIn(reader), ({ id }) => id))
    reader.rows(() => {
      const jobSeq = reader.double()
      this.#results.set(jobSeq, { ...RESULT.blank, ...reader.row(OLD_RESULT), jobSeq })
    })
    reader.rows(() => {
      const found = { jobSeq: reader.double(), attempt: reader.double(), jobId: reader.id() }
      const failure = { ...reader.row(OLD_FAILURE), ...found } as WriteBatch['failures'][number]
      this.#failures.set(leaseKey(failure), failure)
    })
    reader.rows(() => keep(this.#shares, reader.row(SHARE), ({ kind, caller }) => kind + caller))
    reader.rows(() => keep(this.#lanes, reader.row(LANE), ({ lane, key }) => `${lane}\0${key}`))
    reader.rows(() => keep(this.rounds, reader.row(ROUND), ({ height, kind }) => height + kind))
    reader.rows(() => {
      const { name, value } = reader.row(META)
      this.#meta[name] = value
    })
    const first = reader.cell() as number | null
    reader.rows((i) => this.journal.push(reader.entry((first as number) + i)))
  }

  #takeTimes(reader: BatchReader): void {
    const [ended, results, from, before, cut] = Array.from({ length: 5 }, () => reader.cell()) as (
      | number
      | null
    )[]
    // The first end of a job in the batch follows.
    reader.cell()
    const { pruneEndedBefore, pruneResultsBefore, cutJournalAt } = this.#prune
    this.#prune = {
      pruneEndedBefore: ended ?? pruneEndedBefore,
      pruneResultsBefore: results ?? pruneResultsBefore,
      cutJournalAt: cut ?? cutJournalAt,
    }
    if (typeof from !== 'number' || typeof before !== 'number') return
    // Spans follow each other.
    this.#erase = { from: Math.min(from, this.#erase?.from ?? from), before }
  }

  #changeJob(state: JobState): void {
    const made = this.newJobs.get(state.seq)
    if (made === undefined) this.jobs.set(state.seq, state)
    else made.row = { ...made.row, ...state }
  }

  #changeLease(state: LeaseState): void {
    const key = leaseKey(state)
    const made = this.newLeases.get(key)
    if (made === undefined) this.leases.set(key, state)
    else this.newLeases.set(key, { ...made, ...state })
  }
}

type JobState = WriteBatch['jobs'][number]
type LeaseState = WriteBatch['leases'][number]

function leaseKey({ jobSeq, attempt }: { readonly jobSeq: number; readonly attempt: number }) {
  return `${jobSeq} ${attempt}`
}

function keep<Row>(rows: Map<string, Row>, row: Row, nameOf: (row: Row) => string): void {
  rows.set(nameOf(row), row)
}

/** Version 4 had no more than a status. JAILED was until an operator's word. */
function providerIn(reader: BatchReader): WriteBatch['providers'][number] {
  const row = reader.row(OLD_PROVIDER)
  const { status } = row
  const standing = {
    retired: status === 'RETIRED',
    jailedUntil: status === 'JAILED' ? Number.MAX_SAFE_INTEGER : null,
    suspended: status === 'SUSPENDED',
    paused: false,
    admitted: status !== 'REGISTERED',
  }
  return { ...PROVIDER.blank, ...row, standing }
}

function newJobIn(reader: BatchReader): { row: JobRow; payload: Uint8Array } {
  const names = { seq: reader.double(), id: reader.id(), caller: reader.id(), txHash: reader.id() }
  const payload = Uint8Array.from(reader.bytes())
  return { row: { ...JOB.blank, ...reader.row(JOB_FACTS), ...names } as JobRow, payload }
}

function jobStateIn(reader: BatchReader): JobState {
  const names = {
    seq: reader.double(),
    id: reader.id<JobId>(),
    status: statusAt(JOB_STATUSES, reader),
  }
  // Whether there is a time of the end, which follows.
  reader.byte()
  return { ...reader.row(JOB_STATE), releasedAt: null, ...names }
}

function newLeaseIn(reader: BatchReader): Partial<LeaseRow> {
  const names = { jobSeq: reader.double(), attempt: reader.double(), id: reader.id() }
  return { ...LEASE.blank, ...reader.row(LEASE_FACTS), ...names } as Partial<LeaseRow>
}

function leaseStateIn(reader: BatchReader): LeaseState {
  const names = { jobSeq: reader.double(), attempt: reader.double(), id: reader.id<LeaseId>() }
  const status = statusAt(LEASE_STATUSES, reader)
  return { ...reader.row(LEASE_STATE), timeoutAt: null, ...names, status }
}

/** A status is its place in the list of words. */
function statusAt<Status>(words: readonly Status[], reader: BatchReader): Status {
  const word = words[reader.byte()]
  invariant(word !== undefined, 'a status is one of the words')
  return word
}
