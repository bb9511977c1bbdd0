import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storeConformance } from '../src/conformance/store-conformance.ts'
import { openSqliteStore } from '../src/sqlite/sqlite-store.ts'

storeConformance('SQLite', {
  open: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-store-'))
    const path = join(folder, 'state.db')
    let store = await openSqliteStore(path, { durability: 'relaxed' })
    return {
      store,
      reopen: async () => {
        await store.close()
        store = await openSqliteStore(path, { durability: 'relaxed' })
        return store
      },
      remove: async () => {
        await store.close()
        rmSync(folder, { recursive: true, force: true })
      },
    }
  },
})
