import {
  hasEnded,
  isLive,
  JOB_STATUSES,
  type JobStatus,
  LEASE_STATUSES,
  type LeaseStatus,
} from '@fairlead/core'
import { FAILURES_KEPT } from '@fairlead/core/internal'
import {
  type BatchRows,
  bytesAt,
  ENTRY_AT,
  FAILURE_AT,
  JOB_AT,
  JOB_STATE_AT,
  LEASE_AT,
  LEASE_STATE_AT,
  NO_JOB,
  RESULT_AT,
  type RowAt,
  recordIn,
} from './batch-codec.ts'
import { ID_BYTES, KEY_BYTES, type KeyHasher, NewKeys, SortedKeyHashes } from './key-hashes.ts'
import { idBytes, isSameId, type PendingJob, type PendingLease } from './pending-job.ts'
import { PendingOthers, refused } from './pending-others.ts'
import type { StoredRows } from './stored-rows.ts'

/** The entries of a batch; those of them that were taken wait no more. */
interface Records {
  readonly bytes: Buffer
  /** The number of the first of them. */
  readonly first: number
  readonly entries: readonly number[]
  taken: number
}

/**
 * Rows that are in the log and not in their tables yet. A job that is enqueued, assigned, started and
 * completed within a moment is four changes of a job and three of a lease in the log, and one row each
 * in the tables. What a batch may not do is refused here, before it is logged, because a table would
 * refuse it too late (STORE-5, STORE-6).
 */
export class PendingRows {
  /** The rows that are not of a job. */
  readonly others: PendingOthers
  readonly #stored: StoredRows
  readonly #hasher: KeyHasher
  /** By number, in the order in which they began to wait. */
  readonly #jobs = new Map<number, PendingJob>()
  /** The first of them, and a walk that stands behind it: from the start on it would pass all that are gone. */
  #first: PendingJob | null = null
  #walk = this.#jobs.values()
  readonly #newKeys: NewKeys
  /** The batch up to which new keys leave; null if none do. */
  #leavingUpTo: number | null = null
  /** Jobs that were taken, and their key hashes not. */
  #unhashed: PendingJob[] = []
  /** Key hashes that are being taken. */
  readonly #sortedHashes: SortedKeyHashes
  /** Records of the journal by batch, of which the first so many were taken. */
  #records: Records[] = []
  #recordCount = 0
  /** The last entry of each batch that has any, in order. */
  #lastEntries: { readonly batch: number; readonly seq: number }[] = []
  /** No job that waits has ended before this. */
  #firstEnd = Number.POSITIVE_INFINITY
  /** Of the batch at hand: its number, and whether it is merged anew. */
  #number = 0
  #isAgain = false

  constructor(stored: StoredRows, hasher: KeyHasher) {
    this.others = new PendingOthers(stored)
    this.#stored = stored
    this.#hasher = hasher
    this.#newKeys = new NewKeys(hasher)
    this.#sortedHashes = new SortedKeyHashes(hasher)
  }

  get isEmpty(): boolean {
    return this.#jobs.size + this.recordCount === 0 && this.others.isEmpty && !this.hasKeyHashes
  }

  get jobCount(): number {
    return this.#jobs.size
  }

  get recordCount(): number {
    return this.#recordCount
  }

  /** Whether a job that waits may have ended before a time. */
  mayEndBefore(time: number): boolean {
    return this.#firstEnd < time
  }

