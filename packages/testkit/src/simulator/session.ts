import { FairleadError } from '@fairlead/core'
import { type Engine, openEngine } from '@fairlead/engine'
import type { ClockSession, SimClock } from './sim-clock.ts'
import type { SimDisk } from './sim-disk.ts'
import { SimStore, type StoreFates } from './sim-store.ts'

/** One life of an engine: from its opening to its close or its death. */
export class Session {
  readonly store: SimStore
  readonly #clock: ClockSession
  #engine: Engine | null = null
  isOver = false

  constructor(disk: SimDisk, clock: SimClock, fates: StoreFates) {
    this.store = new SimStore(disk, fates)
    this.#clock = clock.open()
  }

  get engine(): Engine {
    if (this.#engine === null) throw new Error('the engine is not open')
    return this.#engine
  }

  get isOpen(): boolean {
    return this.#engine !== null && !this.isOver
  }

  /** The code of the refusal, or null once the engine is open. */
  async open(options: {
    readonly policy: unknown
    readonly preset: 'queue' | 'fund'
    readonly random: () => Uint8Array
  }): Promise<string | null> {
    try {
      this.#engine = await openEngine({ ...options, store: this.store, clock: this.#clock })
      return null
    } catch (error) {
      if (error instanceof FairleadError && error.code !== 'Internal') return error.code
      throw error
    }
  }

  /** Answers what was asked and stops. */
  async close(): Promise<void> {
    await this.engine.close()
    this.isOver = true
    this.#clock.kill()
  }

  /** As a power cut would end it. */
  kill(written: number): void {
    this.isOver = true
    this.#clock.kill()
    this.store.kill(written)
  }
}
