import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkBackup, openSqliteStore } from '@fairlead/store/sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Rig, TASK } from './rig.ts'

let rig: Rig
let folder: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-backups-'))
  rig = await Rig.open({ isOnFile: true })
})
afterEach(async () => {
  await rig.close()
  rmSync(folder, { recursive: true })
})

it.each(['json', 'cbor'] as const)(
  'BACKUP-1: a backup has all that was answered, and work goes on (%s)',
  async (form) => {
    const path = join(folder, 'backup.db')
    const enqueued: string[] = []
    for (let i = 0; i < 20; i++) {
      enqueued.push((await rig.call('alice', 'aicf.enqueue', TASK)).task_id)
    }
    const going = [rig.call('admin', 'storage.backup', { path }, form)]
    const meanwhile = Array.from({ length: 20 }, () => rig.call('alice', 'aicf.enqueue', TASK))
    const [made] = await Promise.all(going)
    await Promise.all(meanwhile)
    expect(made).toMatchObject({ path, bytes: statSync(path).size, key_file: null })
    expect(checkBackup(path).batch).toBe(made?.batch)
    const copy = await openSqliteStore(path)
    const { jobs } = await copy.tables.load()
    await copy.close()
    expect(jobs.map(({ id }) => id)).toEqual(expect.arrayContaining(enqueued))
    const { entries } = await rig.call('auditor', 'audit.list', { limit: 1_000 })
    const [entry] = entries.filter(({ action }) => action === 'backupMade')
    expect(entry?.actor).toMatch(/^token:/)
    expect(entry?.details).toEqual({
      subject: 'store',
      path,
      batch: made?.batch,
      bytes: made?.bytes,
    })
  },
)

it('BACKUP-1: is for admins, takes an absolute path, and overwrites nothing', async () => {
  const path = join(folder, 'backup.db')
  expect(await rig.outcome('operator', 'storage.backup', { path })).toBe('Forbidden')
  expect(await rig.outcome('admin', 'storage.backup', { path: 'backup.db' })).toBe('InvalidParams')
  const both = await Promise.all([
    rig.outcome('admin', 'storage.backup', { path }),
    rig.outcome('admin', 'storage.backup', { path: `${path}-2` }),
  ])
  expect(both.sort()).toEqual(['InvalidState', 'ok'])
  const there = statSync(path, { throwIfNoEntry: false }) === undefined ? `${path}-2` : path
  expect(await rig.outcome('admin', 'storage.backup', { path: there })).toBe('InvalidParams')
  const nowhere = join(folder, 'no', 'such', 'folder.db')
  expect(await rig.outcome('admin', 'storage.backup', { path: nowhere })).toBe('StoreUnavailable')
  // One that failed is not under way any more.
  expect(await rig.outcome('admin', 'storage.backup', { path: `${path}-3` })).toBe('ok')
})

it('BACKUP-1: a store without a file makes none', async () => {
  const other = await Rig.open()
  const path = join(folder, 'backup.db')
  expect(await other.outcome('admin', 'storage.backup', { path })).toBe('InvalidState')
  expect((await other.call('operator', 'stats.get', {})).storage).toBe(null)
  await other.close()
})

it('STORAGE-1: metrics and stats tell the size of the log, and how far the tables are behind', async () => {
  await rig.call('alice', 'aicf.enqueue', TASK)
  const { storage } = await rig.call('operator', 'stats.get', {})
  expect(storage?.log_bytes).toBeGreaterThan(1_048_576)
  expect(storage?.log_batches).toBeGreaterThan(0)
  const text = await (await rig.get('/metrics', 'operator')).text()
  expect(text).toMatch(/^fairlead_log_bytes [1-9]\d+$/m)
  expect(text).toMatch(/^fairlead_log_batches [1-9]\d*$/m)
  expect(text).toMatch(/^fairlead_tables_behind_changes \d+$/m)
})
