import { rmSync, truncateSync } from 'node:fs'
import type { LogRecord } from '@fairlead/core/internal'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  appendAll,
  recordsOf,
  sampleRecord,
  sampleRecords,
} from '../src/conformance/sample-records.ts'
import { recordBytes } from '../src/log-files/record.ts'
import { HEADER_BYTES } from '../src/log-files/segment-header.ts'
import { SMALL, TempLog } from './temp-log.ts'

type Files = Map<number, Buffer>

const DAMAGED = { code: 'StoreUnavailable', details: { reason: 'damaged' } }

function damaged(details: { file?: string; batch?: number | null; offset?: number }) {
  return { code: 'StoreUnavailable', details: { reason: 'damaged', ...details } }
}

function textOf({ batch, digest, body }: LogRecord): string {
  return `${batch} ${digest} ${Buffer.from(body).toString('hex')}`
}

/** A log that was killed after some batches. */
async function killedLog(batches: number, bytes = 1_000): Promise<TempLog> {
  const temp = new TempLog()
  await temp.open()
  await appendAll(temp.log, sampleRecords(1, batches, bytes))
  temp.crash()
  return temp
}

/** Its files with some of them changed. */
function changed(files: Files, change: (files: Files) => void): Files {
  const copies = new Map([...files].map(([n, content]) => [n, Buffer.from(content)]))
  change(copies)
  return copies
}

function contentOf(files: Files, number: number): Buffer {
  const content = files.get(number)
  if (content === undefined) throw new Error('there is no such file')
  return content
}

describe('LOG-8: a torn record', () => {
  it('LOG-8: torn at any byte, it was not confirmed, and the log goes on in its place', async () => {
    const temp = new TempLog()
    await temp.open()
    await appendAll(temp.log, sampleRecords(1, 3, 100))
    const before = temp.files()
    await temp.log.append(sampleRecord(4, 400))
    temp.crash()
    const after = temp.files()
    const at = HEADER_BYTES + 3 * recordBytes(sampleRecord(1, 100))
    const length = recordBytes(sampleRecord(4, 400))
    for (let torn = 0; torn < length; torn += torn < 40 ? 1 : 7) {
      for (const isHead of [true, false]) {
        // Before the mark was noted: the first bytes reached the disk, or all but these.
        const [from, to] = isHead ? [at, at + torn] : [at + torn + 1, at + length]
        temp.put(
          changed(before, (files) => {
            contentOf(after, 1).copy(contentOf(files, 1), from, from, to)
          }),
        )
        const { end, tornBytes } = await temp.open()
        expect(end.batch).toBe(3)
        // As far as what is left of its head tells.
        expect(tornBytes).toBeLessThanOrEqual(length)
        temp.crash()
        expect((await temp.open()).tornBytes).toBe(0)
        await temp.log.append(sampleRecord(4))
        expect(await recordsOf(temp.log)).toEqual([...sampleRecords(1, 3, 100), sampleRecord(4)])
        temp.crash()
      }
    }
  })

  it('LOG-8: its bytes are told once, and overwritten', async () => {
    const temp = new TempLog()
    await temp.open()
    const before = temp.files()
    await temp.log.append(sampleRecord(1, 400))
    temp.crash()
    const after = temp.files()
    temp.put(
      changed(before, (files) => {
        contentOf(after, 1).copy(
          contentOf(files, 1),
          HEADER_BYTES,
          HEADER_BYTES,
          HEADER_BYTES + 300,
        )
      }),
    )
    expect((await temp.open()).tornBytes).toBe(432)
    temp.crash()
    expect(
      contentOf(temp.files(), 1)
        .subarray(HEADER_BYTES)
        .every((byte) => byte === 0),
    ).toBe(true)
    expect((await temp.open()).tornBytes).toBe(0)
    temp.crash()
  })

  it('LOG-8: of a group that was torn in its middle, nothing behind the tear comes back', async () => {
    const temp = new TempLog()
    await temp.open()
    const before = temp.files()
    await Promise.all(sampleRecords(1, 4, 100).map((record) => temp.log.append(record)))
    temp.crash()
    const bytes = recordBytes(sampleRecord(1, 100))
    const after = temp.files()
    temp.put(
      changed(before, (files) => {
        const content = contentOf(files, 1)
        contentOf(after, 1).copy(content, HEADER_BYTES, HEADER_BYTES)
        content[HEADER_BYTES + bytes + 50] = 1 ^ (content[HEADER_BYTES + bytes + 50] ?? 0)
      }),
    )
    const { end, tornBytes } = await temp.open()
    expect({ end: end.batch, tornBytes }).toEqual({ end: 1, tornBytes: 3 * bytes })
    // The same length: what was behind it would fit behind this one.
    await temp.log.append({ ...sampleRecord(2, 100), digest: 7 })
    await temp.reopenAfterCrash()
    expect(temp.log.end).toEqual({ batch: 2, digest: 7 })
    temp.crash()
  })
})

