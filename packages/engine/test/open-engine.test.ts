import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callerOf } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { expect, it, onTestFinished } from 'vitest'

it('STORE-3: a store that is still being opened is free again if the engine cannot be opened', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-open-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const store = () => openSqliteStore(join(folder, 'fairlead.db'))
  await expect(openEngine({ store: store(), policy: { queue: { size: 1 } } })).rejects.toThrow(
    'size',
  )
  const engine = await openEngine({ store: store() })
  onTestFinished(() => engine.close())
  const request = { kind: 'task', payload: { name: 'greet', args: {} } }
  expect(await engine.enqueue(request, { caller: callerOf('me') })).toMatch(/^0x/)
})
