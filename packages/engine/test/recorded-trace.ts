import type { Store } from '@fairlead/core'
import { recoverState } from '@fairlead/engine'
import { MemoryStore } from '@fairlead/testkit'
import { expect } from 'vitest'
import { type Disk, type NextTurn, RUN_START, type Seen } from './engine-run.ts'
import { TraceMaker, type Turn } from './trace.ts'

/** A trace that is made up as an engine goes along, and then done again on others. */
export class RecordedTrace {
  readonly #maker: TraceMaker
  readonly #length: number
  readonly #turns: Turn[] = []

  constructor(seed: number, { turns }: { readonly turns: number }) {
    this.#maker = new TraceMaker(seed, {
      hasSessions: true,
      hasOptions: false,
      startMs: RUN_START,
    })
    this.#length = turns
  }

  readonly make: NextTurn = async (store) => {
    const done = this.#turns.length
    if (done === this.#length) return undefined
    const state = await recoverState(store, await store.tables.load())
    // First of all some work for the rest of the time.
    const turn = this.#maker.nextTurn(state, done === 0 ? 60 : 4 + (done % 8))
    this.#turns.push(turn)
    return turn
  }

  repeat(): NextTurn {
    const turns = this.#turns.values()
    return async () => turns.next().value
  }
}

/** Its state lasts as long as the object. */
export class OneStore implements Disk {
  readonly #store = new MemoryStore()

  async open(): Promise<Store> {
    return this.#store
  }
}

export function expectAlike(one: Seen, other: Seen): void {
  expect(one.leases).toEqual(other.leases)
  expect(one.answers).toEqual(other.answers)
  expect(one.offers).toEqual(other.offers)
  expect(one.hashes).toEqual(other.hashes)
  expect(one.rows).toEqual(other.rows)
}
