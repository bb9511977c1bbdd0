import { callerOf } from '@fairlead/core'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Rig } from './rig.ts'

const FORMS = ['json', 'cbor'] as const
const ALICE = callerOf('alice')
const REQUEST = { kind: 'task', payload: { name: 'resize', args: { n: 0.5 } } } as const
const NIGHTLY = { id: 'nightly', cron: '0 2 * * *', request: REQUEST }

let rig: Rig
beforeEach(async () => {
  rig = await Rig.open()
})
afterEach(() => rig.close())

it.each(FORMS)('SCHEDULE-9: is put, shown, triggered and deleted (%s)', async (form) => {
  const { schedule } = await rig.call('alice', 'schedules.put', NIGHTLY, form)
  expect(schedule).toMatchObject({
    ...NIGHTLY,
    caller: ALICE,
    timezone: 'UTC',
    overlap: 'allow',
    catch_up: 'last',
    paused: false,
    last_at: null,
  })
  expect((schedule.next_at ?? 0) - Date.now()).toBeGreaterThan(0)
  const get = await rig.call('alice', 'schedules.get', { id: 'nightly' }, form)
  expect(get.schedule).toEqual(schedule)
  const { task_id } = await rig.call('alice', 'schedules.trigger', { id: 'nightly' }, form)
  const { job } = await rig.call('alice', 'aicf.getJob', { task_id }, form)
  expect(job).toMatchObject({
    name: 'resize',
    request: { schedule: 'nightly', scheduled_at: null, tier: 'PRO', payload: REQUEST.payload },
  })
  expect(await rig.call('alice', 'schedules.delete', { id: 'nightly' }, form)).toEqual({
    deleted: true,
  })
  await expect(rig.call('alice', 'schedules.get', { id: 'nightly' }, form)).rejects.toMatchObject({
    code: 'NotFound',
  })
})

it('SCHEDULE-9: belongs to its caller; an operator may name one', async () => {
  await rig.call('alice', 'schedules.put', NIGHTLY)
  await rig.call('operator', 'schedules.put', { ...NIGHTLY, caller: ALICE, cron: '0 3 * * *' })
  await rig.call('bob', 'schedules.put', NIGHTLY)
  const ofAlice = { id: 'nightly', caller: ALICE }
  for (const method of ['schedules.get', 'schedules.delete', 'schedules.trigger'] as const) {
    await expect(rig.call('bob', method, ofAlice)).rejects.toMatchObject({ code: 'Forbidden' })
  }
  const listed = await rig.call('alice', 'schedules.list', {})
  expect(listed.schedules.map(({ caller, cron }) => [caller, cron])).toEqual([[ALICE, '0 3 * * *']])
  const first = await rig.call('auditor', 'schedules.list', { limit: 1 })
  expect(first.cursor).not.toBeNull()
  const rest = await rig.call('auditor', 'schedules.list', { cursor: first.cursor as string })
  expect([...first.schedules, ...rest.schedules].map(({ caller }) => caller).sort()).toEqual(
    [ALICE, callerOf('bob')].sort(),
  )
  const { entries } = await rig.call('auditor', 'audit.list', {})
  const puts = entries.filter(({ action }) => action === 'schedulePut')
  expect(puts.map(({ actor }) => actor)).toEqual([
    ALICE,
    expect.stringMatching(/^token:/),
    callerOf('bob'),
  ])
})

it('SCHEDULE-9: a wrong one is refused by its field', async () => {
  const wrong = (fields: object) =>
    expect(
      rig.call('alice', 'schedules.put', { ...NIGHTLY, ...fields } as never),
    ).rejects.toMatchObject({ code: 'InvalidParams' })
  await wrong({ cron: '0 25 * * *' })
  await wrong({ timezone: 'Mars/Base' })
  await wrong({ request: { ...REQUEST, idempotency_key: 'k' } })
  await wrong({ request: { kind: 'registration', payload: {} } })
})
