import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { batchOf, newJob, sampleJob } from '../src/conformance/sample-rows.ts'
import { openDatabase } from '../src/sqlite/driver.ts'
import { openSqliteStore } from '../src/sqlite/sqlite-store.ts'
import { applyLogged, recordOf } from './open-logged.ts'
import { tempFolder, tempPath } from './temp-store.ts'

const isRoot = process.getuid?.() === 0

function unavailable(reason: string, advice: RegExp) {
  const message = expect.stringMatching(advice)
  return { code: 'StoreUnavailable', message, details: { reason } }
}

function jobsFrom(first: number, count: number) {
  return Array.from({ length: count }, (_, i) =>
    newJob(sampleJob(first + i), new Uint8Array(1_000).fill(first)),
  )
}

async function storeWith(path: string, jobs: number): Promise<void> {
  const store = await openSqliteStore(path)
  await applyLogged(store, batchOf({ newJobs: jobsFrom(1, jobs) }), 1)
  await store.close()
}

function alter(path: string, sql: string): void {
  const db = openDatabase(path)
  db.exec(sql)
  db.close()
}

describe('STORE-11: a file that is not ours to write is refused and left as it was', () => {
  it('STORE-11: a newer schema', async () => {
    const path = tempPath()
    await storeWith(path, 1)
    alter(path, 'PRAGMA user_version = 99')
    const refusal = unavailable('newer_schema', /version 99.*up to \d+.*newer Fairlead/)
    await expect(openSqliteStore(path)).rejects.toMatchObject(refusal)
    // And not held by the attempt.
    await expect(openSqliteStore(path)).rejects.toMatchObject(refusal)
    alter(path, 'PRAGMA user_version = 8')
    const store = await openSqliteStore(path)
    expect((await store.tables.load()).jobs).toHaveLength(1)
    await store.close()
  })

  it('STORE-11: the database of another program', async () => {
    const path = tempPath()
    alter(path, 'CREATE TABLE accounts (id INTEGER)')
    const before = readFileSync(path)
    await expect(openSqliteStore(path)).rejects.toMatchObject(
      unavailable('not_a_store', /another program.*give the path/),
    )
    expect(readFileSync(path)).toEqual(before)
    expect(readdirSync(dirname(path))).toEqual([basename(path)])
  })

  it('STORE-11: something that is no database', async () => {
    const path = tempPath()
    writeFileSync(path, 'a letter, not a database\n'.repeat(400))
    const before = readFileSync(path)
    await expect(openSqliteStore(path)).rejects.toMatchObject(
      unavailable('not_a_database', /not a database.*give the path/),
    )
    expect(readFileSync(path)).toEqual(before)
    expect(readdirSync(dirname(path))).toEqual([basename(path)])
  })
})

describe('STORE-12: trouble is told with its cause and what to do', () => {
  it('STORE-12: a damaged file', async () => {
    const path = tempPath()
    await storeWith(path, 200)
    const file = openSync(path, 'r+')
    for (let at = 4_096; at < statSync(path).size; at += 4_096) {
      writeSync(file, Buffer.alloc(4_096, 0x5a), 0, 4_096, at)
    }
    closeSync(file)
    const use = async () => {
      const store = await openSqliteStore(path)
      try {
        await store.tables.load()
      } finally {
        await store.close().catch(() => {})
      }
    }
    await expect(use()).rejects.toMatchObject(unavailable('damaged', /damaged.*backup/))
  })

  it('STORE-12: a folder that does not exist, or a folder in place of the file', async () => {
    const folder = tempFolder()
    const refusal = unavailable('cannot_open', /check that its folder exists/)
    await expect(openSqliteStore(join(folder, 'no', 'x.db'))).rejects.toMatchObject(refusal)
    await expect(openSqliteStore(folder)).rejects.toMatchObject(refusal)
    mkdirSync(join(folder, 'no'))
    await (await openSqliteStore(join(folder, 'no', 'x.db'))).close()
  })

  it('STORE-12: a folder or a file that cannot be written', async () => {
    const path = tempPath()
    const folder = join(path, '..')
    await storeWith(path, 1)
    chmodSync(path, 0o444)
    chmodSync(folder, 0o555)
    becomeSomebody()
    // On this thread: somebody else may not be allowed to read the files that a new one begins with.
    for (const file of [path, join(folder, 'new.db')]) {
      const open = openSqliteStore(file, {}, { isInline: true })
      await expect(open).rejects.toMatchObject(unavailable('cannot_open', /may write there/))
    }
  })

  it('STORE-12: a closed store', async () => {
    const store = await openSqliteStore(tempPath())
    await store.close()
    const refusal = unavailable('closed', /open it again/)
    await expect(store.tables.apply(batchOf({}), 1)).rejects.toMatchObject(refusal)
    await expect(store.tables.load()).rejects.toMatchObject(refusal)
    await expect(store.read.journal(0, 1)).rejects.toMatchObject(refusal)
  })
})