describe('LOG-9: damage', () => {
  it('LOG-9: a damaged record before others is refused with its place, and the file is left as it is', async () => {
    const temp = await killedLog(6)
    const files = temp.files()
    const bytes = recordBytes(sampleRecord(1, 1_000))
    for (let batch = 1; batch <= 5; batch++) {
      const offset = HEADER_BYTES + (batch - 1) * bytes
      const bad = changed(files, (all) => contentOf(all, 1).writeUInt8(77, offset + 500))
      temp.put(bad)
      await expect(temp.open()).rejects.toMatchObject(
        damaged({ file: temp.file(1), batch, offset }),
      )
      await expect(temp.open()).rejects.toThrow(
        new RegExp(`log-1 is damaged at byte ${offset}: batch ${batch} is missing .* backup`),
      )
      expect(temp.files()).toEqual(bad)
    }
    temp.put(files)
    expect((await temp.open()).end.batch).toBe(6)
    temp.crash()
  })

  it('LOG-9: zeros in place of the last records, or of some in the middle', async () => {
    const temp = await killedLog(6)
    const files = temp.files()
    const bytes = recordBytes(sampleRecord(1, 1_000))
    for (const [from, to] of [
      [1, 6],
      [3, 6],
      [6, 6],
      [2, 3],
      [1, 1],
    ] as const) {
      const offset = HEADER_BYTES + (from - 1) * bytes
      temp.put(
        changed(files, (all) => contentOf(all, 1).fill(0, offset, HEADER_BYTES + to * bytes)),
      )
      await expect(temp.open()).rejects.toMatchObject(damaged({ batch: from, offset }))
    }
  })

  it.each([
    ['killed', 'any flipped bit is', 1],
    ['closed', 'any flipped bits are', 3],
  ])('LOG-9: where a log was %s, %s refused, or harms nothing', async (end, _, bitsMax) => {
    const temp = await killedLog(16, 900)
    if (end === 'closed') {
      await temp.open()
      await temp.close()
    }
    const files = temp.files()
    const whole = sampleRecords(1, 16, 900).map(textOf)
    const place = fc.record({
      file: fc.constantFrom(...files.keys()),
      // Most of them in the headers, where there is least.
      at: fc.oneof(
        fc.nat(SMALL - 1),
        fc.nat(127),
        fc.nat(127).map((n) => n + 4_096),
      ),
      bit: fc.nat(7),
    })
    const places = fc.uniqueArray(place, {
      minLength: 1,
      maxLength: bitsMax,
      comparator: (a, b) => a.file === b.file && a.at === b.at,
    })
    await fc.assert(
      fc.asyncProperty(places, async (flips) => {
        temp.put(
          changed(files, (all) => {
            for (const { file, at, bit } of flips) {
              const content = contentOf(all, file)
              content[at] = (content[at] ?? 0) ^ (1 << bit)
            }
          }),
        )
        try {
          await temp.open()
        } catch (error) {
          expect(error).toMatchObject(DAMAGED)
          return
        }
        const found = await recordsOf(temp.log)
        temp.crash()
        expect(found.map(textOf)).toEqual(whole)
      }),
      { numRuns: 300 },
    )
  })

  it('LOG-9: a file that was cut, to any length', async () => {
    const temp = await killedLog(12)
    const files = temp.files()
    for (const [number, content] of files) {
      for (const size of [0, 100, 4_096, HEADER_BYTES, 10_000, content.length - 1]) {
        temp.put(files)
        truncateSync(temp.file(number), size)
        await expect(temp.open()).rejects.toMatchObject(damaged({ file: temp.file(number) }))
      }
    }
  })

  it('LOG-9: a file that was removed', async () => {
    const temp = new TempLog()
    await temp.open()
    await appendAll(temp.log, sampleRecords(1, 20, 1_000))
    await temp.close()
    const files = temp.files()
    expect(files.size).toBe(3)
    for (const number of files.keys()) {
      temp.put(files)
      rmSync(temp.file(number))
      await expect(temp.open()).rejects.toMatchObject(DAMAGED)
    }
    temp.put(files)
    await temp.open()
    expect(await recordsOf(temp.log)).toEqual(sampleRecords(1, 20, 1_000))
    temp.crash()
  })

  it('LOG-9: a new file that was removed before anything else named its records', async () => {
    const temp = await killedLog(7)
    await temp.open()
    await temp.log.append(sampleRecord(8, 1_000))
    temp.crash()
    rmSync(temp.file(2))
    await expect(temp.open()).rejects.toMatchObject(damaged({ batch: 8 }))
  })

  it('LOG-9: an older copy of any file beside newer ones', async () => {
    const temp = new TempLog()
    await temp.open()
    const copies: Files[] = []
    for (let batch = 1; batch <= 30; batch++) {
      await temp.log.append(sampleRecord(batch, 1_000))
      if (batch % 4 === 0) {
        await temp.reopen()
        copies.push(temp.files())
      }
      if (batch === 10) await temp.log.trim(9)
      if (batch === 22) await temp.log.trim(20)
    }
    await temp.close()
    const newest = temp.files()
    for (const old of copies) {
      for (const [number, content] of old) {
        if (contentOf(newest, number).equals(content)) continue
        temp.put(newest)
        temp.put(new Map([[number, content]]))
        const isRefused = await temp.open().then(
          () => false,
          () => true,
        )
        if (isRefused) continue
        // A file that has nothing of the log may be any.
        expect(await recordsOf(temp.log, 20)).toEqual(sampleRecords(21, 30, 1_000))
        temp.crash()
      }
    }
  })

  it('LOG-9: a copy of a file under another number, which has no batch that the log lacks', async () => {
    const temp = await killedLog(3)
    temp.put(new Map([[3, contentOf(temp.files(), 1)]]))
    await expect(temp.open()).rejects.toThrow(
      /log-[13] is damaged.*copy.*no batch of the log is lost/,
    )
  })

  it('LOG-9: a confirmed record that is damaged while the log is open', async () => {
    const temp = new TempLog()
    await temp.open()
    await appendAll(temp.log, sampleRecords(1, 3))
    const files = temp.files()
    temp.put(changed(files, (all) => contentOf(all, 1).writeUInt8(77, HEADER_BYTES + 120)))
    await expect(recordsOf(temp.log)).rejects.toMatchObject(damaged({ batch: 2, offset: 8_264 }))
    temp.put(changed(files, (all) => contentOf(all, 1).writeUInt8(77, HEADER_BYTES + 190)))
    temp.disk.fail('sync', 1)
    await expect(temp.log.append(sampleRecord(4))).rejects.toMatchObject({
      details: { reason: 'io' },
    })
    // The newest confirmed record is read back before anything follows it.
    await expect(temp.log.append(sampleRecord(4))).rejects.toMatchObject(damaged({ batch: 3 }))
    temp.put(files)
    await temp.log.append(sampleRecord(4))
    expect(await recordsOf(temp.log)).toEqual(sampleRecords(1, 4))
    temp.crash()
  })
})
