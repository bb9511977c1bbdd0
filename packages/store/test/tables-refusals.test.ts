import { copyFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openSqliteStore } from '../src/sqlite/sqlite-store.ts'
import { applySamples, filesOf, imageOf, modelOf, opened, QUIET, replay } from './sample-store.ts'
import { tempFolder, tempPath } from './temp-store.ts'

function refusal(reason: string, message: RegExp) {
  return { code: 'StoreUnavailable', message: expect.stringMatching(message), details: { reason } }
}

function removeLog(path: string): void {
  for (const name of filesOf(path)) {
    if (name.includes('-log-')) rmSync(join(dirname(path), name))
  }
}

/** Puts the files of one store in place of those of another; `ends` as in '-wal'. */
function put(from: string, to: string, ends: readonly string[]): void {
  for (const end of ends) copyFileSync(from + end, to + end)
}

function logsOf(path: string): string[] {
  const ends = filesOf(path).map((name) => name.slice(basename(path).length))
  return ends.filter((end) => end.startsWith('-log-'))
}

/** A store that was killed after some batches; the tables had a part of them durably. */
async function killed(durable: number, batches: number): Promise<string> {
  const path = tempPath()
  const store = await opened(path)
  await applySamples(store, 1, durable)
  await store.tables.sync()
  await applySamples(store, durable + 1, batches)
  const image = imageOf(path)
  await store.close()
  return image
}

async function closed(batches: number): Promise<string> {
  const path = tempPath()
  const store = await opened(path)
  await applySamples(store, 1, batches)
  await store.close()
  return path
}

