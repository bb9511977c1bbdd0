import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openSqliteStore } from '../src/sqlite/sqlite-store.ts'
import { tempPath } from './temp-store.ts'

/** When the process exits, after its batches began; `npm run test:long` takes more of them. */
const DELAYS_MS = process.env['LONG_TESTS'] ? [0, 5, 10, 15, 20, 25, 30, 35, 40, 45] : [0, 10, 30]

const CHILD = join(import.meta.dirname, 'exit-child.mjs')

it('STORE-13: a process may exit while batches are applied, with its own code, and harms nothing', async () => {
  for (const delayMs of DELAYS_MS) {
    const path = tempPath()
    const child = spawnSync(process.execPath, ['--no-warnings', CHILD, path, String(delayMs)])
    expect({ code: child.status, said: child.stderr.toString() }).toEqual({ code: 7, said: '' })
    const store = await openSqliteStore(path)
    // Whole batches, as many as there was time for.
    expect((await store.tables.load()).jobs.length % 2_000).toBe(0)
    await store.close()
  }
})
