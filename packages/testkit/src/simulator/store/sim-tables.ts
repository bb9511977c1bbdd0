import type { KeyPrints, Snapshot, StoreReads, Tables, WriteBatch } from '@fairlead/core/internal'
import { broken } from '../violation.ts'
import {
  type ApplyFate,
  never,
  type StoreFates,
  type StoreNotes,
  unavailable,
} from './store-fates.ts'
import type { TableFile } from './table-file.ts'

const KEYS_AT_ONCE = 20

interface Call {
  readonly carryOut: () => number | null
  readonly resolve: (answer: never) => void
  readonly reject: (error: Error) => void
}

/**
 * One engine's connection to the tables. Calls are carried out in order; while one hangs, those behind it hang too.
 * What was applied is seen by reads at once, and becomes durable some time later.
 */
export class SimTables implements Tables {
  readonly read: StoreReads
  readonly #file: TableFile
  readonly #fates: StoreFates
  readonly #notes: StoreNotes
  readonly #logEnd: () => number
  #pending: Call[] = []
  #isDead = false
  #turns = 0
  /** The last call failed, and has not succeeded since. */
  isFailing = false
  /** When a call last hung or failed. */
  troubledAt = 0
  /** The number of calls that hung. */
  hangs = 0

  constructor(
    file: TableFile,
    parts: {
      readonly read: StoreReads
      readonly fates: StoreFates
      readonly notes: StoreNotes
      readonly logEnd: () => number
    },
  ) {
    this.#file = file
    this.read = parts.read
    this.#fates = parts.fates
    this.#notes = parts.notes
    this.#logEnd = parts.logEnd
  }

  /** A call hangs. */
  get isBusy(): boolean {
    return this.#pending.length > 0
  }

  load(): Promise<Snapshot> {
    this.#notes.activity++
    if (this.#isDead) return never()
    if (this.#fates.load() === 'ok') {
      return Promise.resolve(this.#file.seen.snapshot(this.#file.batch))
    }
    this.#notes.faults++
    return Promise.reject(unavailable('the tables cannot be read'))
  }

  /** Few at a time, so that the filter is not complete at once. */
  keyPrints(afterSeq: number): Promise<KeyPrints> {
    this.#notes.activity++
    if (this.#isDead) return never()
    if (this.#fates.load() !== 'ok') return Promise.reject(unavailable('the keys cannot be read'))
    const rows = [...this.#file.seen.jobs.values()]
      .filter(({ seq }) => seq > afterSeq)
      .sort((a, b) => a.seq - b.seq)
      .slice(0, KEYS_AT_ONCE)
    const start = (id: string): number => Number.parseInt(id.slice(2, 10), 16)
    return Promise.resolve({
      prints: Uint32Array.from(rows, ({ caller, txHash }) => start(caller) ^ start(txHash)),
      lastSeq: rows.length < KEYS_AT_ONCE ? null : (rows.at(-1)?.seq ?? null),
    })
  }

  apply(rows: WriteBatch, batch: number): Promise<number> {
    return this.#call(() => {
      const { file, isNew } = { file: this.#file, isNew: this.#file.seen.meta.size === 0 }
      if (batch > this.#logEnd())
        broken(
          'projection',
          `rows of batch ${batch} are given, and the log ends with ${this.#logEnd()}`,
        )
      if (!isNew && batch <= file.batch)
        broken('projection', `rows of batch ${batch} are given, and the tables have ${file.batch}`)
      file.apply(rows, batch)
      if (isNew) this.#fates.installed(rows)
      file.flush(this.#fates.flushed(file.atRisk))
      return file.durable
    })
  }

  sync(): Promise<number> {
    return this.#call(() => {
      this.#file.flush()
      return this.#file.durable
    })
  }

  scrub(): Promise<number | null> {
    return this.#call(() => {
      if (this.#file.scrubbed >= this.#file.erased) return null
      this.#file.scrub()
      return this.#file.durable
    })
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  /** Lets the oldest call that hangs come to its end; false if none does. */
  release(fate: Exclude<ApplyFate, 'late'>): boolean {
    const first = this.#pending.shift()
    if (first === undefined) return false
    this.troubledAt = this.#fates.now()
    this.#decide(first, fate)
    return true
  }

  kill(): void {
    this.#isDead = true
    this.#pending = []
  }

  #call<Answer extends number | null>(carryOut: () => Answer): Promise<Answer> {
    this.#notes.activity++
    if (this.#isDead) return never()
    return new Promise<Answer>((resolve, reject) => {
      const call: Call = { carryOut, resolve, reject }
      const fate = this.#pending.length > 0 ? 'late' : this.#fates.apply()
      if (fate === 'late') {
        this.hangs++
        this.#pending.push(call)
      } else this.#decide(call, fate)
    })
  }

  #decide({ carryOut, resolve, reject }: Call, fate: Exclude<ApplyFate, 'late'>): void {
    this.#notes.activity++
    const turn = ++this.#turns
    if (fate === 'fails') {
      this.isFailing = true
      this.troubledAt = this.#fates.now()
      this.#notes.faults++
      return reject(unavailable('the tables cannot be written'))
    }
    // The engine hears of it a moment later.
    setImmediate(() => {
      if (turn === this.#turns) this.isFailing = false
    })
    let answer: number | null = null
    if (fate !== 'cut before') {
      this.#fates.watch(() => {
        answer = carryOut()
      })
    }
    if (fate === 'ok') resolve(answer as never)
    else this.#fates.cut()
  }
}
