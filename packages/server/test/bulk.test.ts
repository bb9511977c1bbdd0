import { callerOf } from '@fairlead/core'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Rig } from './rig.ts'

const FORMS = ['json', 'cbor'] as const
const TASK = { kind: 'task', payload: { name: 'resize', args: {} } } as const

let rig: Rig
beforeEach(async () => {
  rig = await Rig.open()
})
afterEach(() => rig.close())

const ended = async (id: string) => {
  await expect.poll(() => rig.engine.bulk.get(id)?.endedAt ?? null).not.toBeNull()
  return rig.engine.bulk.get(id)
}

it.each(FORMS)('BULK-4: a requester acts on its own jobs only (%s)', async (form) => {
  for (const who of ['alice', 'alice', 'bob'] as const) {
    await rig.call(who, 'aicf.enqueue', TASK, form)
  }
  const filter = { kind: 'task', status: 'QUEUED' } as const
  const counted = await rig.call('alice', 'aicf.cancelJobs', { filter, dry_run: true }, form)
  expect(counted).toEqual({
    operation_id: null,
    counts: [{ status: 'QUEUED', matches: 2, eligible: 2 }],
  })
  const asked = { filter, operation_id: 'op' }
  expect(await rig.call('alice', 'aicf.cancelJobs', asked, form)).toEqual({
    operation_id: 'op',
    counts: null,
  })
  expect(await ended('op')).toMatchObject({ done: 2, by: callerOf('alice') })
  const left = await rig.call('operator', 'aicf.listJobs', { status: 'QUEUED' }, form)
  expect(left.jobs.map(({ request }) => request.caller)).toEqual([callerOf('bob')])
  const others = { filter: { caller: callerOf('bob') } }
  await expect(rig.call('alice', 'aicf.retryJobs', others, form)).rejects.toMatchObject({
    code: 'Forbidden',
  })
  await expect(rig.call('auditor', 'aicf.cancelJobs', asked, form)).rejects.toMatchObject({
    code: 'Forbidden',
  })
})

it('BULK-4: an operator acts on all, and is in the audit log', async () => {
  await rig.call('alice', 'aicf.enqueue', TASK)
  await rig.call('bob', 'aicf.enqueue', TASK)
  const { operation_id } = await rig.call('operator', 'aicf.cancelJobs', {
    filter: { kind: 'task' },
  })
  expect(await ended(operation_id ?? '')).toMatchObject({ done: 2 })
  const again = await rig.call('operator', 'aicf.retryJobs', { filter: { status: 'CANCELED' } })
  expect(await ended(again.operation_id ?? '')).toMatchObject({ done: 2 })
  const { entries } = await rig.call('auditor', 'audit.list', {})
  const started = entries.filter(({ action }) => action === 'bulkStarted')
  expect(started.map(({ actor }) => actor)).toEqual([
    expect.stringMatching(/^token:/),
    expect.stringMatching(/^token:/),
  ])
  const { jobs } = await rig.call('alice', 'aicf.listJobs', { status: 'QUEUED' })
  expect(jobs).toMatchObject([{ request: { caller: callerOf('alice'), tier: 'PRO' } }])
  expect(jobs[0]?.request.retry_of).not.toBeNull()
})
