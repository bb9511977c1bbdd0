import { afterAll, beforeAll, describe } from 'vitest'
import { logConformance } from '../../src/conformance/log-conformance.ts'
import { tablesConformance } from '../../src/conformance/tables-conformance.ts'
import { openLog, openTables, type PostgresStores, startStores } from './stores.ts'

describe('PostgreSQL', () => {
  let stores: PostgresStores
  beforeAll(async () => {
    stores = await startStores()
  })
  afterAll(() => stores.close())

  logConformance('log', { open: (after) => openLog(stores, after) })
  tablesConformance('tables', { open: () => openTables(stores) })
})