  hasPayload(seq: number): boolean {
    return (this.#jobs.get(seq)?.facts ?? null) !== null
  }

  /** A copy: what is kept is a piece of its whole batch, and sent elsewhere it would take that along. */
  payload(seq: number): Uint8Array | undefined {
    const facts = this.#jobs.get(seq)?.facts ?? null
    return facts === null ? undefined : Uint8Array.from(payloadIn(facts))
  }

  /** The job that this caller enqueued under this key. */
  jobByKey(caller: Uint8Array, txHash: Uint8Array): { id: Uint8Array; payload: Uint8Array } | null {
    const facts = this.#newKeys.factsOf(Buffer.concat([caller, txHash]))
    if (facts === null) return null
    const id = idBytes({ bytes: facts.bytes, at: facts.at + JOB_AT.id })
    return { id, payload: Uint8Array.from(payloadIn(facts)) }
  }

  /** The batch of the job that has waited longest; null if none waits. */
  get firstBatch(): number | null {
    return this.#firstJob()?.batch ?? null
  }

  #firstJob(): PendingJob | null {
    while (this.#first === null || this.#jobs.get(this.#first.seq) !== this.#first) {
      if (this.#jobs.size === 0) return null
      const { value, done } = this.#walk.next()
      this.#first = value ?? null
      // One that is at its end does not see what came since.
      if (done === true) this.#walk = this.#jobs.values()
    }
    return this.#first
  }

  /**
   * Takes in a batch, which has this number in the log. After a refusal nothing is sure to be whole: the
   * rows are to be merged anew from the log.
   */
  merge(batch: BatchRows, number: number, journalEnd: number): void {
    const due = journalEnd + this.recordCount + 1
    if (batch.firstEntry !== null && batch.firstEntry !== due) {
      throw refused(`entry ${batch.firstEntry} is not the next one, ${due}`)
    }
    this.#number = number
    this.#merge(batch, journalEnd)
  }

  /**
   * Merges a batch from the log anew, which was looked at before. Some of it may be in the tables already, and
   * some of what came after it, because they are filled while other batches come in; but nothing that is new in
   * any batch of the log (`StoredRows.forgetNew`).
   */
  mergeAgain(batch: BatchRows, number: number, journalEnd: number): void {
    this.#number = number
    this.#isAgain = true
    try {
      this.#merge(batch, journalEnd)
    } finally {
      this.#isAgain = false
    }
  }

  #merge(batch: BatchRows, journalEnd: number): void {
    this.#firstEnd = Math.min(this.#firstEnd, batch.firstEnd ?? Number.POSITIVE_INFINITY)
    this.#addJobs(batch)
    this.#takeIn(batch)
    const { bytes } = batch
    for (const at of batch.jobs) this.#changeJob(bytes, at)
    for (const at of batch.leases) this.#changeLease(bytes, at)
    this.#addLeases(batch)
    for (const at of batch.results) {
      this.#job(bytes.readDoubleLE(at + RESULT_AT.job)).result = { bytes, at }
    }
    for (const at of batch.failures) this.#addFailure({ bytes, at })
    this.others.merge(batch)
    this.#addEntries(batch, journalEnd)
  }

  /** The jobs that have waited longest, and they wait no more. */
  takeJobs(most: number): PendingJob[] {
    const taken: PendingJob[] = []
    while (taken.length < most) {
      const job = this.#firstJob()
      if (job === null) break
      taken.push(job)
      this.#jobs.delete(job.seq)
      this.#nameLater(job)
    }
    return taken
  }

  /** The same for one of them; null if it does not wait. */
  takeJob(seq: number): PendingJob | null {
    const job = this.#jobs.get(seq)
    if (job === undefined) return null
    this.#jobs.delete(seq)
    this.#nameLater(job)
    return job
  }

  /** Those that are alive or that a table has, which may take them for alive; and they wait no more. */
  takeLive(): PendingJob[] {
    const taken: PendingJob[] = []
    for (const job of this.#jobs.values()) {
      if (job.facts === null || !hasEnded(job.status)) taken.push(job)
    }
    for (const { seq } of taken) this.takeJob(seq)
    return taken
  }

  /** The number of the job that has this id, or a lease of this id, if that is not in the stored table of hashes. */
  seqOf(id: Uint8Array): number | null {
    const facts = this.#newKeys.factsOf(id)
    // In the facts of a job and in those of a lease the number of the job stands first.
    return facts === null ? null : facts.bytes.readDoubleLE(facts.at)
  }

