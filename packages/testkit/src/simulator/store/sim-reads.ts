import type { StoreReads } from '@fairlead/core/internal'
import { roundKey, type SimDisk } from './sim-disk.ts'
import { never, type StoreFates, type StoreNotes, unavailable } from './store-fates.ts'

/** The reads of the tables. Those that an engine needs to go on may fail, and its look-ups may also hang. */
export class SimReads {
  readonly reads: StoreReads
  readonly #disk: () => SimDisk
  readonly #fates: StoreFates
  readonly #notes: StoreNotes
  #hanging: (() => void)[] = []
  #isDead = false
  /** When the payloads of jobs were asked for in vain: somebody will ask again. */
  readonly #owed = new Map<number, number>()

  constructor(disk: () => SimDisk, fates: StoreFates, notes: StoreNotes) {
    this.#disk = disk
    this.#fates = fates
    this.#notes = notes
    this.reads = this.#all()
  }

  /** A look-up hangs. */
  get isBusy(): boolean {
    return this.#hanging.length > 0
  }

  /** When the payload of a job was last asked for in vain; null if it never was. */
  owedSince(seq: number): number | null {
    return this.#owed.get(seq) ?? null
  }

  /** Lets a look-up that hangs come to its end; false if none does. */
  release(): boolean {
    const read = this.#hanging.shift()
    read?.()
    return read !== undefined
  }

  kill(): void {
    this.#isDead = true
    this.#hanging = []
  }

  /** A look-up sees the disk as it is at some time between the question and the answer. */
  #lookUp<T>(see: () => T): Promise<T> {
    this.#notes.activity++
    if (this.#isDead) return never()
    const fate = this.#fates.read()
    if (fate === 'ok') return Promise.resolve(see())
    if (fate === 'fails') {
      this.#notes.faults++
      return Promise.reject(unavailable('the disk cannot be read'))
    }
    const early = see()
    return new Promise((resolve) => {
      this.#hanging.push(() => resolve(this.#hanging.length % 2 === 0 ? early : see()))
    })
  }

  /** The engine goes on without them, and asks again. */
  #readPayloads(seqs: readonly number[]): Promise<(Uint8Array | null)[]> {
    this.#notes.activity++
    if (this.#isDead) return never()
    const isRead = this.#fates.load() === 'ok'
    const payloads = seqs.map((seq) => this.#disk().payloadOf(seq))
    // If one is not there yet, all of them are asked for again.
    if (!isRead || payloads.includes(null)) {
      for (const seq of seqs) this.#owed.set(seq, this.#fates.now())
    }
    if (!isRead) {
      this.#notes.faults++
      return Promise.reject(unavailable('the payloads cannot be read'))
    }
    return Promise.resolve(payloads)
  }

  /** One that engines need for loading, where nothing would let it go on if it hung. */
  #orFails<T>(see: () => T): Promise<T> {
    this.#notes.activity++
    if (this.#isDead) return never()
    if (this.#fates.load() === 'ok') return Promise.resolve(see())
    this.#notes.faults++
    return Promise.reject(unavailable('the disk cannot be read'))
  }

  /** Others always answer, as long as the process is there. */
  #see<T>(see: (disk: SimDisk) => T): Promise<T> {
    this.#notes.activity++
    return this.#isDead ? never() : Promise.resolve(see(this.#disk()))
  }

  #all(): StoreReads {
    return {
      jobsByTx: (keys) =>
        this.#lookUp(() => {
          const disk = this.#disk()
          return keys.map(({ caller, txHash }) => {
            const id = disk.jobByTx(caller, txHash)
            return id === null ? null : { id, payload: disk.payloads.get(id) as Uint8Array }
          })
        }),
      job: (id) => this.#see(({ jobs }) => jobs.get(id) ?? null),
      payloads: (seqs) => this.#readPayloads(seqs),
      jobs: (filter) => this.#see((disk) => disk.list(filter)),
      leases: (jobId) => this.#see((disk) => disk.leasesOf(jobId)),
      failures: (jobId) => this.#see((disk) => disk.failuresOf(jobId)),
      lease: (id) => this.#see(({ leases }) => leases.get(id) ?? null),
      result: (jobId) => this.#see(({ results }) => results.get(jobId) ?? null),
      round: (height, kind) =>
        this.#see(({ rounds }) => rounds.get(roundKey(height, kind)) ?? null),
      settlements: (beforeEpoch, limit) =>
        this.#see((disk) => disk.settledBefore(beforeEpoch).slice(0, limit)),
      settlementParts: (epochId) =>
        this.#see(({ settlements }) => [...(settlements.get(epochId)?.parts ?? [])]),
      journal: (afterSeq, limit) =>
        this.#see((disk) => disk.entriesAfter(afterSeq).slice(0, limit)),
      timeline: (jobId) => this.#see((disk) => disk.timeline(jobId)),
      assignmentsSince: (atMs) => this.#orFails(() => this.#disk().assignmentsSince(atMs)),
      everything: () => this.#see((disk) => disk.everything()),
    }
  }
}
