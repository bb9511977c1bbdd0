import { callerOf } from '@fairlead/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HostileRig, PEOPLE, type Person, wasServed } from './rig.ts'

const MOST = 2 ** 53 - 1

let rig: HostileRig
beforeAll(async () => {
  const rules = [{ kind: 'ai', requirements: [{ key: 'tpm', amount: 'tokens' }] }]
  rig = await HostileRig.open({ policy: { admit: rules } })
})
afterAll(() => rig.close())

/** The result of one call, or its error. */
async function call(as: Person, method: string, params: object) {
  const { text } = await rig.post(as, { jsonrpc: '2.0', id: 1, method, params })
  const { result, error } = JSON.parse(text)
  return result ?? error
}
const define = (limit: object) => call('operator', 'limits.define', { limit })
const reserve = (as: Person, lease_id: string, key: string, amount = 1) =>
  call(as, 'limits.reserve', { lease_id, requirements: [{ key, amount }] })
const complete = (as: Person, lease_id: string, key: string, actual_amount: number) =>
  call(as, 'limits.complete', { lease_id, actuals: [{ key, actual_amount }] })
const window = (key: string, more: object = {}) => ({
  ...{ key, kind: 'rolling', capacity: 10, window_seconds: 3_600 },
  ...more,
})

describe('a limit that several share', () => {
  it('LIMIT-19: an absurd actual takes a bucket from nobody for long, and is told', async () => {
    await define({ key: 'shared', kind: 'bucket', burst: 10, rate: 1_000 })
    await reserve('attacker', 'evil', 'shared')
    expect(await complete('attacker', 'evil', 'shared', MOST)).toEqual({
      ok: true,
      error: null,
      detail: null,
      excess: [{ key: 'shared', amount: MOST - 16 }],
    })
    const answer = await reserve('victim', 'good', 'shared')
    expect(answer.allowed || answer.retry_after_ms < 100).toBe(true)
    const metrics = await (
      await fetch(`${rig.url}/metrics`, {
        headers: { authorization: `Bearer ${rig.tokens.operator}` },
      })
    ).text()
    expect(metrics).toMatch(/^fairlead_limit_excess_total 1$/m)
    expect(rig.log.some((line) => line.includes('usage was not booked'))).toBe(true)
  })

  it('LIMIT-19: absurd actual tokens of a provider hold up the next job for a moment only', async () => {
    await define({ key: 'tpm', kind: 'bucket', burst: 1_000, rate: 100_000 })
    const poll = (more: object = {}) =>
      call('provider', 'aicf.pollLeases', { worker_id: 'w', slots: 4, wait_ms: 30_000, ...more })
    const ask = (as: Person) =>
      call(as, 'aicf.enqueue', {
        kind: 'ai',
        payload: { model: 'm', prompt: '0x6869', max_tokens: 500 },
      })
    await ask('attacker')
    const { leases } = await poll({ kinds: ['ai'], models: ['*'] })
    const [{ lease_id }] = leases
    const completion = { lease_id, worker_id: 'w', output: '0x00', actual_tokens: MOST }
    await call('provider', 'aicf.ackLease', { lease_id, worker_id: 'w' })
    expect(await call('provider', 'aicf.completeLease', completion)).toEqual({ accepted: true })
    const { task_id } = await ask('victim')
    const next = await poll()
    expect(next.leases).toMatchObject([{ task_id }])
    const { entries } = await call('operator', 'audit.list', { limit: 1_000 })
    expect(
      entries.filter(({ action }: { action: string }) => action === 'limitExcess'),
    ).toMatchObject([{ details: { key: 'tpm' } }])
  })

  it('LIMIT-20: an operator resets a limit that is full, and deletes it; no requester may', async () => {
    await define(window('full'))
    await reserve('attacker', 'all', 'full', 10)
    expect(await reserve('victim', 'a', 'full')).toMatchObject({ allowed: false })
    for (const method of ['limits.reset', 'limits.delete']) {
      expect(await call('attacker', method, { key: 'full' })).toMatchObject({
        data: { code: 'Forbidden' },
      })
    }
    expect(await call('operator', 'limits.reset', { key: 'full' })).toMatchObject({
      limit: { held: 0 },
    })
    expect(await reserve('victim', 'b', 'full', 10)).toMatchObject({ allowed: true })
    // What the attacker held before the reset is not given back a second time.
    await complete('attacker', 'all', 'full', 0)
    expect(await reserve('attacker', 'again', 'full')).toMatchObject({ allowed: false })
    expect(await call('operator', 'limits.delete', { key: 'full' })).toEqual({ key: 'full' })
    expect(await reserve('victim', 'c', 'full')).toMatchObject({ error: 'unknown_limit_key:full' })
    const { entries } = await call('operator', 'audit.list', { limit: 1_000 })
    const actions = entries
      .filter((entry: { subject: string }) => entry.subject === 'full')
      .map((entry: { action: string; actor: string }) => entry.action)
    expect(actions).toEqual(['limitDefined', 'limitReset', 'limitDeleted'])
  })
})

