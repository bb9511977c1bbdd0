import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  appendAll,
  recordsOf,
  sampleRecord,
  sampleRecords,
} from '../src/conformance/sample-records.ts'
import { SMALL, STORE_ID, TempLog } from './temp-log.ts'
import { tempFolder, tempPath } from './temp-store.ts'

describe('LOG-10: the files of a log', () => {
  it('LOG-10: two are made at once, in full, and only their owner may read them', async () => {
    const old = process.umask(0o777)
    onTestFinished(() => void process.umask(old))
    const temp = new TempLog()
    const report = await temp.open()
    expect(report).toEqual({
      first: 1,
      end: { batch: 0, digest: null },
      tornBytes: 0,
      isNew: true,
    })
    for (const number of [1, 2]) {
      const { mode, size, blocks } = statSync(temp.file(number))
      expect([mode & 0o777, size]).toEqual([0o600, SMALL])
      expect(blocks * 512).toBeGreaterThanOrEqual(SMALL)
    }
    expect(temp.files().size).toBe(2)
    temp.crash()
  })

  it('LOG-10: with trimming two files take turns, whatever goes through them', async () => {
    const temp = new TempLog()
    await temp.open()
    for (let batch = 1; batch <= 200; batch++) {
      await temp.log.append(sampleRecord(batch, 1_000))
      if (batch % 3 === 0) await temp.log.trim(batch - 1)
      if (batch % 50 === 0) await temp.reopenAfterCrash()
    }
    expect([...temp.files().keys()]).toEqual([1, 2])
    expect(await recordsOf(temp.log, 197)).toEqual(sampleRecords(198, 200, 1_000))
    expect(await temp.log.stats()).toEqual({
      bytes: 2 * SMALL,
      segments: 2,
      oldest: 198,
      newest: 200,
    })
    temp.crash()
  })

  it('LOG-10: more files are made while trimming lags, and removed behind it', async () => {
    const temp = new TempLog()
    await temp.open()
    await appendAll(temp.log, sampleRecords(1, 60, 1_000))
    expect(temp.files().size).toBeGreaterThan(6)
    await temp.reopen()
    expect(await recordsOf(temp.log)).toEqual(sampleRecords(1, 60, 1_000))
    await temp.log.trim(59)
    expect(temp.files().size).toBe(3)
    await temp.reopen()
    expect(await recordsOf(temp.log, 59)).toEqual(sampleRecords(60, 60, 1_000))
    temp.crash()
  })

  it('LOG-10: a file that was removed is not missed, though its folder cannot be synced', async () => {
    const temp = new TempLog()
    await temp.open()
    await appendAll(temp.log, sampleRecords(1, 60, 1_000))
    temp.disk.failFolder(1)
    for (const upTo of [58, 59]) await temp.log.trim(upTo).catch(() => {})
    await appendAll(temp.log, sampleRecords(61, 80, 1_000))
    expect(await recordsOf(temp.log, 59)).toEqual(sampleRecords(60, 80, 1_000))
    temp.crash()
  })

  it('LOG-10: a file whose name cannot be made durable is not left over', async () => {
    const temp = new TempLog()
    await temp.open()
    temp.disk.failFolder(5)
    const records = sampleRecords(1, 3, 12_000)
    for (const record of records) {
      const append = () => temp.log.append(record)
      for (let i = 0; i < 6; i++) await append().catch(() => {})
      await append()
    }
    expect(temp.files().size).toBe(2 + 3)
    temp.crash()
  })

  it('LOG-10: a record that is longer than a file gets one of its own, for as long as it is there', async () => {
    const temp = new TempLog()
    await temp.open()
    const records = [0, 100_000, 5_000, 3_000_000, 10, 8_160, 8_161].map((bytes, i) =>
      sampleRecord(i + 1, bytes),
    )
    await appendAll(temp.log, records)
    await temp.reopenAfterCrash()
    const found = await recordsOf(temp.log)
    expect(found.map(({ body }, i) => Buffer.compare(body, records[i]?.body ?? body))).toEqual(
      records.map(() => 0),
    )
    expect(found).toHaveLength(records.length)
    await temp.log.trim(7)
    const sizes = [...temp.files().values()].map(({ length }) => length)
    expect(sizes.filter((size) => size > SMALL).length).toBeLessThanOrEqual(1)
    temp.crash()
  })

  it('LOG-10: what an earlier use left in a file is never taken for its records', async () => {
    const temp = new TempLog()
    await temp.open()
    // The same lengths each time, so that old records lie where new ones would.
    for (let batch = 1; batch <= 100; batch++) {
      await temp.log.append(sampleRecord(batch, 1_000))
      await temp.log.trim(batch - 1)
      await temp.reopenAfterCrash()
      expect(temp.log.end.batch).toBe(batch)
      expect(await recordsOf(temp.log, batch - 1)).toEqual([sampleRecord(batch, 1_000)])
    }
    temp.crash()
  })

  it('LOG-10: the log of another store is refused, in whole or in part', async () => {
    const temp = new TempLog()
    await temp.open()
    await temp.close()
    const files = temp.files()
    const otherId = Uint8Array.from(STORE_ID).fill(9)
    const other = new TempLog({ storeId: otherId, createAfter: null })
    other.put(files)
    const refusal = { code: 'StoreUnavailable', details: { reason: 'other_store' } }
    await expect(other.open()).rejects.toMatchObject(refusal)
    const own = new TempLog({ storeId: otherId }, tempPath())
    await own.open()
    await own.close()
    own.put(new Map([...files].filter(([number]) => number === 2)))
    await expect(own.open()).rejects.toMatchObject({
      ...refusal,
      details: { file: own.file(2) },
    })
  })

  it('LOG-10: a missing log is refused unless a new one may begin', async () => {
    const temp = new TempLog({ createAfter: null })
    await expect(temp.open()).rejects.toMatchObject({ details: { reason: 'log_missing' } })
    expect(temp.files().size).toBe(0)
    const begun = new TempLog({ createAfter: 77 }, temp.path)
    expect(await begun.open()).toMatchObject({ first: 78, end: { batch: 77 }, isNew: true })
    begun.crash()
    expect(await begun.open()).toMatchObject({ first: 78, end: { batch: 77 }, isNew: false })
    begun.crash()
  })

  it('LOG-10: a file that was being made when the process died is removed', async () => {
    const temp = new TempLog()
    await temp.open()
    temp.crash()
    closeSync(openSync(`${temp.file(3)}.new`, 'w'))
    await temp.open()
    expect([...temp.files().keys()]).toEqual([1, 2])
    temp.crash()
  })

  it('LOG-10: a newer format is refused, and left as it is', async () => {
    const temp = new TempLog()
    await temp.open()
    await temp.close()
    const files = temp.files()
    for (const content of files.values()) {
      for (const at of [0, 4_096]) {
        content.writeUInt32LE(2, at + 12)
        content.writeUInt32LE(crc32(content.subarray(at + 12, at + 128)), at + 8)
      }
    }
    temp.put(files)
    await expect(temp.open()).rejects.toMatchObject({
      details: { reason: 'newer_format', format: 2 },
    })
    expect(temp.files()).toEqual(files)
  })
})

