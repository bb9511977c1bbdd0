import { describe } from 'vitest'
import { againstModel } from '../src/conformance/against-model.ts'
import { tablesConformance } from '../src/conformance/tables-conformance.ts'
import { MemoryTables } from '../src/memory/memory-tables.ts'
import { openForSuite } from './open-logged.ts'

tablesConformance('memory', {
  open: async () => {
    const tables = new MemoryTables()
    const again = async () => tables
    return { tables, reopen: again, crash: again, remove: async () => {} }
  },
})

tablesConformance('SQLite', { open: () => openForSuite({ isInline: true }) })

describe('SQLite on its threads', () => {
  againstModel({ openAnother: () => openForSuite({}) })
})
