import { FairleadError, type Store } from '@fairlead/core'
import type { Snapshot, StoreReads, WriteBatch } from '@fairlead/core/internal'
import { MemoryStore } from '@fairlead/testkit'

/** A commit that is under way for as long as the test wants. */
export interface HeldCommit {
  readonly batch: WriteBatch
  /** It is in the store, and nobody knows. */
  readonly store: () => Promise<void>
  /** It is in the store, and the engine hears so. */
  readonly confirm: () => Promise<void>
  /** The engine hears that it failed; whether it is in the store is up to `store`. */
  readonly fail: () => void
}

/** An answer to a read that is kept back: it says what was there when it was asked. */
export interface HeldAnswer {
  readonly asked: Promise<void>
  readonly release: () => void
}

type HeldRead = 'jobsByTx' | 'journal' | 'payloads' | 'result'

/** A store whose answers come when the test lets them, or never; around one that keeps its promises. */
export class HeldStore implements Store {
  readonly read: StoreReads
  /** Whether commits wait for the test. */
  isHolding = false
  /** While it is set, nothing can be loaded or written. */
  isDown = false
  /** While it is set, nothing can be written. */
  isFull = false
  /** While it is set, no payload can be read. */
  isUnreadable = false
  loads = 0
  failures = 0
  /** Commits that were asked for. */
  tries = 0
  readonly #inner: Store
  #isClosed = false
  #held: HeldCommit[] = []
  #tellHeld: () => void = () => {}
  readonly #gates = new Map<HeldRead, { readonly ask: () => void; readonly open: Promise<void> }>()

  constructor(inner: Store = new MemoryStore()) {
    this.#inner = inner
    this.read = {
      ...inner.read,
      jobsByTx: (...args) => this.#gated('jobsByTx', inner.read.jobsByTx(...args)),
      journal: (...args) => this.#gated('journal', inner.read.journal(...args)),
      payloads: async (...args) => {
        if (this.isUnreadable) throw unavailable('the payloads cannot be read')
        return this.#gated('payloads', inner.read.payloads(...args))
      },
      result: (...args) => this.#gated('result', inner.read.result(...args)),
    }
  }

  /** How many commits wait. */
  get held(): number {
    return this.#held.length
  }

  async load(): Promise<Snapshot> {
    this.loads++
    if (this.isDown) throw unavailable('the store is down')
    return this.#inner.load()
  }

  async commit(batch: WriteBatch): Promise<void> {
    this.tries++
    if (this.isDown || this.isFull) throw unavailable('the store takes nothing')
    if (this.#isClosed) throw unavailable('the store is closed')
    if (!this.isHolding) return this.#inner.commit(batch)
    await this.#hold(batch)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#inner.close()
  }

  /** The commit that is under way, once there is one. */
  async underWay(): Promise<HeldCommit> {
    while (this.#held.length === 0) {
      await new Promise<void>((resolve) => {
        this.#tellHeld = resolve
      })
    }
    return this.#held.shift() as HeldCommit
  }

  /** All that waits is confirmed in its order, and nothing waits any more. */
  async letGo(): Promise<void> {
    for (let next = this.#held.shift(); next !== undefined; next = this.#held.shift()) {
      await next.confirm()
    }
    this.isHolding = false
  }

  /** Keeps the next answer of a read back. */
  holdAnswer(name: HeldRead): HeldAnswer {
    let release = () => {}
    const open = new Promise<void>((resolve) => {
      release = resolve
    })
    const asked = new Promise<void>((ask) => this.#gates.set(name, { ask, open }))
    return { asked, release }
  }

  #hold(batch: WriteBatch): Promise<void> {
    const { failures } = this
    return new Promise((resolve, reject) => {
      let stored: Promise<void> | null = null
      const store = () => {
        // One that was given before a failure was heard was built on it (STORE-2).
        if (failures < this.failures) return Promise.reject(unavailable('built on what failed'))
        stored ??= this.#inner.commit(batch)
        return stored
      }
      const confirm = () => store().then(resolve, reject)
      const fail = () => {
        this.failures++
        reject(unavailable('the answer did not come'))
      }
      this.#held.push({ batch, store, confirm, fail })
      this.#tellHeld()
    })
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

function unavailable(why: string): FairleadError {
  return new FairleadError('StoreUnavailable', why)
}
