import type { Log, LogEnd, LogRecord } from '@fairlead/core/internal'
import { broken } from '../violation.ts'
import type { LogFile } from './log-file.ts'
import { never, type StoreFates, type StoreNotes, unavailable } from './store-fates.ts'

/** What becomes of an append in the end; see `StoreFates`. */
type EndFate = 'ok' | 'fails' | 'lost' | 'cut before' | 'cut after'

interface Call {
  readonly record: LogRecord
  readonly since: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/**
 * One engine's connection to the log. Records are appended in order; while one hangs, those behind it hang too. After
 * one was refused, all others are, until it is given again. A killed connection answers nothing any more.
 */
export class SimLog implements Log {
  readonly #file: LogFile
  readonly #fates: StoreFates
  readonly #notes: StoreNotes
  readonly #durable: () => number
  #pending: Call[] = []
  /** The record that was refused last and must be given again. */
  #refused: LogRecord | null = null
  #isDead = false
  /** The newest record that was handed over. */
  newest: number
  /** The newest batch that the engine was told to be stored. */
  confirmed: number
  /** Records that were handed over behind two or more that hang: only an opening does that (ENGINE-2). */
  crowded = 0

  constructor(
    file: LogFile,
    parts: {
      readonly fates: StoreFates
      readonly notes: StoreNotes
      /** The newest batch that is durable in the tables. */
      readonly durable: () => number
    },
  ) {
    this.#file = file
    this.#fates = parts.fates
    this.#notes = parts.notes
    this.#durable = parts.durable
    this.confirmed = file.batch
    this.newest = file.batch
  }

  get end(): LogEnd {
    return this.#file.end
  }

  /** An append hangs. */
  get isBusy(): boolean {
    return this.#pending.length > 0
  }

  /** A record was refused and is not stored yet, as far as the engine can tell. */
  get isStuck(): boolean {
    return this.#refused !== null
  }

  append(record: LogRecord): Promise<void> {
    this.#notes.activity++
    if (this.#isDead) return never()
    this.newest = Math.max(this.newest, record.batch)
    return new Promise((resolve, reject) => {
      const call = { record, since: this.#fates.now(), resolve, reject }
      if (this.#pending.length >= 2) this.crowded++
      if (this.#pending.length > 0) this.#pending.push(call)
      else this.#begin(call)
    })
  }

  async *read(afterBatch: number): AsyncGenerator<LogRecord> {
    this.#notes.activity++
    let records: readonly LogRecord[] = []
    this.#fates.watch(() => {
      records = this.#file.after(afterBatch)
    })
    const failsAt = this.#fates.readLog(records.length)
    for (const [i, record] of records.entries()) {
      if (i === failsAt) break
      // A process that is killed while it reads goes no further.
      if (this.#isDead) await never()
      yield record
    }
    if (this.#isDead) await never()
    if (failsAt === null) return
    this.#notes.faults++
    throw unavailable('the log cannot be read')
  }

  trim(upToBatch: number): Promise<void> {
    this.#notes.activity++
    if (this.#isDead) return never()
    this.#fates.watch(() => {
      const durable = this.#durable()
      if (upToBatch > durable)
        broken(
          'log',
          `it is trimmed up to ${upToBatch}, and the tables may lose all after ${durable}`,
        )
    })
    if (this.#fates.load() === 'fails') return this.#fail('the log cannot be trimmed')
    this.#file.trim(upToBatch)
    return Promise.resolve()
  }

  scrub(): Promise<void> {
    this.#notes.activity++
    if (this.#isDead) return never()
    if (this.#fates.load() === 'fails') return this.#fail('the log cannot be scrubbed')
    this.#file.scrub()
    return Promise.resolve()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  /** Lets the oldest append that hangs come to its end; if it fails, so do those behind it. False if none hangs. */
  release(fate: EndFate): boolean {
    const [first, ...rest] = this.#pending
    if (first === undefined) return false
    this.#pending = rest
    this.#decide(first, fate)
    return true
  }

  /** The process is gone; of the appends that hung, the first so many made it. */
  kill(written: number): void {
    this.#isDead = true
    const pending = this.#pending
    this.#pending = []
    for (const { record } of pending.slice(0, written)) this.#store(record)
  }

  #begin(call: Call): void {
    const refused = this.#refused
    if (refused !== null && call.record.batch !== refused.batch) {
      this.#fates.watch(() => {
        if (sameBytes(call.record, refused))
          broken('log', `batch ${refused.batch} is given again as ${call.record.batch}`)
      })
      return this.#refuse(call, 'an earlier record is missing')
    }
    const fate = this.#fates.append()
    if (fate === 'late') this.#pending.push(call)
    else this.#decide(call, fate)
  }

  #decide(call: Call, fate: EndFate): void {
    this.#notes.activity++
    const { record, since } = call
    if (fate !== 'fails' && fate !== 'cut before') this.#store(record)
    // What is not stored keeps those behind it out of the log.
    if (fate === 'cut before') this.#pending = []
    if (fate === 'cut before' || fate === 'cut after') return this.#fates.cut()
    if (fate === 'ok') {
      this.#refused = null
      this.confirmed = record.batch
      this.#fates.stored(since, this.newest)
      return call.resolve()
    }
    this.#refused = record
    const behind = this.#pending
    this.#pending = []
    this.#refuse(call, fate === 'lost' ? 'the answer was lost' : 'the disk is full')
    for (const next of behind) this.#refuse(next, 'an earlier record was refused')
  }

  #refuse({ reject }: Call, why: string): void {
    this.#notes.faults++
    this.#fates.refused(this.newest)
    reject(unavailable(why))
  }

  /** A record that is there already is not written again. */
  #store(record: LogRecord): void {
    this.#fates.watch(() => {
      if (this.#file.has(record)) return
      this.#file.add(record)
      this.#fates.written(record)
    })
  }

  #fail(why: string): Promise<never> {
    this.#notes.faults++
    return Promise.reject(unavailable(why))
  }
}

function sameBytes(a: LogRecord, b: LogRecord): boolean {
  return Buffer.compare(a.body, b.body) === 0
}
