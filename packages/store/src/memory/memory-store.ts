import type { Store } from '@fairlead/core'
import type { StoreReads } from '@fairlead/core/internal'
import { MemoryLog } from './memory-log.ts'
import { MemoryTables } from './memory-tables.ts'

export { type AppendFault, MemoryLog, type MemoryLogOptions } from './memory-log.ts'
export { MemoryTables } from './memory-tables.ts'

/** A store in memory. Its state lasts as long as the object, so closing does nothing: for a restart, use it again. */
export class MemoryStore implements Store {
  readonly log: MemoryLog
  readonly tables: MemoryTables
  readonly read: StoreReads

  constructor({ log = new MemoryLog(), tables = new MemoryTables() } = {}) {
    this.log = log
    this.tables = tables
    this.read = tables.read
  }

  async close(): Promise<void> {}
}