it('RPC-9: many absurd actuals hold up no other call', async () => {
  await define({ key: 'flood', kind: 'bucket', burst: 10, rate: 1_000 })
  const damage = await rig.suffer('40 batches of 100 absurd actuals', async () => {
    for (let i = 0; i < 40; i++) {
      const calls = Array.from({ length: 50 }, (_, j) => {
        const lease_id = `flood-${i}-${j}`
        const actuals = [{ key: 'flood', actual_amount: MOST }]
        return [
          {
            method: 'limits.reserve',
            params: { lease_id, requirements: [{ key: 'flood', amount: 1 }] },
          },
          { method: 'limits.complete', params: { lease_id, actuals } },
        ]
      })
      await rig.post(
        'attacker',
        calls.flat().map((one, id) => ({ jsonrpc: '2.0', id, ...one })),
      )
    }
  })
  expect(wasServed(damage)).toBe(true)
})

describe('lease ids', () => {
  it('LIMIT-22: nobody completes, replays or blocks the reservation of another', async () => {
    await define(window('ids'))
    expect(await reserve('victim', 'l-1', 'ids', 6)).toMatchObject({ allowed: true })
    // Neither freed by somebody else …
    expect(await complete('attacker', 'l-1', 'ids', 0)).toMatchObject({ ok: true })
    expect(await call('operator', 'limits.get', { key: 'ids' })).toMatchObject({
      limit: { held: 6 },
    })
    // … nor had by asking again …
    expect(await reserve('attacker', 'l-1', 'ids', 6)).toMatchObject({ allowed: false })
    // … nor is an id gone that somebody else has used, was denied or has completed.
    await reserve('attacker', 'l-2', 'ids', 1)
    await complete('attacker', 'l-2', 'ids', 1)
    expect(await reserve('victim', 'l-2', 'ids', 1)).toMatchObject({ allowed: true })
    expect(await complete('victim', 'l-1', 'ids', 0)).toMatchObject({ ok: true })
    expect(await call('operator', 'limits.get', { key: 'ids' })).toMatchObject({
      limit: { held: 2 },
    })
  })
})

describe('limits with owners', () => {
  it('LIMIT-21: a limit of others is as one that there is not', async () => {
    await define(window('alices', { callers: [PEOPLE.victim.subject] }))
    expect(await reserve('victim', 'o-1', 'alices')).toMatchObject({ allowed: true })
    const { lease_id: _, ...foreign } = await reserve('attacker', 'o-2', 'alices')
    const unknown = await reserve('attacker', 'o-3', 'nothing')
    expect(JSON.stringify(foreign).replaceAll('alices', 'nothing')).toBe(JSON.stringify(unknown))
    const [get, none] = [
      await call('attacker', 'limits.get', { key: 'alices' }),
      await call('attacker', 'limits.get', { key: 'nothing' }),
    ]
    expect(JSON.stringify(get).replaceAll('alices', 'nothing')).toBe(JSON.stringify(none))
    const batch = await call('attacker', 'limits.reserveMany', {
      requests: [{ lease_id: 'o-4', requirements: [{ key: 'alices', amount: 1 }] }],
    })
    expect(batch.results[0].error).toBe('unknown_limit_key:alices')
    expect(await call('victim', 'limits.get', { key: 'alices' })).toMatchObject({
      limit: { held: 1 },
    })
    expect(await call('operator', 'limits.get', { key: 'alices' })).toMatchObject({
      limit: { held: 1 },
    })
  })

  it('LIMIT-21: by a pattern each caller has a limit of its own', async () => {
    await define(window('tenant:{caller}:calls'))
    const key = 'tenant:{caller}:calls'
    const alices = `tenant:${callerOf(PEOPLE.victim.subject)}:calls`
    expect(await reserve('attacker', 'p-1', key, 10)).toMatchObject({ allowed: true })
    expect(await reserve('victim', 'p-2', key, 4)).toMatchObject({ allowed: true })
    expect(await call('victim', 'limits.get', { key: alices })).toMatchObject({
      limit: { held: 4 },
    })
    expect(await reserve('attacker', 'p-3', alices)).toMatchObject({
      error: `unknown_limit_key:${alices}`,
    })
    expect(await call('attacker', 'limits.get', { key: alices })).toMatchObject({
      data: { code: 'NotFound' },
    })
    await define(window(key, { capacity: 20 }))
    expect(await call('victim', 'limits.get', { key })).toMatchObject({
      limit: { definition: { key: alices, capacity: 20 } },
    })
  })

  it('LIMIT-21: a limit without owners is for all, as in an installation of one team', async () => {
    await define(window('open'))
    expect(await reserve('attacker', 'q-1', 'open')).toMatchObject({ allowed: true })
    expect(await reserve('victim', 'q-2', 'open')).toMatchObject({ allowed: true })
    expect(await call('victim', 'limits.get', { key: 'open' })).toMatchObject({
      limit: { held: 2 },
    })
  })
})