  /** Jobs that wait, between two numbers, these excluded. */
  seqsBetween(low: number, high: number): number[] {
    const seqs: number[] = []
    for (const seq of this.#jobs.keys()) if (seq > low && seq < high) seqs.push(seq)
    return seqs
  }

  /** Jobs that wait and whose ids begin with these hex digits. */
  seqsByPrefix(digits: string): number[] {
    const start = Buffer.from(digits.slice(0, 2 * Math.floor(digits.length / 2)), 'hex')
    const seqs: number[] = []
    for (const { seq, id } of this.#jobs.values()) {
      if (start.compare(id.bytes, id.at, id.at + start.length) !== 0) continue
      if (id.bytes.toString('hex', id.at, id.at + ID_BYTES).startsWith(digits)) seqs.push(seq)
    }
    return seqs
  }

  /** Caller and tx_hash of those among them that are new. */
  keysBetween(low: number, high: number): Uint8Array[] {
    const keys: Uint8Array[] = []
    for (const { seq, facts } of this.#jobs.values()) {
      if (seq > low && seq < high && facts !== null) keys.push(keyBytes(keyIn(facts)))
    }
    return keys
  }

  #nameLater(job: PendingJob): void {
    if (job.facts !== null || job.leases.some(({ facts }) => facts !== null)) {
      this.#unhashed.push(job)
    }
  }

  get hasKeyHashes(): boolean {
    return this.#sortedHashes.left + this.#unhashed.length > 0
  }

  /** The next key hashes of the jobs that were taken, as cells in the order of their table. */
  takeKeyHashes(most: number): number[] {
    if (this.#sortedHashes.left === 0) this.#sortHashes()
    return this.#sortedHashes.take(most)
  }

  #sortHashes(): void {
    for (const { seq, id, facts, leases } of this.#unhashed) {
      if (facts !== null) {
        this.#sortedHashes.add(seq, id, ID_BYTES)
        this.#sortedHashes.add(seq, keyIn(facts), KEY_BYTES)
      }
      for (const lease of leases) {
        if (lease.facts !== null) this.#sortedHashes.add(seq, lease.id, ID_BYTES)
      }
    }
    this.#unhashed = []
  }

