import type { Dice } from './dice.ts'
import type { FaultRates } from './scenario.ts'
import type { SimClock } from './sim-clock.ts'
import type { Commit, CommitFate, ReadFate, StoreFates } from './sim-store.ts'

/** Decides which calls of the store go wrong, and how. Trouble likes company: one in three repeats. */
export class Faults implements StoreFates {
  readonly #dice: Dice
  readonly #rates: FaultRates
  readonly #clock: SimClock
  readonly written: (commit: Commit) => void
  readonly loaded: () => void
  #isPaused = false
  #outUntil = 0
  #last: CommitFate = 'ok'

  constructor(options: {
    readonly dice: Dice
    readonly rates: FaultRates
    readonly clock: SimClock
    readonly written: (commit: Commit) => void
    readonly loaded: () => void
  }) {
    this.#dice = options.dice
    this.#rates = options.rates
    this.#clock = options.clock
    this.written = options.written
    this.loaded = options.loaded
  }

  commit(): CommitFate {
    if (this.#isPaused) return 'ok'
    if (this.#isOut()) return 'fails'
    const again = this.#last !== 'ok' && this.#dice.oneIn(3)
    if (!again) this.#last = this.#draw()
    return this.#last
  }

  /** A look-up may also hang. */
  read(): ReadFate {
    if (this.#isPaused) return 'ok'
    if (this.#isOut() || this.#happens(this.#rates.readFails)) return 'fails'
    return this.#happens(this.#rates.late) ? 'late' : 'ok'
  }

  load(): Exclude<ReadFate, 'late'> {
    if (this.#isPaused) return 'ok'
    return this.#isOut() || this.#happens(this.#rates.loadFails) ? 'fails' : 'ok'
  }

  /** What becomes of a commit that hung. */
  end(): Exclude<CommitFate, 'late'> {
    if (this.#isPaused) return 'ok'
    const fate = this.#draw()
    return fate === 'late' ? 'ok' : fate
  }

  /** No trouble meanwhile. */
  async pause(during: () => Promise<void>): Promise<void> {
    this.#isPaused = true
    this.#outUntil = 0
    await during()
    this.#isPaused = false
  }

  #isOut(): boolean {
    const now = this.#clock.now()
    if (now < this.#outUntil) return true
    if (!this.#happens(this.#rates.outage)) return false
    this.#outUntil = now + this.#dice.between(1, 3_000)
    return true
  }

  #draw(): CommitFate {
    if (this.#happens(this.#rates.fails)) return 'fails'
    if (this.#happens(this.#rates.lost)) return 'lost'
    return this.#happens(this.#rates.late) ? 'late' : 'ok'
  }

  #happens(oneIn: number): boolean {
    return oneIn > 0 && this.#dice.oneIn(oneIn)
  }
}
