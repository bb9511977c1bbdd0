import { callerOf, type ProviderId, type ProviderOffer } from '@fairlead/core'
import type { PauseKey } from '@fairlead/core/internal'
import type { Dice } from '../dice.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { isUnserved } from '../ledger/rules/fits.ts'
import type { OperatorAct, Scenario } from '../world/scenario.ts'
import type { Desk } from './desk.ts'
import { publicKeyIn } from './prover.ts'
import { Treasurer } from './treasurer.ts'

/** Enough for every kind of work. */
const ENDOWMENT = 100_000n

/** Changes the terms under everybody's feet. */
export class Operator {
  readonly #dice: Dice
  readonly #desk: Desk
  readonly #ledger: Ledger
  readonly #scenario: Scenario
  readonly #treasurer: Treasurer

  constructor(options: {
    readonly dice: Dice
    readonly desk: Desk
    readonly ledger: Ledger
    readonly scenario: Scenario
  }) {
    this.#dice = options.dice
    this.#desk = options.desk
    this.#ledger = options.ledger
    this.#scenario = options.scenario
    this.#treasurer = new Treasurer(options)
  }

  choose(): OperatorAct {
    return this.#dice.weighted(this.#scenario.operator)
  }

  /** One act; what it was, for the report. */
  act(act: OperatorAct): string {
    const dice = this.#dice
    const id = this.#someProvider()
    switch (act) {
      case 'policy':
        return this.setPolicy(this.#scenario.policy(dice))
      case 'status': {
        const status = dice.oneIn(40)
          ? 'RETIRED'
          : dice.pick(['JAILED', 'SUSPENDED', 'ACTIVE'] as const)
        this.#desk.send(
          (engine) => engine.setProviderStatus(id, status),
          () => {},
        )
        return `sets ${id} ${status}`
      }
      case 'revive':
        return this.revive()
      case 'stake':
        this.#desk.send(
          (engine) => engine.stake(id, BigInt(dice.below(20_000))),
          () => {},
        )
        return `adds to the stake of ${id}`
      case 'offer': {
        const offer = this.#newTerms()
        this.#desk.send(
          (engine) => engine.updateProvider(id, offer),
          () => {},
        )
        return `changes the offer of ${id}: ${Object.keys(offer).join()}`
      }
      case 'opening': {
        const keys = [...this.#ledger.book.sessions.sessions.keys()]
        if (keys.length === 0) return this.revive()
        const [platform, orgRef, eventId] = JSON.parse(dice.pick(keys)) as [string, string, string]
        const opensAt = this.#ledger.beat + dice.between(-500, 4_000)
        this.#desk.send(
          (engine) => engine.setOpening({ platform, orgRef, eventId }, opensAt),
          () => {},
        )
        return `lets ${platform} ${orgRef} ${eventId} open at ${opensAt % 10_000_000}`
      }
      case 'unstake':
      case 'payout':
      case 'close':
      case 'key':
        return this.#treasurer.act(act, id)
      case 'pause':
        return this.#pauseOrResume()
      case 'bulk':
        return this.#bulk()
      case 'cancel': {
        const job = [...this.#ledger.book.alive]
        if (job.length === 0) return this.revive()
        const { facts } = dice.pick(job)
        this.#desk.cancel(facts.id, 'operator', () => {})
        return `cancels ${facts.id}`
      }
    }
  }

  setPolicy(written: Readonly<Record<string, unknown>>): string {
    this.#desk.setPolicy(written, this.#scenario.preset)
    return `sets the policy ${JSON.stringify(written)}`
  }

  /** Everybody who lost the trust gets it back; RETIRED ones stay so. */
  revive(): string {
    for (const { id, status } of this.#ledger.book.providers.values()) {
      if (status === 'ACTIVE' || status === 'RETIRED') continue
      this.#desk.send(
        (engine) => engine.setProviderStatus(id, 'ACTIVE'),
        () => {},
      )
    }
    return 'brings everybody back'
  }

  /** Ends all pauses. */
  resumeAll(): void {
    for (const key of this.#ledger.book.paused.all) this.#resume(key as PauseKey)
  }

  /** Cancels jobs that nobody takes: where they have no end of their own, they wait for good. */
  giveUp(): void {
    const { book } = this.#ledger
    for (const job of book.alive) {
      const isAsked = job.status !== 'QUEUED' || job.facts.kind === 'registration'
      if (!isAsked && isUnserved(book, job)) this.#desk.cancel(job.facts.id, 'operator', () => {})
    }
  }

  /** Everybody has what work and pay ask for: a stake, and its first key. */
  endow(): void {
    for (const { id, row } of this.#ledger.book.providers.values()) {
      if (row.publicKey !== publicKeyIn(id, 0)) this.#treasurer.setKey(id, 0)
      if (row.stake >= ENDOWMENT) continue
      this.#desk.send(
        (engine) => engine.stake(id, ENDOWMENT),
        () => {},
      )
    }
  }

  #pauseOrResume(): string {
    const dice = this.#dice
    const known = this.#ledger.book.paused.all
    if (known.length > dice.below(4)) {
      const key = dice.pick(known) as PauseKey
      this.#resume(key)
      return `resumes ${JSON.stringify(key)}`
    }
    const kind = dice.pick(['ai', 'quantum', 'task'] as const)
    const names = kind === 'task' ? this.#scenario.tasks : ['m1', 'm2']
    const { name: caller } = dice.pick(this.#scenario.callers)
    const key: PauseKey = {
      kind,
      name: kind !== 'quantum' && dice.oneIn(2) ? dice.pick(names) : null,
      caller: dice.oneIn(2) ? callerOf(caller) : null,
    }
    this.#desk.send(
      (engine) => engine.pauseQueue(key),
      () => {},
    )
    return `pauses ${JSON.stringify(key)}`
  }

  /** Its own word, or that of a caller. */
  #bulk(): string {
    const dice = this.#dice
    const action = dice.pick(['cancel', 'retry', 'retry'] as const)
    const kind = dice.pick(['ai', 'quantum', 'task'] as const)
    const by = dice.oneIn(2)
      ? ('operator' as const)
      : callerOf(dice.pick(this.#scenario.callers).name)
    const limit = dice.pick([1, 3, 20])
    const status = action === 'cancel' ? 'QUEUED' : dice.pick(['FAILED', 'CANCELED'] as const)
    this.#desk.send(
      (engine) => engine.bulk.start({ action, filter: { kind, status }, by, limit }, by),
      () => {},
    )
    return `starts to ${action} ${limit} ${kind} jobs that are ${status}`
  }

  #resume(key: PauseKey): void {
    this.#desk.send(
      (engine) => engine.resumeQueue(key),
      () => {},
    )
  }

  #newTerms(): Partial<ProviderOffer> {
    const dice = this.#dice
    return dice.pick<Partial<ProviderOffer>>([
      { leasesMax: dice.pick([null, 0, 1, 2, 3]) },
      { models: new Set(dice.pick([['*'], ['m1', 'resize'], ['m2']])) },
      { platforms: new Set(dice.pick([['*'], ['*'], ['plain', 'asks']])) },
      { region: dice.pick(['eu', 'us', null]) },
      { maxDepth: dice.pick([null, 8]), maxShots: dice.pick([null, 5_000]) },
      { maxWidth: dice.pick([null, 8]), gates: dice.pick([null, new Set(['cx', 'h'])]) },
      { precision: dice.pick([null, new Set(['fp16']), new Set(['fp32', 'int8'])]) },
    ])
  }

  #someProvider(): ProviderId {
    return this.#dice.pick([...this.#ledger.book.providers.keys()])
  }
}
