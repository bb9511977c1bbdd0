import { expect, it } from 'vitest'
import type { LogSubject } from './log-conformance.ts'
import { LOG_FAULTS } from './log-faults.ts'
import { appendAll, recordsOf, sampleRecord, sampleRecords } from './sample-records.ts'

const REFUSED = { code: 'StoreUnavailable' }

/** Appends that fail. */
export function logFaultRules({ log, crash, fail }: LogSubject): void {
  it.each(LOG_FAULTS)(
    'LOG-5: after a failed append (%s) the same record is stored once',
    async (fault) => {
      await appendAll(log(), sampleRecords(1, 3))
      fail(fault, 3)
      for (let i = 0; i < 3; i++) {
        await expect(log().append(sampleRecord(4))).rejects.toMatchObject(REFUSED)
        expect(log().end.batch).toBe(3)
        expect(await recordsOf(log())).toEqual(sampleRecords(1, 3))
      }
      await log().append(sampleRecord(4))
      await log().append(sampleRecord(5))
      expect(await recordsOf(log())).toEqual(sampleRecords(1, 5))
      await crash()
      expect(await recordsOf(log())).toEqual(sampleRecords(1, 5))
    },
  )

  it.each(LOG_FAULTS)(
    'LOG-5: what was given behind a failed append (%s) is refused too',
    async (fault) => {
      await log().append(sampleRecord(1))
      fail(fault, 1)
      const outcomes = await Promise.allSettled(
        sampleRecords(2, 6).map((record) => log().append(record)),
      )
      expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['rejected']))
      await expect(log().append(sampleRecord(3))).rejects.toMatchObject({
        ...REFUSED,
        details: { reason: 'not_next', next: 2 },
      })
      await appendAll(log(), sampleRecords(2, 7))
      expect(await recordsOf(log())).toEqual(sampleRecords(1, 7))
      await crash()
      expect(await recordsOf(log())).toEqual(sampleRecords(1, 7))
    },
  )

  it.each(LOG_FAULTS)(
    'LOG-5: a record whose outcome is unknown (%s) keeps its bytes',
    async (fault) => {
      fail(fault, 1)
      await expect(log().append(sampleRecord(1))).rejects.toMatchObject(REFUSED)
      const other = { ...sampleRecord(1), body: Uint8Array.of(1, 2, 3) }
      await expect(log().append(other)).rejects.toMatchObject({
        details: { reason: 'other_record' },
      })
      await log().append(sampleRecord(1))
      expect(await recordsOf(log())).toEqual([sampleRecord(1)])
    },
  )

  it.each(LOG_FAULTS)(
    'LOG-5: after a crash a failed append (%s) is there whole or not at all',
    async (fault) => {
      await appendAll(log(), sampleRecords(1, 3))
      fail(fault, 1)
      await expect(log().append(sampleRecord(4))).rejects.toMatchObject(REFUSED)
      await crash()
      const { batch } = log().end
      expect([3, 4]).toContain(batch)
      if (fault === 'late') expect(batch).toBe(4)
      expect(await recordsOf(log())).toEqual(sampleRecords(1, batch))
      await appendAll(log(), sampleRecords(batch + 1, 6))
      await crash()
      expect(await recordsOf(log())).toEqual(sampleRecords(1, 6))
    },
  )
}
