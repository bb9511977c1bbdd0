import type { Dice } from '../dice.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { SimClock } from '../world/sim-clock.ts'
import type { Order } from './desk.ts'

const PLATFORMS = ['plain', 'keyed', 'asks', 'asks', 'both'] as const
const EVENTS = ['art', 'ski', 'ärm', 'swim'] as const
const USERS = 30
const LATE_MS = 1_500

/** People who want a place: a few sessions at a time, before and after they open. */
export class SignupRequests {
  readonly #dice: Dice
  readonly #clock: SimClock
  readonly #ledger: Ledger
  /** When sessions are said to open, as long as nobody has a place in them. */
  readonly #announced = new Map<string, number>()
  /** How often an event has been offered anew. */
  readonly #seasons = new Map<string, number>()

  constructor(options: {
    readonly dice: Dice
    readonly clock: SimClock
    readonly ledger: Ledger
  }) {
    this.#dice = options.dice
    this.#clock = options.clock
    this.#ledger = options.ledger
  }

  next(): Pick<Order, 'request' | 'isOperator'> {
    const dice = this.#dice
    const session = this.#session()
    const isOperator = dice.oneIn(12)
    const scheduled_time = isOperator
      ? this.#clock.now() + dice.between(-1_500, 3_000)
      : this.#opensAt(session)
    const args = isOperator ? { operator: true } : {}
    const user_id = `u${dice.below(USERS)}`
    const payload = { ...session, user_id, args, scheduled_time }
    return { request: { kind: 'registration', payload }, isOperator }
  }

  /** Where people are late already, the next one comes up soon: there is always something to open. */
  #session(): Readonly<Record<string, string>> {
    const dice = this.#dice
    const org = { provider: dice.pick(PLATFORMS), org_ref: dice.pick(['north', 'north', 'south']) }
    const event = dice.pick(EVENTS)
    const id = JSON.stringify([org, event])
    const season = this.#seasons.get(id) ?? 0
    const session = { ...org, event_id: `${event}${season}` }
    const opensAt = this.#ledger.book.sessions.opensAt(session)
    if (opensAt !== null && this.#clock.latest > opensAt + LATE_MS && !dice.oneIn(8)) {
      this.#seasons.set(id, season + 1)
    }
    return session
  }

  #opensAt(session: Readonly<Record<string, string>>): number {
    const known = this.#ledger.book.sessions.opensAt(session)
    if (known !== null) return known
    const id = JSON.stringify(session)
    const announced = this.#announced.get(id) ?? 0
    if (announced > this.#clock.latest) return announced
    const opensAt = this.#clock.latest + this.#dice.between(1, 3_000)
    this.#announced.set(id, opensAt)
    return opensAt
  }
}
