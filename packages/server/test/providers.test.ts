import { callerOf } from '@fairlead/core'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Rig, TASK } from './rig.ts'

let rig: Rig
beforeEach(async () => {
  rig = await Rig.open()
})
afterEach(() => rig.close())

const FORMS = ['json', 'cbor'] as const
const ATLAS = 'provider:atlas'

it.each(FORMS)(
  'WIRE-6: a provider registers, changes, beats and reads itself (%s)',
  async (form) => {
    const offer = {
      kinds: ['ai' as const, 'quantum' as const],
      models: ['llama3-8b', 'a'],
      max_depth: 64,
      region: 'eu-west',
      deny: [callerOf('bob')],
      leases_max: 8,
    }
    const { provider } = await rig.call(
      'atlas',
      'aicf.registerProvider',
      { provider_id: ATLAS, ...offer },
      form,
    )
    expect(provider).toMatchObject({
      ...offer,
      models: ['a', 'llama3-8b'],
      status: 'ACTIVE',
      stake_u64: 0,
    })
    expect(await rig.outcome('atlas', 'aicf.registerProvider', { provider_id: ATLAS }, form)).toBe(
      'InvalidState',
    )
    const changed = await rig.call(
      'atlas',
      'aicf.updateProvider',
      { provider_id: ATLAS, region: null, leases_max: 4 },
      form,
    )
    expect(changed.provider).toMatchObject({
      ...offer,
      models: ['a', 'llama3-8b'],
      region: null,
      leases_max: 4,
    })
    const asked = Date.now()
    const { at } = await rig.call('atlas', 'aicf.heartbeat', {}, form)
    expect(at).toBeGreaterThanOrEqual(asked)
    expect(at).toBeLessThanOrEqual(Date.now())
    const read = await rig.call('auditor', 'aicf.getProvider', { provider_id: ATLAS }, form)
    expect(read.provider).toMatchObject({ leases_max: 4, deny: [callerOf('bob')] })
  },
)

it('AUTH-4: a provider speaks for itself only', async () => {
  await rig.call('operator', 'aicf.registerProvider', { provider_id: ATLAS })
  for (const method of [
    'registerProvider',
    'updateProvider',
    'heartbeat',
    'getProvider',
  ] as const) {
    expect(await rig.outcome('borea', `aicf.${method}`, { provider_id: ATLAS }), method).toBe(
      'Forbidden',
    )
  }
  expect((await rig.call('borea', 'aicf.listProviders', {})).providers).toEqual([])
  expect(await rig.outcome('borea', 'aicf.heartbeat', {})).toBe('NotFound')
  expect(await rig.outcome('operator', 'aicf.heartbeat', {})).toBe('InvalidParams')
})

it.each(FORMS)('WIRE-6: an operator sets status and stake (%s)', async (form) => {
  await rig.call('operator', 'aicf.registerProvider', { provider_id: ATLAS, kinds: ['task'] }, form)
  const big = '18446744073709551615'
  expect(
    await rig.call('operator', 'aicf.stake', { provider_id: ATLAS, amount_u64: 5 }, form),
  ).toEqual({ provider_id: ATLAS, stake_u64: 5 })
  expect(
    await rig.outcome('operator', 'aicf.stake', { provider_id: ATLAS, amount_u64: big }, form),
  ).toBe('LimitExceeded')
  expect(
    await rig.outcome('operator', 'aicf.stake', { provider_id: ATLAS, amount_u64: 1.5 }, form),
  ).toBe('InvalidParams')
  const { provider } = await rig.call(
    'operator',
    'aicf.setProviderStatus',
    { provider_id: ATLAS, status: 'RETIRED' },
    form,
  )
  expect(provider.status).toBe('RETIRED')
  expect(
    await rig.outcome(
      'operator',
      'aicf.setProviderStatus',
      { provider_id: ATLAS, status: 'ACTIVE' },
      form,
    ),
  ).toBe('InvalidState')
  for (const method of ['setProviderStatus', 'stake', 'updateProvider', 'getProvider'] as const) {
    const params = {
      provider_id: 'provider:nobody',
      ...(
        { setProviderStatus: { status: 'ACTIVE' }, stake: { amount_u64: 1 } } as Record<
          string,
          object
        >
      )[method],
    }
    expect(await rig.outcome('operator', `aicf.${method}`, params, form), method).toBe('NotFound')
  }
})

it('WIRE-4: providers are listed page by page, by status', async () => {
  for (const name of ['c', 'a', 'b', 'd']) {
    await rig.call('operator', 'aicf.registerProvider', { provider_id: `provider:${name}` })
  }
  await rig.call('operator', 'aicf.setProviderStatus', {
    provider_id: 'provider:b',
    status: 'SUSPENDED',
  })
  const first = await rig.call('operator', 'aicf.listProviders', { status: 'ACTIVE', limit: 2 })
  expect(first.providers.map(({ provider_id }) => provider_id)).toEqual([
    'provider:a',
    'provider:c',
  ])
  const second = await rig.call(
    'operator',
    'aicf.listProviders',
    { status: 'ACTIVE', limit: 2, cursor: first.cursor as string },
    'cbor',
  )
  expect(second.providers.map(({ provider_id }) => provider_id)).toEqual(['provider:d'])
  expect(second.cursor).toBe(null)
})

it('WIRE-11: a provider whose workers only poll and report stays in service without heartbeats', async () => {
  // Long enough for a busy machine to poll again in time.
  const timeoutMs = 3_000
  await rig.call('operator', 'policy.set', {
    policy: { registry: { heartbeat_timeout_ms: timeoutMs } },
    preset: 'fund',
  })
  const worker = { worker_id: 'w', slots: 1 }
  await rig.call('atlas', 'aicf.pollLeases', { ...worker, kinds: ['task'], wait_ms: 0 })
  const until = Date.now() + 1.5 * timeoutMs
  while (Date.now() < until) {
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const { leases } = await rig.call('atlas', 'aicf.pollLeases', { ...worker, wait_ms: 1_000 })
    expect(leases).toMatchObject([{ task_id }])
    const lease_id = leases[0]?.lease_id as string
    await rig.call('atlas', 'aicf.completeLease', { lease_id, worker_id: 'w', output: '0x' })
    // Nothing to do for a while.
    await rig.call('atlas', 'aicf.pollLeases', { ...worker, wait_ms: 300 })
  }
  const { provider } = await rig.call('atlas', 'aicf.getProvider', { provider_id: ATLAS })
  expect(provider).toMatchObject({ status: 'ACTIVE', health: 1_000 })
})
