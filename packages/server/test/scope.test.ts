import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { METHODS, type MethodName } from '@fairlead/protocol'
import { type NewToken, TokenFile } from '@fairlead/server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AI, NO_ID, Rig, TASK } from './rig.ts'

let rig: Rig
afterEach(() => rig?.close())

const QUANTUM = { kind: 'quantum', payload: { circuit: '0x00', shots: 1 } }
const SIGNUP = {
  ...{ provider: 'swim', org_ref: 'o', event_id: 'e', user_id: 'kim' },
  opens_at: Date.now() + 3_600_000,
}
const OFFER = { provider_id: 'provider:p' }
const reserve = (...keys: string[]) => ({
  lease_id: keys.join(),
  requirements: keys.map((key) => ({ key, amount: 1 })),
})

/** What a call with a token of its own ends with. */
async function outcomes(
  wanted: NewToken,
  calls: readonly (readonly [MethodName, unknown])[],
): Promise<string[]> {
  const { token } = rig.tokenFile.create(wanted)
  const found = []
  for (const [method, params] of calls) {
    const { body } = await rig.post(null, { jsonrpc: '2.0', id: 1, method, params }, 'json', {
      authorization: `Bearer ${token}`,
    })
    const { error } = body as { error?: { message: string; data: { code: string } } }
    found.push(error === undefined ? 'ok' : error.data.code)
  }
  return found
}

describe('a requester', () => {
  const requester = { role: 'requester', subject: 'shop' } as const

  it('SCOPE-2: enqueues only kinds, models and names of its scope', async () => {
    rig = await Rig.open()
    const enqueue = (job: object) => ['aicf.enqueue', job] as const
    const ofKinds = { ...requester, scope: { kinds: ['task'] } }
    const jobs = [enqueue(TASK), enqueue(AI), enqueue({ ...AI, kind: 0 }), enqueue(QUANTUM)]
    const all = [...jobs, ['signup.schedule', SIGNUP] as const]
    expect(await outcomes(ofKinds, all)).toEqual(['ok', ...Array(4).fill('Forbidden')])

    const task = (name: unknown) => enqueue({ kind: 'task', payload: { name, args: {} } })
    const ai = (model: string) => enqueue({ ...AI, payload: { ...AI.payload, model } })
    const ofNames = { ...requester, scope: { models: ['shop.*', 'llama3-8b'] } }
    const named = [
      task('shop.mail'),
      task('shop.'),
      task('shop'),
      task('SHOP.mail'),
      task(['shop.a']),
    ]
    expect(await outcomes(ofNames, [...named, ai('llama3-8b'), ai('llama3-70b')])).toEqual([
      'ok',
      'ok',
      'Forbidden',
      'Forbidden',
      'Forbidden',
      'ok',
      'Forbidden',
    ])
    // An ai job goes by its model, whatever else its payload says.
    const both = { ...AI, payload: { ...AI.payload, model: 'other', name: 'shop.a' } }
    expect(await outcomes(ofNames, [enqueue(both)])).toEqual(['Forbidden'])
  })

  it('SCOPE-2: schedules only at platforms of its scope', async () => {
    rig = await Rig.open()
    const at = (provider: string) => ['signup.schedule', { ...SIGNUP, provider }] as const
    const wanted = { ...requester, scope: { platforms: ['swim', 'club-*'] } }
    expect(await outcomes(wanted, [at('swim'), at('club-7'), at('swimming'), at('*')])).toEqual([
      'ok',
      'ok',
      'Forbidden',
      'Forbidden',
    ])
  })

  it('SCOPE-2: reserves and completes only keys of its scope, in a batch as well', async () => {
    rig = await Rig.open()
    for (const key of ['shop:rpm', 'other:rpm']) {
      const limit = { key, kind: 'rolling', capacity: 100, window_seconds: 60 } as const
      await rig.call('operator', 'limits.define', { limit })
    }
    const wanted = { ...requester, scope: { limits: ['shop:*'] } }
    const actuals = [{ key: 'other:rpm', actual_amount: 9 }]
    expect(
      await outcomes(wanted, [
        ['limits.reserve', reserve('shop:rpm')],
        ['limits.reserve', reserve('shop:rpm', 'other:rpm')],
        ['limits.reserveMany', { requests: [reserve('shop:rpm'), reserve('other:rpm')] }],
        ['limits.reserveMany', { requests: [null, { requirements: 7 }, reserve('shop:rpm')] }],
        ['limits.complete', { lease_id: 'shop:rpm' }],
        ['limits.complete', { lease_id: 'x', actuals }],
        ['limits.completeMany', { requests: [{ lease_id: 'x', actuals }] }],
      ]),
    ).toEqual(['ok', 'Forbidden', 'Forbidden', 'ok', 'ok', 'Forbidden', 'Forbidden'])
    const { limit } = await rig.call('operator', 'limits.get', { key: 'other:rpm' })
    expect(limit.held).toBe(0)
    const { token } = rig.tokenFile.create(wanted)
    const answer = await fetch(`${rig.server.url}/v1/reserve`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(reserve('other:rpm')),
    })
    expect(answer.status).toBe(403)
  })

  it('SCOPE-2: a refusal names the scope and how to widen it, and is in the audit log', async () => {
    rig = await Rig.open()
    const { token, record } = rig.tokenFile.create({ ...requester, scope: { kinds: ['task'] } })
    const message = { jsonrpc: '2.0', id: 1, method: 'aicf.enqueue', params: AI }
    const { body } = await rig.post(null, message, 'json', { authorization: `Bearer ${token}` })
    expect(body).toMatchObject({
      error: {
        message: `the kind ai is outside of this token's scope, whose kinds are task; the operator can widen it: fairlead token change ${record.id} --kinds 'task,ai'`,
        data: { code: 'Forbidden', details: { scope: 'kinds', name: 'ai' } },
      },
    })
    for (;;) {
      const { entries } = await rig.call('auditor', 'audit.list', {})
      const refused = entries.find(({ action }) => action === 'accessRefused')
      if (refused === undefined) continue
      expect(refused.details).toMatchObject({ by: `token:${record.id}`, reason: 'forbidden' })
      break
    }
  })
})