describe('LOG-11: scrubbing', () => {
  it('LOG-11: overwrites all that was trimmed, and nothing else', async () => {
    const temp = new TempLog()
    await temp.open()
    const secret = Buffer.from('a name and an address')
    const record = (batch: number) => ({
      batch,
      digest: 1,
      body: Buffer.alloc(batch % 5 === 0 ? 30_000 : 900, secret),
    })
    for (let batch = 1; batch <= 40; batch++) {
      await temp.log.append(record(batch))
      if (batch === 20) await temp.log.trim(18)
    }
    await temp.log.append(sampleRecord(41))
    await temp.log.trim(40)
    const has = () =>
      [...temp.files().values()].filter((content) => content.includes(secret)).length
    expect(has()).toBeGreaterThan(0)
    await temp.log.scrub()
    expect(has()).toBe(0)
    await temp.reopenAfterCrash()
    expect(await recordsOf(temp.log, 40)).toEqual([sampleRecord(41)])
    await temp.log.append(record(42))
    await Promise.all([temp.log.scrub(), temp.log.append(sampleRecord(43))])
    expect(has()).toBe(1)
    await temp.reopenAfterCrash()
    expect(temp.log.end.batch).toBe(43)
    temp.crash()
  })

  it('LOG-11: a file that is removed leaves nothing on the disk', async () => {
    const temp = new TempLog()
    await temp.open()
    await temp.log.append(sampleRecord(1, 30_000))
    await temp.log.append(sampleRecord(2, 5_000))
    const before = temp.disk.written
    await temp.log.trim(1)
    expect(temp.disk.written - before).toBeGreaterThanOrEqual(30_000)
    temp.crash()
  })
})

