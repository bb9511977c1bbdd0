import type { Store } from '@fairlead/core'
import { afterEach, beforeEach, describe } from 'vitest'
import { againstModel } from './against-model.ts'
import { batchRules } from './batch-rules.ts'
import { pruneRules } from './prune-rules.ts'
import { readRules } from './read-rules.ts'
import { roundTripRules } from './round-trip-rules.ts'

/** A store under test, with a state of its own. */
export interface OpenStore {
  readonly store: Store
  /** Closes the store and opens the same state again, as a restart does. */
  readonly reopen: () => Promise<Store>
  /** Closes the store and removes its state. */
  readonly remove: () => Promise<void>
}

/** How the rules get at the store of the test that is running. */
export interface Subject {
  readonly store: () => Store
  readonly reopen: () => Promise<Store>
  /** One more empty store, which the rule has to remove. */
  readonly openAnother: () => Promise<OpenStore>
}

/**
 * Registers the tests that every store has to pass; a store that does is correct. Titles begin with
 * the rules of docs/spec/store.md. `open` gives a new, empty store each time.
 */
export function storeConformance(
  name: string,
  { open }: { readonly open: () => Promise<OpenStore> },
): void {
  describe(`${name}: store conformance`, () => {
    let opened: OpenStore
    let store: Store
    beforeEach(async () => {
      opened = await open()
      store = opened.store
    })
    afterEach(() => opened.remove())
    const subject: Subject = {
      store: () => store,
      reopen: async () => {
        store = await opened.reopen()
        return store
      },
      openAnother: open,
    }
    roundTripRules(subject)
    batchRules(subject)
    readRules(subject)
    pruneRules(subject)
    againstModel(subject)
  })
}