  /** `last` is the newest batch. New keys are forgotten when all that are there now were checkpointed. */
  checkpointBegins(last: number): void {
    if (this.#leavingUpTo !== null) return
    this.#newKeys.leave()
    this.#leavingUpTo = last
  }

  /** What came up to a batch is in the tables, and its key hashes are known there. */
  checkpointEnds(upTo: number): void {
    if (this.#jobs.size === 0) this.#firstEnd = Number.POSITIVE_INFINITY
    if (this.#jobs.size === 0 && !this.hasKeyHashes) this.#newKeys.clear()
    else if (this.#leavingUpTo !== null && this.#leavingUpTo <= upTo) this.#newKeys.forgetLeft()
    else return
    this.#leavingUpTo = null
  }

  /** The records that have waited longest, and they wait no more. */
  takeRecords(most: number): Uint8Array[] {
    const taken: Uint8Array[] = []
    let over = 0
    for (const records of this.#records) {
      const { bytes, first, entries } = records
      for (; records.taken < entries.length && taken.length < most; records.taken++) {
        const at = entries[records.taken] as number
        taken.push(recordIn({ bytes, at }, first + records.taken))
      }
      if (records.taken < entries.length) break
      over++
    }
    this.#records.splice(0, over)
    this.#recordCount -= taken.length
    return taken
  }

  /** The number of the last entry of the batches up to a number, if that is not before `journalEnd`. */
  lastEntryOf(upTo: number, journalEnd: number): number {
    const later = this.#lastEntries.findIndex(({ batch }) => batch > upTo)
    const over = this.#lastEntries.splice(0, later < 0 ? this.#lastEntries.length : later)
    return Math.max(journalEnd, over.at(-1)?.seq ?? 0)
  }

  clear(): void {
    this.#jobs.clear()
    this.#newKeys.clear()
    this.#leavingUpTo = null
    this.#unhashed = []
    this.#sortedHashes.clear()
    this.#records = []
    this.#recordCount = 0
    this.#lastEntries = []
    this.#firstEnd = Number.POSITIVE_INFINITY
    this.others.clear()
  }

  #addJobs({ bytes, newJobs, newJobStates }: BatchRows): void {
    if (newJobs.length === 0) return
    const seqs: number[] = []
    const hashes: number[] = []
    for (let i = 0; i < newJobs.length; i++) {
      const facts = { bytes, at: newJobs[i] as number }
      seqs.push(this.#newJob(facts, { bytes, at: newJobStates[i] as number }, hashes))
    }
    if (this.#stored.hasSeqs(seqs)) throw refused('the number of a new job is taken')
    const taken = this.#stored.taken(hashes)
    if (taken.size > 0) for (const at of newJobs) this.#refuseTaken({ bytes, at }, taken)
  }

  /** Others may have the same hashes, so what they stand for is compared. */
  #refuseTaken(facts: RowAt, taken: ReadonlySet<number>): void {
    const id = idBytes({ bytes: facts.bytes, at: facts.at + JOB_AT.id })
    if (taken.has(this.#hasher.hashOf(id)) && this.#stored.seqOf(id) !== null) {
      throw refused('the id of a new job is taken')
    }
    const key = keyBytes(keyIn(facts))
    if (!taken.has(this.#hasher.hashOf(key))) return
    if (this.#stored.hasJobKey(key.subarray(0, ID_BYTES), key.subarray(ID_BYTES))) {
      throw refused('another job has the caller and tx_hash of a new one')
    }
  }

  /** Adds the hashes of its keys to a list; returns its number. */
  #newJob(facts: RowAt, state: RowAt, hashes: number[]): number {
    const { bytes, at } = facts
    const seq = bytes.readDoubleLE(at + JOB_AT.seq)
    const id = { bytes, at: at + JOB_AT.id }
    const idHash = this.#hasher.hashOf(bytes, id.at, ID_BYTES)
    if (this.#jobs.has(seq) || !this.#newKeys.add(idHash, id.at, ID_BYTES, facts)) {
      throw refused(`job ${seq} is not new`)
    }
    const keyAt = at + JOB_AT.caller
    const keyHash = this.#hasher.hashOf(bytes, keyAt, KEY_BYTES)
    if (!this.#newKeys.add(keyHash, keyAt, KEY_BYTES, facts)) {
      throw refused(`another job than ${seq} has its caller and tx_hash`)
    }
    hashes.push(idHash, keyHash)
    const status = jobStatusIn(state)
    this.#jobs.set(seq, {
      seq,
      batch: this.#number,
      id,
      facts,
      state,
      status,
      hasStoredLeases: false,
      leases: NO_LEASES,
      result: null,
      failures: NO_FAILURES,
      lastEntry: 0,
      entries: '',
    })
    return seq
  }

  /** Jobs that a batch is about and that do not wait yet, if they are there. */
  #takeIn({ bytes, jobs, newLeases, leases, results, failures, entries }: BatchRows): void {
    const unknown = new Set<number>()
    for (const places of [jobs, newLeases, leases, results, failures, entries]) {
      // In all of these the job stands first.
      for (const at of places) {
        const seq = bytes.readDoubleLE(at)
        if (seq !== NO_JOB && !this.#jobs.has(seq)) unknown.add(seq)
      }
    }
    if (unknown.size === 0) return
    for (const { seq, id, status, hasLeases } of this.#stored.jobs([...unknown])) {
      this.#jobs.set(seq, {
        seq,
        batch: this.#number,
        id: { bytes: Buffer.from(id), at: 0 },
        facts: null,
        state: null,
        status,
        hasStoredLeases: hasLeases,
        leases: NO_LEASES,
        result: null,
        failures: NO_FAILURES,
        lastEntry: this.#isAgain ? this.#stored.lastEntry(seq) : 0,
        entries: '',
      })
    }
  }

  #job(seq: number): PendingJob {
    const job = this.#jobs.get(seq)
    if (job === undefined) throw refused(`there is no job ${seq}`)
    return job
  }

  /** Of an ended job the status stays (STATE-2). */
  #changeJob(bytes: Buffer, at: number): void {
    const state = { bytes, at }
    const job = this.#job(bytes.readDoubleLE(at + JOB_STATE_AT.seq))
    const status = jobStatusIn(state)
    if (!isSameId(job.id, { bytes, at: at + JOB_STATE_AT.id })) {
      throw refused(`there is no job ${job.seq} of this id`)
    }
    if (hasEnded(job.status) && job.status !== status && !this.#isAgain) {
      throw refused(`job ${job.seq} is ${job.status} and never changes again`)
    }
    job.state = state
    job.status = status
  }