describe('LOG-13: syncs', () => {
  it('LOG-13: records that are given together are synced once; `relaxed` does not sync them', async () => {
    for (const [durability, syncs] of [
      ['full', 1],
      ['relaxed', 0],
    ] as const) {
      const temp = new TempLog({ durability })
      await temp.open()
      const before = temp.disk.syncs
      await Promise.all(sampleRecords(1, 8).map((record) => temp.log.append(record)))
      expect(temp.disk.syncs - before).toBe(syncs)
      await temp.reopenAfterCrash()
      expect(await recordsOf(temp.log)).toEqual(sampleRecords(1, 8))
      temp.crash()
    }
  })
})

describe.runIf(canMount())('LOG-5: a full disk', () => {
  it('LOG-5: a record that needs a new file is refused on a full disk, and stored when there is room', async () => {
    const folder = smallDisk()
    const temp = new TempLog({ segmentBytes: 1_048_576 }, join(folder, 'state.db'))
    await temp.open()
    fill(folder)
    const full = { code: 'StoreUnavailable', details: { reason: 'full' } }
    // Files that are made already need no more room on the disk.
    const records = sampleRecords(1, 20, 100_000)
    await appendAll(temp.log, records)
    for (let i = 0; i < 3; i++) {
      await expect(temp.log.append(sampleRecord(21, 100_000))).rejects.toMatchObject(full)
    }
    expect(temp.files().size).toBe(2)
    await temp.log.trim(19)
    await temp.log.append(sampleRecord(21, 100_000))
    await expect(temp.log.append(sampleRecord(22, 1_500_000))).rejects.toMatchObject(full)
    rmSync(join(folder, 'ballast'))
    await temp.log.append(sampleRecord(22, 1_500_000))
    await temp.reopenAfterCrash()
    expect(temp.log.end.batch).toBe(22)
    temp.crash()
  })

  it('LOG-10: a log on a full disk opens', async () => {
    const folder = smallDisk()
    const temp = new TempLog({ segmentBytes: 1_048_576 }, join(folder, 'state.db'))
    await temp.open()
    await temp.log.append(sampleRecord(1))
    await temp.close()
    rmSync(temp.file(2))
    fill(folder)
    await temp.open()
    await temp.log.append(sampleRecord(2))
    expect(temp.log.end.batch).toBe(2)
    temp.crash()
    const other = new TempLog({ segmentBytes: 1_048_576 }, join(folder, 'other.db'))
    await expect(other.open()).rejects.toMatchObject({ details: { reason: 'full' } })
    expect(other.files().size).toBe(0)
  })
})

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
  if (process.getuid?.() !== 0) return false
  const folder = join(tmpdir(), `fairlead-log-mount-${process.pid}`)
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
