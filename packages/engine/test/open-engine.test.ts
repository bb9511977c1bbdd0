import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callerOf } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { MemoryStore } from '@fairlead/testkit'
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

it('POLICY-4: a store keeps the policy that it has, and one that is wrong is told all the same', async () => {
  const store = new MemoryStore()
  const open = (policy: unknown) => openEngine({ store, policy })
  await (await open({ queue: { batch_size: 7 } })).close()
  await expect(open({ queue: { size: 1 } })).rejects.toThrow('size')
  const engine = await open({ queue: { batch_size: 9 } })
  onTestFinished(() => engine.close())
  expect(engine.view.policy.queue.batchSize).toBe(7)
})
