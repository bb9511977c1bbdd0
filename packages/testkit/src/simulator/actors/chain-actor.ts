import { taggedHashHex } from '@fairlead/core'
import type { Dice } from '../dice.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { broken } from '../violation.ts'
import type { SimClock } from '../world/sim-clock.ts'
import type { Desk } from './desk.ts'

interface Transaction {
  readonly envelope: Uint8Array
  readonly txHash: string
}

interface Block {
  readonly height: number
  readonly timeMs: number
  readonly minerId: string
  readonly proofs: readonly Transaction[]
}

const START_HEIGHT = 1_000
const WAITING_MAX = 24
const BLOCKS_KEPT = 12

/** A chain: it makes blocks, reorganises, stands still, and sends blocks twice, too early and too late. */
export class ChainActor {
  readonly #dice: Dice
  readonly #desk: Desk
  readonly #ledger: Ledger
  readonly #clock: SimClock
  /** Transactions that no block has. */
  #waiting: Transaction[] = []
  #sent: Block[] = []
  #stillUntil = 0
  #made = 0
  #isAsked = false

  constructor(parts: {
    readonly dice: Dice
    readonly desk: Desk
    readonly ledger: Ledger
    readonly clock: SimClock
  }) {
    this.#dice = parts.dice
    this.#desk = parts.desk
    this.#ledger = parts.ledger
    this.#clock = parts.clock
  }

  /** A transaction with a proof. */
  take(envelope: Uint8Array): void {
    this.#waiting.push({ envelope, txHash: taggedHashHex('tx', ++this.#made) })
    if (this.#waiting.length > WAITING_MAX) this.#waiting.shift()
  }

  act(): string {
    const dice = this.#dice
    const now = this.#clock.now()
    if (now < this.#stillUntil) return 'stands still'
    if (dice.oneIn(60)) {
      this.#stillUntil = now + dice.between(500, 15_000)
      return 'stops for a while'
    }
    if (this.#isAsked) return 'waits for its answer'
    const last = this.#sent.at(-1)
    if (last !== undefined && dice.oneIn(15)) return this.#send(last)
    if (this.#sent.length > 0 && dice.oneIn(30)) return this.#send(dice.pick(this.#sent))
    if (dice.oneIn(40)) return this.#send(this.#block(this.#next + dice.between(1, 3)))
    return dice.oneIn(4) ? this.#reorganise() : this.#send(this.#block(this.#next))
  }

  /** A new block at the head, with all that waits. */
  advance(): void {
    this.#stillUntil = 0
    if (this.#isAsked) return
    const height = this.#next
    const proofs = this.#waiting.splice(0)
    this.#send({ height, timeMs: this.#clock.now(), minerId: 'm1', proofs })
  }

  /** The blocks from some height on are replaced; their transactions wait again, or are lost. */
  #reorganise(): string {
    const { head, finalHeight } = this.#provings
    if (head === null || finalHeight === null || head <= finalHeight) return 'has nothing to undo'
    const height = this.#dice.between(finalHeight + 1, head)
    for (const block of this.#sent) {
      if (block.height < height) continue
      for (const one of block.proofs) if (!this.#dice.oneIn(4)) this.#waiting.push(one)
    }
    this.#waiting = this.#waiting.slice(-WAITING_MAX)
    return `undoes from ${height}: ${this.#send(this.#block(height))}`
  }

  get #provings() {
    const { fund } = this.#ledger.book
    if (fund === null) throw new Error('a chain is part of a fund')
    return fund.provings
  }

  get #next(): number {
    return (this.#provings.head ?? START_HEIGHT - 1) + 1
  }

  #block(height: number): Block {
    const dice = this.#dice
    const proofs: Transaction[] = []
    for (let left = dice.between(0, 5); left > 0 && this.#waiting.length > 0; left--) {
      const place = dice.below(this.#waiting.length)
      const [one] = dice.oneIn(8) ? [this.#waiting[place]] : this.#waiting.splice(place, 1)
      if (one !== undefined) proofs.push(one)
    }
    const timeMs = Math.max(0, this.#clock.now() + dice.between(-1_500, 400))
    return { height, timeMs, minerId: dice.pick(['m1', 'm2']), proofs }
  }

  #send(block: Block): string {
    const { height } = block
    const { head, finalHeight } = this.#provings
    const isAbove = head !== null && height > head + 1
    const isFinal = finalHeight !== null && height <= finalHeight
    this.#isAsked = true
    this.#desk.sendInSteps(
      (engine) => engine.fund.applyBlock(block),
      (answer) => {
        this.#isAsked = false
        if (answer === 'ok') {
          this.#sent = [...this.#sent.slice(1 - BLOCKS_KEPT), block]
          if (isAbove || isFinal) broken('chain', `block ${height} was taken out of place`)
          return
        }
        const due = isAbove ? 'InvalidParams' : isFinal ? 'InvalidState' : 'StoreUnavailable'
        // What hung before may have come meanwhile.
        const isMoved = head !== this.#provings.head || finalHeight !== this.#provings.finalHeight
        if (answer === 'StoreUnavailable') this.#waiting.push(...block.proofs)
        else if (answer !== due && !isMoved)
          broken('chain', `block ${height} was refused with ${answer}, the head is ${head}`)
      },
    )
    return `sends block ${height} with ${block.proofs.length} proofs`
  }

  /** Its engine is gone, and nobody will answer. */
  strand(): void {
    this.#isAsked = false
  }
}
