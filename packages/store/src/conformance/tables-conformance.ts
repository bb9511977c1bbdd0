import type { Tables, WriteBatch } from '@fairlead/core/internal'
import { afterEach, beforeEach, describe } from 'vitest'
import { againstModel } from './against-model.ts'
import { batchRules } from './batch-rules.ts'
import { durableRules } from './durable-rules.ts'
import { pruneRules } from './prune-rules.ts'
import { readRules } from './read-rules.ts'
import { roundTripRules } from './round-trip-rules.ts'

/** Tables under test, with a state of their own. */
export interface OpenTables {
  readonly tables: Tables
  /** Closes the tables and opens the same state again, as a restart does. */
  readonly reopen: () => Promise<Tables>
  /** Ends without closing, as a killed process does, and opens what is left. */
  readonly crash: () => Promise<Tables>
  /** Closes the tables and removes their state. */
  readonly remove: () => Promise<void>
}

/** How the rules get at the tables of the test that is running. */
export interface Subject {
  readonly tables: () => Tables
  /** Applies rows under the next number. */
  readonly apply: (rows: WriteBatch) => Promise<number>
  readonly reopen: () => Promise<Tables>
  readonly crash: () => Promise<Tables>
  /** Other empty tables, which the rule has to remove. */
  readonly openAnother: () => Promise<OpenTables>
}

/**
 * Registers the tests that all tables have to pass; tables that do are correct. Titles begin with the rules of
 * docs/spec/store.md. `open` gives new, empty tables each time.
 */
export function tablesConformance(
  name: string,
  { open }: { readonly open: () => Promise<OpenTables> },
): void {
  describe(`${name}: tables conformance`, () => {
    let opened: OpenTables
    let tables: Tables
    let batch = 0
    beforeEach(async () => {
      opened = await open()
      tables = opened.tables
      batch = 0
    })
    afterEach(() => opened.remove())
    const subject: Subject = {
      tables: () => tables,
      apply: (rows) => tables.apply(rows, ++batch),
      reopen: async () => {
        tables = await opened.reopen()
        return tables
      },
      crash: async () => {
        tables = await opened.crash()
        return tables
      },
      openAnother: open,
    }
    roundTripRules(subject)
    batchRules(subject)
    readRules(subject)
    pruneRules(subject)
    durableRules(subject)
    againstModel(subject)
  })
}