describe('a provider', () => {
  const provider = { role: 'provider', subject: 'provider:p' } as const
  const register = (offer: object) => ['aicf.registerProvider', { ...OFFER, ...offer }] as const
  const update = (offer: object) => ['aicf.updateProvider', { ...OFFER, ...offer }] as const
  const poll = (offer: object) =>
    ['aicf.pollLeases', { worker_id: 'w', slots: 1, wait_ms: 0, ...offer }] as const

  it('SCOPE-3: registers for no registrations unless its token names the platform', async () => {
    rig = await Rig.open()
    const kinds = ['registration']
    const calls = [
      poll({ kinds, platforms: ['swim'] }),
      poll({ kinds, platforms: ['*'] }),
      register({ kinds, platforms: ['swim'] }),
      register({ kinds: ['task'], models: ['*'], platforms: ['*'] }),
      update({ kinds }),
      update({ kinds: ['task', 'registration'] }),
      poll({}),
    ]
    const refused = 'Forbidden'
    expect(await outcomes(provider, calls)).toEqual([
      refused,
      refused,
      refused,
      'ok',
      refused,
      refused,
      'ok',
    ])
    const scoped = { ...provider, scope: { kinds, platforms: ['swim'] } }
    expect(await outcomes(scoped, [poll({ kinds, platforms: ['swim'] })])).toEqual(['ok'])
    expect(await outcomes(scoped, [poll({ kinds, platforms: ['swim', 'judo'] })])).toEqual([
      refused,
    ])
    expect(await outcomes(scoped, [poll({ kinds, platforms: ['*'] })])).toEqual([refused])
    expect(await outcomes(scoped, [poll({ kinds: ['task'] })])).toEqual([refused])
    // The provider offers registrations by now, so that its other token gets no leases at all.
    expect(await outcomes(provider, [poll({})])).toEqual([refused])
  })

  it('SCOPE-3: takes only kinds and models of its scope, and no part of a change is made', async () => {
    rig = await Rig.open()
    const scoped = { ...provider, scope: { kinds: ['ai'], models: ['llama*'] } }
    const kinds = ['ai']
    expect(
      await outcomes(scoped, [
        register({ kinds, models: ['llama3-8b'] }),
        update({ models: ['llama3-8b', 'llama3-70b'], leases_max: 8 }),
        update({ models: ['*'], leases_max: 9 }),
        update({ kinds: ['ai', 'task'], leases_max: 9 }),
        poll({ kinds }),
        poll({ kinds, models: ['llama3-8b', 'gpt'] }),
        poll({ kinds, models: ['llama3-8b'] }),
      ]),
    ).toEqual(['ok', 'ok', 'Forbidden', 'Forbidden', 'Forbidden', 'Forbidden', 'ok'])
    expect(rig.engine.view.provider('provider:p' as never)?.offer.leasesMax).toBe(8)
  })

  it('SCOPE-3: acts on no lease outside of its scope, though it is one of its provider', async () => {
    rig = await Rig.open()
    await outcomes({ ...provider, scope: { kinds: ['task'] } }, [poll({ kinds: ['task'] })])
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const { token } = rig.tokenFile.create({ ...provider, scope: { kinds: ['task'] } })
    const { body } = await rig.post(
      null,
      { jsonrpc: '2.0', id: 1, method: 'aicf.pollLeases', params: poll({ wait_ms: 30_000 })[1] },
      'json',
      { authorization: `Bearer ${token}` },
    )
    const { leases } = (body as { result: { leases: { lease_id: string; task_id: string }[] } })
      .result
    expect(leases).toMatchObject([{ task_id }])
    const lease = { lease_id: leases[0]?.lease_id }
    const calls = (
      [
        'ackLease',
        'renewLease',
        'completeLease',
        'failLease',
        'releaseLease',
        'declineLease',
      ] as const
    ).map((name) => [`aicf.${name}`, lease] as const)
    const other = { ...provider, scope: { kinds: ['ai'] } }
    expect(await outcomes(other, calls)).toEqual(calls.map(() => 'Forbidden'))
    expect(await outcomes(provider, calls.slice(0, 3))).toEqual(['ok', 'ok', 'ok'])
  })
})