describe('STORE-13: files that do not belong together are refused', () => {
  it.each(['removed', 'emptied'])(
    'STORE-13: a tables file that was %s, beside its log',
    async (how) => {
      const path = await killed(2, 4)
      if (how === 'removed') rmSync(path)
      else truncateSync(path)
      await expect(opened(path)).rejects.toMatchObject(
        refusal('tables_missing', /all jobs of before the log are lost; bring the file back/),
      )
      await expect(opened(path)).rejects.toMatchObject({ details: { reason: 'tables_missing' } })
    },
  )

  it('STORE-13: tables that were not closed in order, without their log', async () => {
    const path = await killed(2, 4)
    removeLog(path)
    await expect(opened(path)).rejects.toMatchObject(refusal('log_missing', /log/))
  })

  it('STORE-13: after a clean close the tables alone are a whole store', async () => {
    const path = await closed(3)
    removeLog(path)
    const store = await opened(path)
    expect(store.report).toMatchObject({ wasClean: true, tablesBatch: 3, logBatch: 3 })
    expect(await store.read.everything()).toEqual(await (await modelOf(3)).read.everything())
    await applySamples(store, 4, 4)
    await store.close()
    expect((await opened(path)).report).toMatchObject({ wasClean: true, tablesBatch: 4 })
  })

  it('STORE-13: the log of another store', async () => {
    const path = await killed(2, 4)
    const other = await killed(2, 4)
    removeLog(path)
    put(other, path, logsOf(other))
    await expect(opened(path)).rejects.toMatchObject({ code: 'StoreUnavailable' })
  })

  it('STORE-13: an old copy of the tables, behind which the log was trimmed', async () => {
    const path = tempPath()
    const store = await opened(path)
    await applySamples(store, 1, 2)
    await store.tables.sync()
    const old = imageOf(path)
    await applySamples(store, 3, 6)
    await store.log.trim(await store.tables.sync())
    await applySamples(store, 7, 8)
    const image = imageOf(path)
    await store.close()
    rmSync(`${image}-wal`)
    put(old, image, ['', '-wal'])
    await expect(opened(image)).rejects.toMatchObject(
      refusal('tables_too_old', /tables end with batch 2, and its log begins with batch 7/),
    )
  })

  it('STORE-13: an old copy of the tables whose batches the log still has is brought forward', async () => {
    const path = tempPath()
    const store = await opened(path)
    await applySamples(store, 1, 2)
    await store.tables.sync()
    const old = imageOf(path)
    await applySamples(store, 3, 6)
    const image = imageOf(path)
    await store.close()
    put(old, image, ['', '-wal'])
    const found = await opened(image)
    await replay(found)
    expect(await found.read.everything()).toEqual(await (await modelOf(6)).read.everything())
    await found.close()
  })

  it('STORE-13: an old copy of the log', async () => {
    const path = tempPath()
    const store = await opened(path)
    await applySamples(store, 1, 2)
    const old = imageOf(path)
    await applySamples(store, 3, 6)
    await store.tables.sync()
    const image = imageOf(path)
    await store.close()
    put(old, image, logsOf(old))
    await expect(openSqliteStore(image, {}, QUIET)).rejects.toMatchObject(
      refusal('log_too_old', /log ends with batch 2, and its tables reflect batch 6/),
    )
  })

  it('STORE-20: where nobody syncs the log, it begins anew behind the tables after a power cut', async () => {
    const path = tempPath()
    const store = await opened(path)
    await applySamples(store, 1, 2)
    const old = imageOf(path)
    await applySamples(store, 3, 6)
    await store.tables.sync()
    const image = imageOf(path)
    await store.close()
    put(old, image, logsOf(old))
    const found = await opened(image)
    expect(found.report).toMatchObject({ tablesBatch: 6, logBatch: 6 })
    await applySamples(found, 7, 8)
    const killed = imageOf(image)
    await found.close()
    const again = await opened(killed)
    await replay(again)
    expect(await again.read.everything()).toEqual(await (await modelOf(8)).read.everything())
    await again.close()
  })

  it('STORE-13: an old copy of the file beside a newer write-ahead log, or the other way round', async () => {
    const path = tempPath()
    const store = await opened(path)
    await applySamples(store, 1, 2)
    await store.tables.sync()
    await applySamples(store, 3, 3)
    await store.tables.commit()
    const old = imageOf(path)
    await applySamples(store, 4, 5)
    await store.tables.sync()
    await applySamples(store, 6, 6)
    await store.tables.commit()
    const now = imageOf(path)
    await store.close()
    for (const end of ['', '-wal']) {
      const mixed = imageOf(now)
      put(old, mixed, [end])
      // A refused store is left as it was.
      for (let i = 0; i < 2; i++) {
        await expect(opened(mixed)).rejects.toMatchObject(
          refusal('mixed_files', /do not belong together/),
        )
      }
    }
  })
})

describe('STORE-3: one store has one owner', () => {
  it('STORE-3: a store that is reached by a symbolic link is the same store', async () => {
    const path = tempPath()
    const link = join(tempFolder(), 'link.db')
    const store = await opened(path)
    symlinkSync(path, link)
    await expect(opened(link)).rejects.toMatchObject({ details: { reason: 'held' } })
    await applySamples(store, 1, 1)
    await store.close()
    const again = await opened(link)
    expect(again.report).toMatchObject({ isNew: false, tablesBatch: 1 })
    await again.close()
  })

  it('STORE-3: a store that is made through a symbolic link has its log beside the file', async () => {
    const path = tempPath()
    const link = join(tempFolder(), 'link.db')
    symlinkSync(path, link)
    const store = await opened(link)
    await applySamples(store, 1, 1)
    await expect(opened(link)).rejects.toMatchObject({ details: { reason: 'held' } })
    expect(filesOf(path)).toContain(`${basename(path)}-log-1`)
    await store.close()
  })

  it('STORE-3: a refused opening leaves the store free', async () => {
    const path = tempPath()
    writeFileSync(path, 'a letter, not a database\n'.repeat(400))
    await expect(openSqliteStore(path)).rejects.toMatchObject({
      details: { reason: 'not_a_database' },
    })
    rmSync(path)
    await (await openSqliteStore(path)).close()
  })
})
