import { callerOf } from '@fairlead/core'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Rig } from './rig.ts'

const FORMS = ['json', 'cbor'] as const
const ALICE = callerOf('alice')

let rig: Rig
beforeEach(async () => {
  rig = await Rig.open()
})
afterEach(() => rig.close())

it.each(FORMS)('PAUSE-4: an operator pauses for all, and everybody sees it (%s)', async (form) => {
  const key = { kind: 'task', name: 'resize' } as const
  const { pause } = await rig.call('operator', 'queues.pause', key, form)
  expect(pause).toMatchObject({ ...key, caller: null })
  const task = { kind: 'task', payload: { name: 'resize', args: {} } } as const
  const { task_id } = await rig.call('alice', 'aicf.enqueue', task, form)
  const { job } = await rig.call('alice', 'aicf.getJob', { task_id }, form)
  expect(job.wait_reason).toBe('paused')
  const queue = { ...key, ready: 1, held: 1, waiting: 1, running: 0 }
  const oldest_wait_ms = expect.any(Number)
  const own = { queues: [{ ...queue, oldest_wait_ms, per_second: null }], pauses: [pause] }
  expect(await rig.call('alice', 'queues.list', {}, form)).toEqual(own)
  const per_second = { enqueued: expect.any(Number), completed: 0, failed: 0 }
  const all = { queues: [{ ...queue, oldest_wait_ms, per_second }], pauses: [pause] }
  expect(await rig.call('auditor', 'queues.list', {}, form)).toEqual(all)
  expect(await rig.call('bob', 'queues.list', {}, form)).toEqual({ ...own, queues: [] })
  expect(await rig.call('operator', 'queues.resume', key, form)).toEqual({ resumed: true })
  expect(await rig.call('operator', 'queues.resume', key, form)).toEqual({ resumed: false })
})

it('PAUSE-4: a requester pauses its own jobs only', async () => {
  const { pause } = await rig.call('alice', 'queues.pause', { kind: 'ai' })
  expect(pause).toMatchObject({ kind: 'ai', name: null, caller: ALICE })
  const others = { kind: 'ai', caller: callerOf('bob') } as const
  await expect(rig.call('alice', 'queues.pause', others)).rejects.toMatchObject({
    code: 'Forbidden',
  })
  // The pause of everybody is not its own.
  await rig.call('operator', 'queues.pause', { kind: 'ai' })
  expect(await rig.call('alice', 'queues.resume', { kind: 'ai' })).toEqual({ resumed: true })
  expect((await rig.call('alice', 'queues.list', {})).pauses).toMatchObject([{ caller: null }])
  expect((await rig.call('bob', 'queues.list', {})).pauses).toHaveLength(1)
  for (const role of ['atlas', 'auditor'] as const) {
    await expect(rig.call(role, 'queues.pause', { kind: 'ai' })).rejects.toMatchObject({
      code: 'Forbidden',
    })
  }
  const { entries } = await rig.call('auditor', 'audit.list', {})
  const paused = entries.filter(({ action }) => action === 'queuePaused')
  expect(paused.map(({ actor }) => actor)).toEqual([ALICE, expect.stringMatching(/^token:/)])
})

it('PAUSE-1: registrations cannot be paused', async () => {
  const wrong = { kind: 'registration' } as never
  await expect(rig.call('operator', 'queues.pause', wrong)).rejects.toMatchObject({
    code: 'InvalidParams',
  })
})