  /** Of an ended lease the status stays (STATE-3). */
  #changeLease(bytes: Buffer, at: number): void {
    const state = { bytes, at }
    const job = this.#job(bytes.readDoubleLE(at + LEASE_STATE_AT.job))
    const attempt = bytes.readDoubleLE(at + LEASE_STATE_AT.attempt)
    const status = leaseStatusIn(state)
    const lease = this.#lease(job, attempt)
    if (lease === null || !isSameId(lease.id, { bytes, at: at + LEASE_STATE_AT.id })) {
      throw refused(`job ${job.seq} has no lease ${attempt} of this id`)
    }
    if (!isLive(lease.status) && lease.status !== status && !this.#isAgain) {
      throw refused(`lease ${attempt} of job ${job.seq} is ${lease.status} and never changes again`)
    }
    lease.state = state
    lease.status = status
  }

  #lease(job: PendingJob, attempt: number): PendingLease | null {
    const pending = job.leases.find((lease) => lease.attempt === attempt)
    if (pending !== undefined) return pending
    const stored = this.#stored.lease(job.seq, attempt)
    if (stored === null) return null
    const id = { bytes: Buffer.from(stored.id), at: 0 }
    const lease = { attempt, id, facts: null, state: null, status: stored.status }
    job.leases = [...job.leases, lease]
    return lease
  }

  #addLeases({ bytes, newLeases, newLeaseStates }: BatchRows): void {
    if (newLeases.length === 0) return
    const hashes: number[] = []
    for (let i = 0; i < newLeases.length; i++) {
      const facts = { bytes, at: newLeases[i] as number }
      hashes.push(this.#newLease(facts, { bytes, at: newLeaseStates[i] as number }))
    }
    const taken = this.#stored.taken(hashes)
    for (const at of taken.size === 0 ? [] : newLeases) {
      const id = idBytes({ bytes, at: at + LEASE_AT.id })
      if (taken.has(this.#hasher.hashOf(id)) && this.#stored.jobOfLease(id) !== null) {
        throw refused('the id of a new lease is taken')
      }
    }
  }

  /** Returns the hash of its id. */
  #newLease(facts: RowAt, state: RowAt): number {
    const { bytes, at } = facts
    const job = this.#job(bytes.readDoubleLE(at + LEASE_AT.job))
    const attempt = bytes.readDoubleLE(at + LEASE_AT.attempt)
    const id = { bytes, at: at + LEASE_AT.id }
    const isTaken = job.hasStoredLeases
      ? this.#lease(job, attempt) !== null
      : job.leases.some((lease) => lease.attempt === attempt)
    const idHash = this.#hasher.hashOf(bytes, id.at, ID_BYTES)
    if (isTaken || !this.#newKeys.add(idHash, id.at, ID_BYTES, facts)) {
      throw refused(`lease ${attempt} of job ${job.seq} is not new`)
    }
    const status = leaseStatusIn(state)
    if (isLive(status) && this.#hasLive(job)) {
      throw refused(`job ${job.seq} has a live lease already`)
    }
    // Most jobs have one, and to a list that is added to V8 gives room for seventeen.
    job.leases = [...job.leases, { attempt, id, facts, state, status }]
    return idHash
  }

  #hasLive(job: PendingJob): boolean {
    if (job.leases.some(({ status }) => isLive(status))) return true
    const live = job.hasStoredLeases ? this.#stored.liveAttempt(job.seq) : null
    return live !== null && !job.leases.some(({ attempt }) => attempt === live)
  }

  /** It takes the place of one of the same attempt, and deletes those of old ones (STORE-7, STORE-10). */
  #addFailure(row: RowAt): void {
    const { bytes, at } = row
    const job = this.#job(bytes.readDoubleLE(at + FAILURE_AT.job))
    if (!isSameId(job.id, { bytes, at: at + FAILURE_AT.id })) {
      throw refused(`there is no job ${job.seq} of this id`)
    }
    const attempt = attemptIn(row)
    const kept = job.failures.filter((failure) => {
      const other = attemptIn(failure)
      return other !== attempt && other > attempt - FAILURES_KEPT
    })
    job.failures = [...kept, row]
  }

  /** One about a job that is not there is in the journal only (STORE-8). */
  #addEntries({ bytes, firstEntry, entries }: BatchRows, journalEnd: number): void {
    let seq = firstEntry ?? 0
    for (const at of entries) {
      const job = this.#jobs.get(bytes.readDoubleLE(at + ENTRY_AT.job))
      if (job !== undefined && seq > job.lastEntry) job.entries += ` ${seq}`
      seq++
    }
    if (entries.length === 0) return
    this.#lastEntries.push({ batch: this.#number, seq: seq - 1 })
    // Merged anew, the first of them may be in the journal.
    const left = Math.min(entries.length, seq - 1 - journalEnd)
    if (left <= 0) return
    this.#records.push({ bytes, first: firstEntry ?? 0, entries, taken: entries.length - left })
    this.#recordCount += left
  }
}

