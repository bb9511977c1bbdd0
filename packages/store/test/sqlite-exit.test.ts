import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openSqliteStore } from '../src/sqlite/sqlite-store.ts'
import { tempPath } from './temp-store.ts'

const CHILD = join(import.meta.dirname, 'exit-child.mjs')

it('STORE-13: a process may exit in the middle of a commit, with its own code, and harms nothing', async () => {
  for (let delayMs = 0; delayMs < 50; delayMs += 5) {
    const path = tempPath()
    const child = spawnSync(process.execPath, ['--no-warnings', CHILD, path, String(delayMs)])
    expect({ code: child.status, said: child.stderr.toString() }).toEqual({ code: 7, said: '' })
    const store = await openSqliteStore(path)
    // Whole batches, as many as there was time for.
    expect((await store.load()).jobs.length % 2_000).toBe(0)
    await store.close()
  }
})
