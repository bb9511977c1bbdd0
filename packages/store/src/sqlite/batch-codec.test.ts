import { appendAuditBytes, type JournalRecord } from '@fairlead/core/internal'
import { describe, expect, it } from 'vitest'
import { batchOf, newJob, sampleEntry, sampleJob } from '../conformance/sample-rows.ts'
import { encodeBatch, recordIn, rowsOf } from './batch-codec.ts'

const job = sampleJob(7)
const first: JournalRecord = {
  ...sampleEntry(3, { jobSeq: 7 }),
  actor: job.caller,
  action: 'jobEnqueued',
  subject: job.id,
  details: {},
}

/** The record of the only entry of a batch as it comes out again, and the bytes that the batch took. */
function through(record: JournalRecord): { readonly record: string; readonly bytes: number } {
  const { bytes } = encodeBatch(batchOf({ newJobs: [newJob(job)], journal: [record] }))
  const batch = rowsOf(bytes)
  const at = batch.entries[0] as number
  return { record: hex(recordIn({ bytes: batch.bytes, at }, record.seq)), bytes: bytes.length }
}

function hashed(record: JournalRecord): string {
  const { buffer, end } = appendAuditBytes(record.seq, record, Buffer.alloc(1_024), 0)
  return hex(buffer.subarray(0, end))
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

describe('the first entry about a new job', () => {
  it('AUDIT-1: comes out as it is hashed, though the log has only what its job does not say', () => {
    expect(through(first).record).toBe(hashed(first))
    const other = { ...first, actor: 'engine' }
    expect(through(other).record).toBe(hashed(other))
    expect(through(other).bytes - through(first).bytes).toBeGreaterThan(100)
  })

  it.each<[string, Partial<JournalRecord>]>([
    ['somebody else did it', { actor: `0x${'5'.repeat(64)}` }],
    ['it is about another thing', { subject: `0x${'6'.repeat(64)}` }],
    ['something else happened', { action: 'jobCanceled' }],
    ['it has details', { details: { traceparent: '00-1' } }],
    ['it is about another job', { jobSeq: 6 }],
    ['it is about no job', { jobSeq: null }],
  ])('AUDIT-1: stands in the log as a whole where %s', (_why, changed) => {
    const record = { ...first, ...changed }
    expect(through(record).record).toBe(hashed(record))
  })

  it('STORE-6: is refused where it cannot be in the log', () => {
    expect(() => through({ ...first, at: 0.5 })).toThrow('whole milliseconds')
  })
})