const NO_LEASES: readonly PendingLease[] = []
const NO_FAILURES: readonly RowAt[] = []

/** The attempt of a failure. */
export function attemptIn({ bytes, at }: RowAt): number {
  return bytes.readDoubleLE(at + FAILURE_AT.attempt)
}

/** The canonical payload of a new job; a view. */
export function payloadIn({ bytes, at }: RowAt): Buffer {
  return bytesAt(bytes, at + JOB_AT.payload)
}

/** Where caller and tx_hash of a new job are, which stand side by side. */
function keyIn({ bytes, at }: RowAt): RowAt {
  return { bytes, at: at + JOB_AT.caller }
}

function keyBytes({ bytes, at }: RowAt): Uint8Array {
  return bytes.subarray(at, at + KEY_BYTES)
}

function jobStatusIn({ bytes, at }: RowAt): JobStatus {
  const status = JOB_STATUSES[bytes[at + JOB_STATE_AT.status] as number]
  if (status === undefined) throw refused(`a job is one of ${JOB_STATUSES.join(', ')}`)
  const isEnd = hasEnded(status)
  if (isEnd !== (bytes[at + JOB_STATE_AT.hasEnd] === 1)) {
    throw refused(`a job that is ${status} ${isEnd ? 'has' : 'does not have'} an end`)
  }
  return status
}

function leaseStatusIn({ bytes, at }: RowAt): LeaseStatus {
  const status = LEASE_STATUSES[bytes[at + LEASE_STATE_AT.status] as number]
  if (status === undefined) throw refused(`a lease is one of ${LEASE_STATUSES.join(', ')}`)
  return status
}
