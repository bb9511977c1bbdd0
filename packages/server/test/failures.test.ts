import { NO_ROWS } from '@fairlead/core/internal'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Bench } from './bench.ts'
import { Rig, TASK } from './rig.ts'

let rig: Rig
let bench: Bench
beforeEach(async () => {
  rig = await Rig.open()
  bench = await Bench.open(rig)
})
afterEach(() => rig.close())

/** A task that fails with these words. */
async function failed(failure: Record<string, unknown>): Promise<string> {
  const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
  const { lease_id } = await bench.offered(task_id)
  await bench.call('aicf.failLease', lease_id, failure)
  return task_id
}

describe('why a job failed', () => {
  it.each(['json', 'cbor'] as const)(
    'FAIL-1: getJob, getTimeline and explain tell it to whoever may read the job (%s)',
    async (form) => {
      const task_id = (await failed({
        code: 'db_error',
        message: 'no such table: users',
        details: { stack: 'at line 3', tries: 2 },
      })) as never
      const { job } = await rig.call('alice', 'aicf.getJob', { task_id }, form)
      expect(job.last_error).toMatchObject({
        code: 'db_error',
        message: 'no such table: users',
        attempt: 0,
      })
      const details = { stack: 'at line 3', tries: 2 }
      expect(job.errors).toMatchObject([{ attempt: 0, code: 'db_error', details }])
      const { entries, errors } = await rig.call('alice', 'aicf.getTimeline', { task_id }, form)
      expect(errors).toEqual(job.errors)
      expect(JSON.stringify(entries)).not.toContain('no such table')
      const explained = await rig.call('alice', 'aicf.explainJob', { task_id }, form)
      expect(explained.text).toContain('failed with db_error: "no such table: users"')
      expect(explained.attempts).toMatchObject([
        { ended: { reason: 'provider_fail', code: 'db_error', details } },
      ])
      expect(await rig.outcome('bob', 'aicf.getJob', { task_id })).toBe('Forbidden')
    },
  )

  it('FAIL-2: a failure without a word is an error; a permanent one ends the job', async () => {
    const task_id = (await failed({ permanent: true })) as never
    const { job } = await rig.call('alice', 'aicf.getJob', { task_id })
    expect(job).toMatchObject({
      status: 'FAILED',
      reason: 'permanent_error',
      last_error: { code: 'error', message: null },
    })
  })

  it('FAIL-1: the status and the last error of a job are of one moment', async () => {
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const { lease_id } = await bench.offered(task_id)
    const { read } = rig.engine.view
    const readJob = read.job.bind(read)
    vi.spyOn(read, 'job').mockImplementationOnce(async (id) => {
      const row = await readJob(id)
      await bench.call('aicf.failLease', lease_id, { code: 'oom', permanent: true })
      return row
    })
    const { job } = await rig.call('alice', 'aicf.getJob', { task_id })
    expect(job).toMatchObject({ status: 'ASSIGNED', last_error: null, errors: [] })
    const later = await rig.call('alice', 'aicf.getJob', { task_id })
    expect(later.job).toMatchObject({ status: 'FAILED', last_error: { code: 'oom' } })
  })

  it('FAIL-1: a job that nothing went wrong with has no error', async () => {
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const { lease_id } = await bench.offered(task_id)
    await bench.call('aicf.completeLease', lease_id)
    const { job, result } = await rig.call('alice', 'aicf.getJob', { task_id })
    expect(job).toMatchObject({ status: 'COMPLETED', last_error: null, errors: [] })
    expect(result).toMatchObject({ output: null, content_type: null })
  })
})

it('STATE-9: a job that was completed without an ack has started', async () => {
  const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
  const { lease_id } = await bench.offered(task_id)
  await bench.call('aicf.completeLease', lease_id, { output: '0x01' })
  const { job } = await rig.call('alice', 'aicf.getJob', { task_id })
  expect(job.timestamps.started).not.toBeNull()
  expect(job.timestamps.started).toBe(job.timestamps.completed)
  expect(job.lease?.is_acked).toBe(true)
})

it('RESULT-5: the owner, and no other requester, reads a result that outlives its job', async () => {
  const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
  const { lease_id } = await bench.offered(task_id)
  await bench.call('aicf.completeLease', lease_id, { output: '0x01' })
  // As if the job had been kept for long enough.
  const rows = { ...NO_ROWS, pruneEndedBefore: Number.MAX_SAFE_INTEGER }
  await rig.store.tables.apply(rows, await rig.engine.checkpoint())
  expect(await rig.outcome('alice', 'aicf.getJob', { task_id })).toBe('NotFound')
  expect(await rig.call('alice', 'aicf.getResult', { task_id })).toMatchObject({ output: '0x01' })
  expect(await rig.outcome('bob', 'aicf.getResult', { task_id })).toBe('Forbidden')
  expect(await rig.outcome('operator', 'aicf.getResult', { task_id })).toBe('ok')
})