describe('a token that only reads', () => {
  const READS = Object.values(METHODS).filter(({ access }) => access === 'read')
  const WRITES = Object.values(METHODS).filter(({ access }) => access === 'write')

  it('SCOPE-4: every method that changes something is refused, also with sound params', async () => {
    rig = await Rig.open()
    const wanted = { role: 'admin', subject: 'a', scope: { readOnly: true } } as const
    const { token, record } = rig.tokenFile.create(wanted)
    const seq = (await rig.engine.view.read.journal(0, 1_000)).length
    for (const { name, example } of WRITES) {
      const message = { jsonrpc: '2.0', id: 1, method: name, params: example.params }
      const { body } = await rig.post(null, message, 'json', { authorization: `Bearer ${token}` })
      expect(body, name).toMatchObject({
        error: {
          data: { code: 'Forbidden', details: { scope: 'read-only' } },
          message: expect.stringContaining(`fairlead token change ${record.id} --no-read-only`),
        },
      })
    }
    const entries = await rig.engine.view.read.journal(seq, 1_000)
    expect(entries.filter(({ action }) => action !== 'accessRefused')).toEqual([])
    for (const { name, example } of READS) {
      const message = { jsonrpc: '2.0', id: 1, method: name, params: example.params }
      const { body } = await rig.post(null, message, 'json', { authorization: `Bearer ${token}` })
      const { error } = body as { error?: { data: { code: string } } }
      expect(error?.data.code, name).not.toBe('Forbidden')
    }
  })

  it('SCOPE-4: what only reads writes nothing', async () => {
    rig = await Rig.open()
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const seq = (await rig.engine.view.read.journal(0, 1_000)).length
    const socket = await rig.socket('admin')
    for (const { name, example } of READS) {
      const params = { ...example.params } as Record<string, unknown>
      if ('task_id' in params) params['task_id'] = task_id
      if ('after_seq' in params) params['after_seq'] = 0
      await socket.call(name, params).catch(() => undefined)
    }
    const written = await rig.engine.view.read.journal(seq, 1_000)
    // That somebody looked is noted (AUDIT-12).
    expect(written.filter(({ action }) => action !== 'dataRead')).toEqual([])
    expect(READS.map(({ name }) => name)).toContain('aicf.getJob')
    expect(await rig.outcome('admin', 'aicf.getJob', { task_id: NO_ID })).toBe('NotFound')
  })
})

