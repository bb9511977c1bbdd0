import type { ProviderId } from '@fairlead/core'
import type { Dice } from '../dice.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { epochAt } from '../ledger/rules/own-rules.ts'
import { broken } from '../violation.ts'
import type { Desk } from './desk.ts'
import { publicKeyIn } from './prover.ts'

export type TreasurerAct = 'unstake' | 'payout' | 'close' | 'key'
const REFERENCES = 30

/** The part of the operator that has to do with money, and with whom it is owed to. */
export class Treasurer {
  readonly #dice: Dice
  readonly #desk: Desk
  readonly #ledger: Ledger

  constructor(parts: { readonly dice: Dice; readonly desk: Desk; readonly ledger: Ledger }) {
    this.#dice = parts.dice
    this.#desk = parts.desk
    this.#ledger = parts.ledger
  }

  act(act: TreasurerAct, id: ProviderId): string {
    switch (act) {
      case 'unstake':
        return this.#unstake(id)
      case 'payout':
        return this.#payOut(id)
      case 'close':
        return this.#close()
      case 'key':
        return this.setKey(id, this.#dice.oneIn(6) ? null : this.#dice.below(3))
    }
  }

  /** Another key, or none. */
  setKey(id: ProviderId, version: number | null): string {
    const key = version === null ? null : publicKeyIn(id, version)
    this.#desk.send(
      (engine) => engine.setKey(id, key),
      () => {},
    )
    return `gives ${id} the key ${version}`
  }

  #unstake(id: ProviderId): string {
    const amount = BigInt(this.#dice.between(1, 30_000))
    this.#desk.sendInSteps(
      (engine) => engine.fund.unstake(id, amount),
      () => {},
    )
    return `takes ${amount} out of the stake of ${id}`
  }

  /** Few references for many payouts: they come again, alike or not. */
  #payOut(id: ProviderId): string {
    const dice = this.#dice
    const account = dice.pick([id, id, 'fund', 'miner:operator', 'miner:m1'])
    const amount = BigInt(dice.pick([1, 1, 50, 700]))
    const reference = `payout ${dice.below(REFERENCES)}`
    const { money } = this.#fund
    const isNew = !money.payouts.has(reference)
    this.#desk.send(
      (engine) => engine.fund.recordPayout({ account, amount, reference }),
      (answer) => {
        const known = money.payouts.get(reference)
        const isSame = known?.account === account && known.amount === amount
        if (answer === 'ok' && !isSame)
          broken('durable', `${reference} is recorded, and not stored`)
        if (answer === 'IdempotencyConflict' && isSame)
          broken('books', `${reference} comes again alike, and is refused`)
        if (answer === 'InvalidState' && !isNew)
          broken('books', `${reference} comes again, and is held against the balance`)
      },
    )
    return `pays ${account} ${amount} as ${reference}`
  }

  /** Over or not, closed or not; at times several at once, and one of them twice. */
  #close(): string {
    const dice = this.#dice
    const { book, beat } = this.#ledger
    const current = epochAt(beat, book.policy)
    const last = Math.max(1, current - dice.pick([0, 1, 1, 1, 2, 3]))
    const epochs = dice.oneIn(3) ? [last - 1, last, last] : [last]
    for (const epochId of epochs) this.#closeOne(epochId, current)
    return `closes the epochs ${epochs.join()}`
  }

  #closeOne(epochId: number, current: number): void {
    this.#desk.sendInSteps(
      (engine) => engine.fund.closeEpoch(epochId),
      (answer, reply) => {
        const { lastClosed, batches } = this.#fund.closes
        const isClosed = lastClosed !== null && lastClosed >= epochId
        if (answer === 'ok' && !isClosed)
          broken('settlements', `epoch ${epochId} was said to be closed, and is not`)
        const batchId = batches.get(epochId)
        if (answer === 'ok' && reply?.batchId !== batchId)
          broken('answer', `epoch ${epochId} reads as ${reply?.batchId}, its batch is ${batchId}`)
        if (answer !== 'ok' && answer !== 'StoreUnavailable' && epochId < current)
          broken('settlements', `epoch ${epochId} is over, and was refused with ${answer}`)
      },
    )
  }

  get #fund() {
    const { fund } = this.#ledger.book
    if (fund === null) throw new Error('a treasurer belongs to a fund')
    return fund
  }
}
