import { FairleadError, type Store } from '@fairlead/core'
import type {
  Log,
  LogEnd,
  LogRecord,
  Snapshot,
  StoreReads,
  Tables,
  WriteBatch,
} from '@fairlead/core/internal'
import { type Command, decodeBatch } from '@fairlead/engine'
import { MemoryStore } from '@fairlead/testkit'

/** An append that is under way for as long as the test wants. */
export interface HeldAppend {
  readonly record: LogRecord
  readonly commands: readonly Command[]
  /** The record is in the log, and nobody knows. */
  readonly store: () => Promise<void>
  /** The record is in the log, and the engine hears so. */
  readonly confirm: () => Promise<void>
  /** The engine hears that it failed. `store` decides if the record is in the log. */
  readonly fail: () => void
}

/** The withheld answer to a read. It tells what was there when the read was made. */
export interface HeldAnswer {
  readonly asked: Promise<void>
  readonly release: () => void
}

/** The outcome of an append: stored and answered, refused, or stored with its answer lost. */
export type AppendFate = 'ok' | 'fails' | 'answer lost'

type HeldRead = 'assignmentsSince' | 'jobsByTx' | 'journal' | 'payloads' | 'result'

/** A store that answers when the test allows it, or never. It wraps one that keeps its promises. */
export class HeldStore implements Store {
  readonly log: Log
  readonly tables: Tables
  readonly read: StoreReads
  /** While set, appends wait for the test. */
  isHolding = false
  /** While set, the log takes nothing. */
  isFull = false
  /** Asked before each append that does not wait. */
  fate: () => AppendFate = () => 'ok'
  /** While set, rows wait for the test. */
  isHoldingRows = false
  /** While set, the tables take no rows. */
  areTablesFull = false
  /** While set, nothing can be loaded. */
  isUnloadable = false
  /** So many of the next look-ups of keys fail. */
  keyRefusals = 0
  /** While set, no payload can be read. */
  isUnreadable = false
  loads = 0
  /** Calls of `append`, those that were refused included. */
  appends = 0
  /** Calls of `apply`, those that were refused included. */
  applies = 0
  readonly #inner: Store
  #isDead = false
  #held: HeldAppend[] = []
  /** How to refuse each append that has no answer yet, by batch. */
  readonly #underWay = new Map<number, (error: FairleadError) => void>()
  /** The record that was refused and has to come next. */
  #refused: number | null = null
  #tellHeld: () => void = () => {}
  #heldRows: (() => void)[] = []
  readonly #gates = new Map<HeldRead, { readonly ask: () => void; readonly open: Promise<void> }>()

  constructor(inner: Store = new MemoryStore()) {
    this.#inner = inner
    const { read } = inner
    this.read = {
      ...read,
      assignmentsSince: (...args) =>
        this.#gated('assignmentsSince', read.assignmentsSince(...args)),
      jobsByTx: async (...args) => {
        if (this.keyRefusals > 0) {
          this.keyRefusals--
          throw unavailable('the keys cannot be looked up')
        }
        return this.#gated('jobsByTx', read.jobsByTx(...args))
      },
      journal: (...args) => this.#gated('journal', read.journal(...args)),
      payloads: async (...args) => {
        if (this.isUnreadable) throw unavailable('the payloads cannot be read')
        return this.#gated('payloads', read.payloads(...args))
      },
      result: (...args) => this.#gated('result', read.result(...args)),
    }
    const { log, tables } = inner
    this.log = {
      get end(): LogEnd {
        return log.end
      },
      append: (record) => this.#append(record),
      read: (afterBatch) => log.read(afterBatch),
      trim: (upToBatch) => log.trim(upToBatch),
      scrub: () => log.scrub(),
      close: () => log.close(),
    }
    this.tables = {
      read: this.read,
      load: () => this.#load(),
      // Without a filter every key is looked up, and the answer is the test's to hold.
      keyPrints: () => Promise.reject(unavailable('the keys cannot be read')),
      apply: (rows, batch) => this.#apply(rows, batch),
      sync: () => tables.sync(),
      scrub: () => tables.scrub(),
      close: () => tables.close(),
    }
  }

  /** How many appends wait. */
  get held(): number {
    return this.#held.length
  }

  close(): Promise<void> {
    return this.#inner.close()
  }

