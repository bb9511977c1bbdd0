import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { batchOf } from '../src/conformance/sample-rows.ts'
import { restoreStore } from '../src/sqlite/sqlite-store.ts'
import { applySamples, modelOf, opened } from './sample-store.ts'
import { tempFolder, tempPath } from './temp-store.ts'

it('STORE-18: a backup is a complete store of what was applied, and batches are applied meanwhile', async () => {
  const store = await opened(tempPath(), {})
  const to = join(tempFolder(), "it's a copy.db")
  await applySamples(store, 1, 4)
  const copied = store.backup(to)
  await applySamples(store, 5, 6)
  const batch = await copied
  expect(batch).toBeGreaterThanOrEqual(4)
  expect(readdirSync(dirname(to))).toEqual(["it's a copy.db"])
  expect(statSync(to).mode & 0o777).toBe(0o600)
  await store.close()

  const copy = await opened(to)
  expect(copy.report).toMatchObject({ wasClean: true, tablesBatch: batch, logBatch: batch })
  expect(await copy.read.everything()).toEqual(await (await modelOf(batch)).read.everything())
  await applySamples(copy, batch + 1, 8)
  await copy.close()
  const again = await opened(to)
  expect(await again.read.everything()).toEqual(await (await modelOf(8)).read.everything())
  await again.close()
})

it('STORE-18: a backup overwrites no file, and leaves none where it fails', async () => {
  const store = await opened(tempPath())
  await applySamples(store, 1, 1)
  const folder = tempFolder()
  const to = join(folder, 'there')
  writeFileSync(to, 'x')
  await expect(store.backup(to)).rejects.toMatchObject({ details: { reason: 'exists' } })
  expect(statSync(to).size).toBe(1)
  const nowhere = join(folder, 'no', 'copy.db')
  await expect(store.backup(nowhere)).rejects.toMatchObject({ code: 'StoreUnavailable' })
  expect(existsSync(nowhere)).toBe(false)
  await store.close()
})

it('BACKUP-5: a restored store finds every job by the key of its caller', async () => {
  const store = await opened(tempPath())
  await applySamples(store, 1, 2)
  const jobs = await store.read.jobs({ afterSeq: 0, limit: 100 })
  const found = await store.read.jobsByTx(jobs)
  const backup = tempPath()
  await store.backup(backup)
  await store.close()

  const path = tempPath()
  restoreStore(backup, path, { movesAside: false, rows: () => batchOf({}) })
  const restored = await opened(path)
  expect(found).not.toContain(null)
  expect(await restored.read.jobsByTx(jobs)).toEqual(found)
  await restored.close()
})