describe.runIf(canMount())('STORE-12: a full disk', () => {
  const refusal = unavailable('full', /disk is full; free some space/)
  const quiet = { isInline: true, segmentBytes: 65_536, pace: { ms: 1e9, rows: 1e9 } }
  const open = (path: string) => openSqliteStore(path, { durability: 'relaxed' }, quiet)

  it('STORE-12: takes away nothing that was applied, and what it held back is committed when there is space', async () => {
    const folder = smallDisk()
    const path = join(folder, 'state.db')
    const store = await open(path)
    await applyLogged(store, batchOf({ newJobs: jobsFrom(1, 100), meta: { batch: '1' } }), 1)
    expect(await store.tables.sync()).toBe(1)
    for (let n = 2; n <= 5; n++) await store.log.append(recordOf(n))
    fill(folder)
    // The log has them, and the tables are in memory until they are committed.
    for (let n = 2; n <= 5; n++) {
      const newJobs = jobsFrom(100 * n, 90)
      expect(await store.tables.apply(batchOf({ newJobs, meta: { batch: String(n) } }), n)).toBe(1)
      for (let i = 0; i < 2; i++) await expect(store.tables.sync()).rejects.toMatchObject(refusal)
      const { batch, jobs, meta } = await store.tables.load()
      expect([batch, jobs.length, meta['batch']]).toEqual([n, 100 + 90 * (n - 1), String(n)])
    }
    const before = await store.read.everything()
    rmSync(join(folder, 'ballast'))
    expect(await store.tables.sync()).toBe(5)
    expect(await store.read.everything()).toEqual(before)
    await store.close()
    const again = await open(path)
    expect(await again.read.everything()).toEqual(before)
    await again.close()
  })

  it('STORE-12: a store that is closed on a full disk goes on from its log', async () => {
    const folder = smallDisk()
    const path = join(folder, 'state.db')
    const store = await open(path)
    await applyLogged(store, batchOf({ newJobs: jobsFrom(1, 100) }), 1)
    await store.tables.sync()
    for (let n = 2; n <= 9; n++) await store.log.append(recordOf(n))
    fill(folder)
    await store.tables.apply(batchOf({ newJobs: jobsFrom(200, 200) }), 9)
    await store.close()
    await expect(open(join(folder, 'new.db'))).rejects.toMatchObject(refusal)
    rmSync(join(folder, 'ballast'))
    const again = await open(path)
    expect(again.report).toMatchObject({ wasClean: false, tablesBatch: 1, logBatch: 9 })
    expect((await again.tables.load()).jobs).toHaveLength(100)
    await again.close()
  })
})

/** Root may write everywhere, so a test of rights is somebody else for a while. */
function becomeSomebody(): void {
  if (!isRoot) return
  process.seteuid?.(65_534)
  onTestFinished(() => {
    process.seteuid?.(0)
  })
}

/** A disk of 4 MiB. */
function smallDisk(): string {
  const folder = tempFolder()
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder])
  onTestFinished(() => {
    execFileSync('umount', ['-l', folder])
  })
  return folder
}

function fill(folder: string): void {
  const file = openSync(join(folder, 'ballast'), 'w')
  try {
    for (;;) writeSync(file, Buffer.alloc(4_096))
  } catch {
    // Full, as it should be.
  } finally {
    closeSync(file)
  }
}

function canMount(): boolean {
  if (!isRoot) return false
  const folder = join(tmpdir(), `fairlead-mount-${process.pid}`)
  mkdirSync(folder)
  try {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', folder], { stdio: 'ignore' })
    execFileSync('umount', [folder])
    return true
  } catch {
    return false
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
