import { FairleadError, type Store } from '@fairlead/core'
import type { Snapshot, StoreReads, WriteBatch } from '@fairlead/core/internal'
import { recordOf } from './batch-tap.ts'
import { roundKey, type SimDisk } from './sim-disk.ts'

/** What becomes of a commit. `late` is decided by a later step: until then it hangs. */
export type CommitFate = 'ok' | 'fails' | 'lost' | 'late'
export type ReadFate = 'ok' | 'fails' | 'late'

/** Decides over the store's calls, and is told what came of them. */
export interface StoreFates {
  commit(): CommitFate
  load(): Exclude<ReadFate, 'late'>
  read(): ReadFate
  /** The batch is on the disk now, whether or not the engine will hear of it. */
  written(commit: Commit): void
  loaded(): void
}

/** Rows, and the recorded commands that led to them; null where there were none. */
export interface Commit {
  readonly batch: WriteBatch
  readonly record: Uint8Array | null
}

interface Pending extends Commit {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/**
 * One engine's connection to the disk. Commits are written in order; while one hangs, those after it
 * hang too. A killed connection answers nothing any more, like a process that is gone.
 */
export class SimStore implements Store {
  readonly #disk: SimDisk
  readonly #fates: StoreFates
  #pending: Pending[] = []
  #reading: (() => void)[] = []
  #isDead = false
  /** Calls that failed, as far as the engine can tell. */
  faults = 0
  /** What the engine has in memory may be wrong, or it has left that: a call failed, and it has not loaded since. */
  isStale = false
  /** Jobs whose payloads could not be read when they were asked for last: somebody waits for them. */
  readonly owed = new Set<number>()
  /** Commits that were handed over behind two or more that hang: only an opening does that (ENGINE-2). */
  crowded = 0
  /** Grows with every call. */
  activity = 0
  readonly read: StoreReads

  constructor(disk: SimDisk, fates: StoreFates) {
    this.#disk = disk
    this.#fates = fates
    this.read = this.#reads()
  }

  /** A call hangs. */
  get isBusy(): boolean {
    return this.#pending.length > 0 || this.#reading.length > 0
  }

  load(): Promise<Snapshot> {
    this.activity++
    if (this.#isDead) return new Promise(() => {})
    if (this.#fates.load() === 'fails') {
      this.#noteFault()
      return Promise.reject(unavailable('the disk cannot be read'))
    }
    const snapshot = this.#disk.snapshot()
    this.isStale = false
    this.#fates.loaded()
    return Promise.resolve(snapshot)
  }

  commit(batch: WriteBatch): Promise<void> {
    this.activity++
    if (this.#isDead) return new Promise(() => {})
    return new Promise((resolve, reject) => {
      const commit = { batch, record: recordOf(batch), resolve, reject }
      if (this.#pending.length >= 2) this.crowded++
      const fate = this.#pending.length > 0 ? 'late' : this.#fates.commit()
      if (fate === 'late') this.#pending.push(commit)
      else this.#decide(commit, fate)
    })
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  /** Lets a look-up that hangs come to its end; false if none does. */
  releaseRead(): boolean {
    const read = this.#reading.shift()
    read?.()
    return read !== undefined
  }

  /** Lets the oldest commit that hangs come to its end; if it fails, so do those built on it. */
  release(fate: Exclude<CommitFate, 'late'>): void {
    const [first, ...rest] = this.#pending
    if (first === undefined) return
    this.#pending = fate === 'ok' ? rest : []
    this.#decide(first, fate)
    if (fate !== 'ok') for (const commit of rest) this.#decide(commit, 'fails')
  }

  /** The process is gone; of the commits that hung, the first so many made it to the disk. */
  kill(written: number): void {
    this.#isDead = true
    const pending = this.#pending
    this.#pending = []
    this.#reading = []
    for (const commit of pending.slice(0, written)) this.#fates.written(commit)
  }

  #decide(commit: Pending, fate: Exclude<CommitFate, 'late'>): void {
    this.activity++
    if (fate !== 'ok') this.#noteFault()
    if (fate !== 'fails') this.#fates.written(commit)
    if (fate === 'ok') commit.resolve()
    else commit.reject(unavailable(fate === 'lost' ? 'the answer was lost' : 'the disk is full'))
  }

  #noteFault(): void {
    this.faults++
    this.isStale = true
  }

  /** A look-up sees the disk as it is at some time between the question and the answer. */
  #lookUp<T>(see: () => T): Promise<T> {
    this.activity++
    if (this.#isDead) return new Promise(() => {})
    const fate = this.#fates.read()
    if (fate === 'ok') return Promise.resolve(see())
    if (fate === 'fails') {
      this.#noteFault()
      return Promise.reject(unavailable('the disk cannot be read'))
    }
    const early = see()
    return new Promise((resolve) => {
      this.#reading.push(() => resolve(this.#reading.length % 2 === 0 ? early : see()))
    })
  }

  /** The engine goes on without them, and asks again. */
  #readPayloads(seqs: readonly number[]): Promise<(Uint8Array | null)[]> {
    this.activity++
    if (this.#isDead) return new Promise(() => {})
    if (this.#fates.load() === 'ok') {
      for (const seq of seqs) this.owed.delete(seq)
      return Promise.resolve(seqs.map((seq) => this.#disk.payloadOf(seq)))
    }
    this.faults++
    for (const seq of seqs) this.owed.add(seq)
    return Promise.reject(unavailable('the payloads cannot be read'))
  }

  /** One that engines need for loading, where nothing would let it go on if it hung. */
  #orFails<T>(see: () => T): Promise<T> {
    this.activity++
    if (this.#isDead) return new Promise(() => {})
    if (this.#fates.load() === 'ok') return Promise.resolve(see())
    this.#noteFault()
    return Promise.reject(unavailable('the disk cannot be read'))
  }

  #reads(): StoreReads {
    const disk = this.#disk
    return {
      jobsByTx: (keys) =>
        this.#lookUp(() =>
          keys.map(({ caller, txHash }) => {
            const id = disk.jobByTx(caller, txHash)
            return id === null ? null : { id, payload: disk.payloads.get(id) as Uint8Array }
          }),
        ),
      job: (id) => Promise.resolve(disk.jobs.get(id) ?? null),
      payloads: (seqs) => this.#readPayloads(seqs),
      jobs: (filter) => Promise.resolve(disk.list(filter)),
      leases: (jobId) => Promise.resolve(disk.leasesOf(jobId)),
      failures: (jobId) => Promise.resolve(disk.failuresOf(jobId)),
      lease: (id) => Promise.resolve(disk.leases.get(id) ?? null),
      result: (jobId) => Promise.resolve(disk.results.get(jobId) ?? null),
      round: (height, kind) => Promise.resolve(disk.rounds.get(roundKey(height, kind)) ?? null),
      journal: (afterSeq, limit) => Promise.resolve(disk.entriesAfter(afterSeq).slice(0, limit)),
      timeline: (jobId) => Promise.resolve(disk.timeline(jobId)),
      assignmentsSince: (atMs) => this.#orFails(() => disk.assignmentsSince(atMs)),
      everything: () => Promise.resolve(disk.everything()),
    }
  }
}

function unavailable(why: string): FairleadError {
  return new FairleadError('StoreUnavailable', why)
}
