import { expect, it } from 'vitest'
import type { LogSubject } from './log-conformance.ts'
import { appendAll, recordsOf, sampleRecord, sampleRecords } from './sample-records.ts'

const TRIMMED = { code: 'StoreUnavailable', details: { reason: 'trimmed' } }

/** Reading and trimming. */
export function logReadRules({ log, reopen, crash }: LogSubject): void {
  it('LOG-6: reading begins behind any batch', async () => {
    const records = sampleRecords(1, 30, 1_000)
    await appendAll(log(), records)
    for (const after of [0, 1, 15, 29, 30]) {
      expect(await recordsOf(log(), after)).toEqual(records.slice(after))
    }
    expect(await recordsOf(log(), 31)).toEqual([])
  })

  it('LOG-6: appends go on while somebody reads', async () => {
    await appendAll(log(), sampleRecords(1, 5))
    const read: number[] = []
    for await (const { batch } of log().read(0)) {
      read.push(batch)
      if (batch <= 5) await log().append(sampleRecord(5 + batch))
    }
    expect(read.slice(0, 5)).toEqual([1, 2, 3, 4, 5])
    expect(read).toEqual(read.map((_, i) => i + 1))
    expect(await recordsOf(log())).toEqual(sampleRecords(1, 10))
  })

  it('LOG-7: a trimmed record is not read, and to read from before it is an error', async () => {
    await appendAll(log(), sampleRecords(1, 9))
    await log().trim(4)
    for (const act of [async () => {}, reopen, crash]) {
      await act()
      expect(await recordsOf(log(), 4)).toEqual(sampleRecords(5, 9))
      expect(await recordsOf(log(), 7)).toEqual(sampleRecords(8, 9))
      await expect(recordsOf(log(), 3)).rejects.toMatchObject({
        ...TRIMMED,
        details: { batch: 4, first: 5 },
      })
      expect(log().end).toEqual({ batch: 9, digest: sampleRecord(9).digest })
    }
  })

  it('LOG-7: a log of which everything is trimmed keeps its number', async () => {
    await appendAll(log(), sampleRecords(1, 9))
    await log().trim(9)
    for (const act of [async () => {}, reopen, crash]) {
      await act()
      expect(log().end).toEqual({ batch: 9, digest: null })
      expect(await recordsOf(log(), 9)).toEqual([])
      await expect(recordsOf(log(), 8)).rejects.toMatchObject(TRIMMED)
    }
    await log().append(sampleRecord(10))
    await reopen()
    expect(await recordsOf(log(), 9)).toEqual([sampleRecord(10)])
  })

  it('LOG-7: to trim again, or less than before, changes nothing', async () => {
    await appendAll(log(), sampleRecords(1, 9))
    await log().trim(6)
    await log().trim(6)
    await log().trim(0)
    await log().trim(3)
    expect(await recordsOf(log(), 6)).toEqual(sampleRecords(7, 9))
    await expect(log().trim(10)).rejects.toMatchObject({ code: 'StoreUnavailable' })
    expect(await recordsOf(log(), 6)).toEqual(sampleRecords(7, 9))
  })

  it('LOG-7: appends, trims and scrubs in any order leave what was not trimmed', async () => {
    for (let batch = 1; batch <= 200; batch++) {
      const appended = log().append(sampleRecord(batch, 700))
      if (batch % 17 === 0) await Promise.all([log().trim(batch - 9), log().scrub()])
      await appended
      if (batch % 60 === 0) await (batch % 120 === 0 ? reopen() : crash())
    }
    expect(await recordsOf(log(), 178)).toEqual(sampleRecords(179, 200, 700))
  })
}