describe('the scopes in the tokens file', () => {
  let folder: string
  let path: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fairlead-scopes-'))
    path = join(folder, 'tokens.json')
  })
  afterEach(() => rmSync(folder, { recursive: true }))
  const create = (role: string, scope: unknown) =>
    new TokenFile(path).create({
      role,
      subject: role === 'provider' ? 'provider:p' : 's',
      scope,
    } as NewToken)

  it.each([
    ['requester', { kinds: [] }, 'kinds'],
    ['requester', { kinds: ['tasks'] }, 'kinds'],
    ['requester', { kinds: ['a*'] }, 'kinds'],
    ['requester', { models: ['a*b'] }, 'models'],
    ['requester', { models: [''] }, 'models'],
    ['requester', { models: 'a' }, 'models'],
    ['requester', { readOnly: 1 }, 'readOnly'],
    ['requester', { kind: ['task'] }, 'scope'],
    ['provider', { kinds: ['registration'] }, 'platforms'],
    ['provider', { kinds: ['*'] }, 'platforms'],
    ['provider', { platforms: ['swim'] }, 'kinds'],
    ['provider', { kinds: ['task'], platforms: ['swim'] }, 'kinds'],
  ])('SCOPE-1: %s %j is refused by the name of its field', (role, scope, field) => {
    expect(() => create(role, scope)).toThrow(
      expect.objectContaining({ code: 'InvalidParams', details: { field } }) as Error,
    )
    expect(statSync(path, { throwIfNoEntry: false })).toBe(undefined)
  })

  it('SCOPE-1: a scope is kept, changed list by list, and read by every process', () => {
    const { token, record } = create('requester', { kinds: ['task'], readOnly: true })
    expect(record.scope).toEqual({ kinds: ['task'], readOnly: true })
    const server = new TokenFile(path)
    expect(server.verify(token)?.scope).toEqual({ kinds: ['task'], readOnly: true })
    new TokenFile(path).changeScope(record.id, { models: ['a*'], readOnly: false })
    expect(new TokenFile(path).verify(token)?.scope).toEqual({ kinds: ['task'], models: ['a*'] })
    expect(() => server.changeScope('0123456789ab', {})).toThrow(/there is no token/)
    server.revoke(record.id)
    expect(() => server.changeScope(record.id, { models: ['*'] })).toThrow(/is over/)
  })

  it('SCOPE-1: a program that knows no scopes refuses a file with one; a scope by hand is checked', () => {
    create('requester', null)
    const versionOf = () => (JSON.parse(readFileSync(path, 'utf8')) as { version: number }).version
    expect(versionOf()).toBe(1)
    create('requester', { kinds: ['task'] })
    expect(versionOf()).toBe(2)
    writeFileSync(path, readFileSync(path, 'utf8').replace('"kinds"', '"kind"'))
    expect(() => new TokenFile(path)).toThrow(/cannot be read/)
  })

  it('SCOPE-1: tokens from before there were scopes are read, and restrict nothing', () => {
    const { token } = create('requester', null)
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replace(/,\s*"scope": null/, ''))
    const read = new TokenFile(path)
    expect(readFileSync(path, 'utf8')).not.toContain('scope')
    expect(read.verify(token)).toMatchObject({ subject: 's' })
    expect(read.list()[0]?.scope).toBe(null)
  })
})
