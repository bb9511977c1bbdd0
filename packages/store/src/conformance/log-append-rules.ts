import { expect, it } from 'vitest'
import type { LogSubject } from './log-conformance.ts'
import { appendAll, recordsOf, sampleRecord, sampleRecords } from './sample-records.ts'

const REFUSED = { code: 'StoreUnavailable' }
const NOT_NEXT = { ...REFUSED, details: { reason: 'not_next' } }
const OTHER = { ...REFUSED, details: { reason: 'other_record' } }

/** Order, numbers and repetition. */
export function logAppendRules({ log, reopen, crash, openAfter }: LogSubject): void {
  it('LOG-2: a new log is empty, and its first batch is 1', async () => {
    expect(log().end).toEqual({ batch: 0, digest: null })
    expect(await recordsOf(log())).toEqual([])
    await log().append(sampleRecord(1))
    expect(log().end).toEqual({ batch: 1, digest: sampleRecord(1).digest })
  })

  it('LOG-2: an appended record is read as it was given, before and after a restart or a crash', async () => {
    const bodies = [0, 1, 7, 8, 4_095, 20_000].map((bytes, i) => sampleRecord(i + 1, bytes))
    await appendAll(log(), bodies)
    expect(await recordsOf(log())).toEqual(bodies)
    await reopen()
    expect(await recordsOf(log())).toEqual(bodies)
    expect(log().end).toEqual({ batch: 6, digest: sampleRecord(6).digest })
    await crash()
    expect(await recordsOf(log())).toEqual(bodies)
    expect(log().end).toEqual({ batch: 6, digest: sampleRecord(6).digest })
  })

  it('LOG-2: a log may begin behind any batch', async () => {
    const other = await openAfter(1_234_567_890_123)
    expect(other.log.end).toEqual({ batch: 1_234_567_890_123, digest: null })
    const record = sampleRecord(1_234_567_890_124)
    await other.log.append(record)
    const again = await other.reopen()
    expect(await recordsOf(again, 1_234_567_890_123)).toEqual([record])
    await other.remove()
  })

  it('LOG-3: records are appended in the order of the calls, awaited or not', async () => {
    const records = sampleRecords(1, 50, 300)
    await Promise.all(records.map((record) => log().append(record)))
    expect(await recordsOf(log())).toEqual(records)
    await crash()
    expect(await recordsOf(log())).toEqual(records)
  })

  it('LOG-3: a record is what it was when it was given', async () => {
    const { body, ...rest } = sampleRecord(1)
    const bytes = new Uint8Array(body)
    const appended = log().append({ ...rest, body: bytes })
    bytes.fill(0)
    await appended
    expect(await recordsOf(log())).toEqual([sampleRecord(1)])
  })

  it('LOG-3: only the next number is taken', async () => {
    for (const batch of [0, 2, 3]) {
      await expect(log().append(sampleRecord(batch))).rejects.toMatchObject(NOT_NEXT)
    }
    await appendAll(log(), sampleRecords(1, 3))
    for (const batch of [1, 2, 5]) {
      await expect(log().append(sampleRecord(batch))).rejects.toMatchObject(NOT_NEXT)
    }
    await log().append(sampleRecord(4))
    expect(await recordsOf(log())).toEqual(sampleRecords(1, 4))
  })

  it('LOG-4: the newest record, given again, is stored once', async () => {
    await appendAll(log(), sampleRecords(1, 2))
    await log().append(sampleRecord(2))
    await Promise.all([log().append(sampleRecord(3)), log().append(sampleRecord(3))])
    await crash()
    await log().append(sampleRecord(3))
    await log().append(sampleRecord(4))
    expect(await recordsOf(log())).toEqual(sampleRecords(1, 4))
  })

  it.each([
    ['bytes', { ...sampleRecord(2), body: Uint8Array.of(9) }],
    ['digest', { ...sampleRecord(2), digest: 9 }],
  ])('LOG-4: the number of the newest record with another %s is refused', async (_, other) => {
    await appendAll(log(), sampleRecords(1, 2))
    await expect(log().append(other)).rejects.toMatchObject(OTHER)
    expect(await recordsOf(log())).toEqual(sampleRecords(1, 2))
    await log().append(sampleRecord(3))
    await reopen()
    expect(await recordsOf(log())).toEqual(sampleRecords(1, 3))
  })
}
