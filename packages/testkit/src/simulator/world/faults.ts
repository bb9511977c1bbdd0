import type { Dice } from '../dice.ts'
import type { AppendFate, ApplyFate, ReadFate } from '../store/store-fates.ts'
import type { FaultRates } from './scenario.ts'
import type { SimClock } from './sim-clock.ts'

/** For how long the tables take nothing, mostly and at worst. */
const APPLY_OUT_MS = 2_000
const APPLY_OUT_MAX_MS = 20_000

/** Decides which calls of the store go wrong, and how. Trouble likes company: one in three repeats. */
export class Faults {
  readonly #dice: Dice
  /** The tables have dice of their own: what they do is another matter. */
  readonly #tableDice: Dice
  readonly #rates: FaultRates
  readonly #clock: SimClock
  #isPaused = false
  #outUntil = 0
  #last: AppendFate = 'ok'
  /** The tables refuse everything until then, or let it hang. */
  #tablesOut: { readonly until: number; readonly fate: 'fails' | 'late' } = {
    until: 0,
    fate: 'late',
  }

  constructor(options: {
    readonly dice: Dice
    readonly tableDice: Dice
    readonly rates: FaultRates
    readonly clock: SimClock
  }) {
    this.#dice = options.dice
    this.#tableDice = options.tableDice
    this.#rates = options.rates
    this.#clock = options.clock
  }

  append(): AppendFate {
    if (this.#isPaused) return 'ok'
    if (this.#isOut()) return 'fails'
    if (this.#happens(this.#rates.cut)) return this.#dice.pick(['cut before', 'cut after'])
    const again = this.#last !== 'ok' && this.#dice.oneIn(3)
    if (!again) this.#last = this.#draw()
    return this.#last
  }

  apply(): ApplyFate {
    if (this.#isPaused) return 'ok'
    const { applyFails, applyLate, applyOutage, cut } = this.#rates
    const now = this.#clock.now()
    if (now < this.#tablesOut.until) return this.#tablesOut.fate
    if (this.#tablesHappen(applyOutage)) {
      const most = this.#tableDice.oneIn(8) ? APPLY_OUT_MAX_MS : APPLY_OUT_MS
      const until = now + this.#tableDice.between(1, most)
      this.#tablesOut = { until, fate: this.#tableDice.pick(['fails', 'late']) }
      return this.#tablesOut.fate
    }
    if (this.#tablesHappen(cut)) return this.#tableDice.pick(['cut before', 'cut after'])
    if (this.#tablesHappen(applyFails)) return 'fails'
    return this.#tablesHappen(applyLate) ? 'late' : 'ok'
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

  /** Before which of so many records the reading of the log breaks off; null if it does not. */
  readLog(count: number): number | null {
    return this.load() === 'ok' ? null : this.#dice.below(count + 1)
  }

  /** How many of so many applied batches reach the disk now: mostly none. */
  flushed(count: number): number {
    if (!this.#tableDice.oneIn(6)) return 0
    return this.#tableDice.oneIn(3) ? this.#tableDice.below(count + 1) : count
  }

  /** What becomes of an append that hung. */
  end(): Exclude<AppendFate, 'late'> {
    if (this.#isPaused) return 'ok'
    if (this.#happens(this.#rates.cut)) return this.#dice.pick(['cut before', 'cut after'])
    const fate = this.#draw()
    return fate === 'late' ? 'ok' : fate
  }

  /** What becomes of a call of the tables that hung; null if it goes on hanging. */
  endApply(): Exclude<ApplyFate, 'late'> | null {
    if (this.#isPaused) return 'ok'
    if (this.#clock.now() < this.#tablesOut.until) return null
    if (this.#tablesHappen(this.#rates.cut)) {
      return this.#tableDice.pick(['cut before', 'cut after'])
    }
    return this.#tablesHappen(this.#rates.applyFails) ? 'fails' : 'ok'
  }

  /** No trouble meanwhile. */
  async pause(during: () => Promise<void>): Promise<void> {
    this.#isPaused = true
    this.#outUntil = 0
    this.#tablesOut = { until: 0, fate: 'late' }
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

  #draw(): 'ok' | 'fails' | 'lost' | 'late' {
    if (this.#happens(this.#rates.fails)) return 'fails'
    if (this.#happens(this.#rates.lost)) return 'lost'
    return this.#happens(this.#rates.late) ? 'late' : 'ok'
  }

  #happens(oneIn: number): boolean {
    return oneIn > 0 && this.#dice.oneIn(oneIn)
  }

  #tablesHappen(oneIn: number): boolean {
    return oneIn > 0 && this.#tableDice.oneIn(oneIn)
  }
}
