import { FairleadError } from '@fairlead/core'
import { type Engine, openEngine, ReplicaDiverged } from '@fairlead/engine'
import { SimStore, type StoreFiles } from '../store/sim-store.ts'
import type { StoreFates } from '../store/store-fates.ts'
import type { ClockSession, SimClock } from './sim-clock.ts'

/** One life of an engine: from its opening to its close or its death. */
export class Session {
  readonly store: SimStore
  readonly #clock: ClockSession
  #engine: Engine | null = null
  isOver = false
  /** It was asked to end. */
  isClosing = false
  /** It ended as it should. */
  isClosed = false
  #killed: () => void = () => {}

  constructor(files: StoreFiles, clock: SimClock, fates: StoreFates) {
    this.store = new SimStore(files, fates)
    this.#clock = clock.open()
  }

  get engine(): Engine {
    if (this.#engine === null) throw new Error('the engine is not open')
    return this.#engine
  }

  get isOpen(): boolean {
    return this.#engine !== null && !this.isOver
  }

  /** The code of the refusal, or null once the engine is open or was killed. */
  async open(options: {
    readonly policy: unknown
    readonly preset: 'queue' | 'fund'
    readonly random: () => Uint8Array
  }): Promise<string | null> {
    const killed = new Promise<null>((resolve) => {
      this.#killed = () => resolve(null)
    })
    try {
      const opened = openEngine({ ...options, store: this.store, clock: this.#clock })
      this.#engine = await Promise.race([opened, killed])
      return null
    } catch (error) {
      // A replay that differs is what the simulator looks for, and no refusal that passes.
      if (error instanceof FairleadError && error.cause instanceof ReplicaDiverged)
        throw error.cause
      if (error instanceof FairleadError && error.code !== 'Internal') return error.code
      throw error
    }
  }

  /** Answers what was asked and stops. */
  async close(): Promise<void> {
    this.isClosing = true
    await this.engine.close()
    this.isOver = true
    this.isClosed = true
    this.#clock.kill()
  }

  /** As `kill -9` would end it, or a power cut; see `SimStore`. */
  kill(left: { readonly written: number; readonly kept: number }): void {
    this.isOver = true
    this.#clock.kill()
    this.store.kill(left)
    this.#killed()
  }
}