  /** The append that is under way, once there is one. */
  async underWay(): Promise<HeldAppend> {
    while (this.#held.length === 0) {
      await new Promise<void>((resolve) => {
        this.#tellHeld = resolve
      })
    }
    return this.#held.shift() as HeldAppend
  }

  /** Confirms all waiting appends in order. From now on none waits. */
  async letGo(): Promise<void> {
    this.isHolding = false
    for (let next = this.#held.shift(); next !== undefined; next = this.#held.shift()) {
      await next.confirm()
    }
  }

  /** Applies the rows that have waited longest. */
  applyNext(): void {
    this.#heldRows.shift()?.()
  }

  /** Applies all waiting rows in order. From now on none wait. */
  letRowsGo(): void {
    this.isHoldingRows = false
    for (const go of this.#heldRows.splice(0)) go()
  }

  /** From now on nothing is written or answered: for the one who uses it, its process is dead. */
  die(): void {
    this.#isDead = true
  }

  /** Withholds the next answer of a read. */
  holdAnswer(name: HeldRead): HeldAnswer {
    let release = () => {}
    const open = new Promise<void>((resolve) => {
      release = resolve
    })
    const asked = new Promise<void>((ask) => this.#gates.set(name, { ask, open }))
    return { asked, release }
  }

  /** The next answer of a read is a failure. Resolves when it was asked. */
  failAnswer(name: HeldRead): Promise<void> {
    const open = Promise.reject(unavailable('the disk cannot be read'))
    open.catch(() => {})
    return new Promise<void>((ask) => this.#gates.set(name, { ask, open }))
  }

  async #append(record: LogRecord): Promise<void> {
    if (this.#isDead) return NEVER
    this.appends++
    if (this.#refused !== null && this.#refused !== record.batch) throw behindRefused()
    const fate = this.isHolding && !this.isFull ? 'ok' : this.fate()
    if (this.isFull || fate === 'fails') {
      this.#refused = record.batch
      throw unavailable('the log takes nothing')
    }
    this.#refused = null
    if (this.isHolding) return this.#hold(record)
    await this.#inner.log.append(record)
    if (fate === 'ok') return
    this.#refused = record.batch
    throw unavailable('the answer was lost')
  }

  #hold(record: LogRecord): Promise<void> {
    const call = new Promise<void>((resolve, reject) => {
      let stored: Promise<void> | null = null
      let isRefused = false
      const refuse = (error: FairleadError) => {
        isRefused = true
        reject(error)
      }
      const store = () => {
        if (isRefused && stored === null) return Promise.reject(behindRefused())
        stored ??= this.#inner.log.append(record)
        return stored
      }
      const confirm = () => store().then(resolve, reject)
      const fail = () => {
        if (isRefused) return
        this.#refused = record.batch
        refuse(unavailable('the answer did not come'))
        const behind = [...this.#underWay].filter(([batch]) => batch > record.batch)
        for (const [, refuseOne] of behind) refuseOne(behindRefused())
        this.#held = this.#held.filter((held) => held.record.batch < record.batch)
      }
      this.#underWay.set(record.batch, refuse)
      const commands = decodeBatch(record.body).entries.map(({ command }) => command)
      this.#held.push({ record, commands, store, confirm, fail })
      this.#tellHeld()
    })
    return call.finally(() => this.#underWay.delete(record.batch))
  }

  async #load(): Promise<Snapshot> {
    this.loads++
    if (this.isUnloadable) throw unavailable('the tables cannot be read')
    return this.#inner.tables.load()
  }

  async #apply(rows: WriteBatch, batch: number): Promise<number> {
    this.applies++
    if (this.isHoldingRows) await new Promise<void>((go) => this.#heldRows.push(go))
    if (this.#isDead) return NEVER
    if (this.areTablesFull) throw unavailable('the tables take nothing')
    return this.#inner.tables.apply(rows, batch)
  }

  async #gated<Answer>(name: HeldRead, answer: Promise<Answer>): Promise<Answer> {
    const value = await answer
    const gate = this.#gates.get(name)
    this.#gates.delete(name)
    gate?.ask()
    await gate?.open
    return value
  }
}

const NEVER = new Promise<never>(() => {})

function unavailable(why: string): FairleadError {
  return new FairleadError('StoreUnavailable', why)
}

function behindRefused(): FairleadError {
  return unavailable('the record before it was refused')
}
