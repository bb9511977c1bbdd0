import { readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NewToken } from '@fairlead/server'
import { afterEach, describe, expect, it } from 'vitest'
import { RawSocket } from '../raw-socket.ts'
import { HostileRig, PEOPLE, wasServed } from './rig.ts'

const CHILD = 'kim-the-child'
const SITE = { kinds: ['registration'], platforms: ['swim'] }

let rig: HostileRig
const sockets: RawSocket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate()
  await rig?.close()
})

function tokenOf(wanted: NewToken): string {
  return rig.tokenFile.create(wanted).token
}

async function socketOf(token: string | null): Promise<RawSocket> {
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` }
  const socket = new RawSocket(`${rig.url.replace('http', 'ws')}/ws`, { protocols: [], headers })
  sockets.push(socket)
  await socket.opened
  return socket
}

interface Answer {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly result: Record<string, unknown>
}

async function call(
  token: string | null,
  method: string,
  params: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const answer = await fetch(`${rig.url}/rpc`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { error, result } = (await answer.json()) as {
    error?: { message: string; data?: { code: string } }
    result?: Record<string, unknown>
  }
  const { status } = answer
  const code = error === undefined ? 'ok' : (error.data?.code ?? '')
  return { status, code, message: error?.message ?? '', result: result ?? {} }
}

describe('a provider token without a scope', () => {
  it('SCOPE-3: is never given a registration, whatever it registers for, nor a name of a child', async () => {
    rig = await HostileRig.open()
    const operator = rig.tokens.operator
    const signup = {
      ...{ provider: 'swim', org_ref: 'o', event_id: 'e', user_id: CHILD },
      opens_at: Date.now() - 1_000,
    }
    const evil = 'provider:evil'
    const attacker = await socketOf(tokenOf({ role: 'provider', subject: evil }))
    const hello = { worker_id: 'w', slots: 10, push: true }
    const offers = [
      { kinds: ['registration'], platforms: ['swim'] },
      { kinds: ['registration'], platforms: ['*'] },
      { kinds: ['ai', 'registration'], models: ['*'], platforms: ['*'] },
    ]
    const damage = await rig.suffer('a provider that asks for every platform', async () => {
      for (let i = 0; i < 60; i++) {
        const offer = offers[i % offers.length]
        const asked = attacker.call('aicf.pollLeases', { ...hello, ...offer })
        await expect(asked).rejects.toMatchObject({ code: 'Forbidden' })
        const registering = attacker.call('aicf.registerProvider', { provider_id: evil, ...offer })
        await expect(registering).rejects.toMatchObject({ code: 'Forbidden' })
      }
    })
    expect(wasServed(damage)).toBe(true)

    // As a provider of tasks it connects. Then an operator is talked into more than the token may.
    await attacker.call('aicf.pollLeases', { ...hello, kinds: ['ai'], models: ['none'] })
    const widened = { provider_id: evil, kinds: ['registration'], platforms: ['*'] }
    expect((await call(operator, 'aicf.updateProvider', widened)).code).toBe('ok')
    expect((await call(operator, 'signup.schedule', signup)).code).toBe('ok')
    const closed = await attacker.notification('leases.closed')
    expect(closed.params?.['error']).toMatchObject({ code: 'Forbidden', retryable: false })

    const club = await socketOf(
      tokenOf({ role: 'provider', subject: 'provider:club', scope: SITE }),
    )
    await club.call('aicf.pollLeases', { ...hello, ...SITE })
    const { params } = await club.notification('leases.offered')
    expect(JSON.stringify(params)).toContain(CHILD)
    await expect(attacker.call('aicf.pollLeases', hello)).rejects.toMatchObject({
      code: 'Forbidden',
    })
    const told = attacker.messages.map(({ method }) => method)
    expect(told).not.toContain('leases.offered')
    expect(JSON.stringify(attacker.messages)).not.toContain(CHILD)
  })

  it('SCOPE-3: a long poll under a narrow token hears nothing of what the wide one is offered', async () => {
    rig = await HostileRig.open()
    const provider = { role: 'provider', subject: 'provider:club' } as const
    const [wide, narrow] = [tokenOf({ ...provider, scope: SITE }), tokenOf(provider)]
    const poll = { worker_id: 'w', slots: 1, wait_ms: 0 }
    expect((await call(wide, 'aicf.pollLeases', { ...poll, ...SITE })).code).toBe('ok')
    const { code, message } = await call(narrow, 'aicf.pollLeases', poll)
    expect(code).toBe('Forbidden')
    expect(message).toContain('--kinds ai,quantum,task,registration --platforms')
  })
})

describe('a token that is revoked', () => {
  it('AUTH-3: its WebSockets and long polls end within a second, and nobody else’s do', async () => {
    // Pings come so late that they show nobody out.
    rig = await HostileRig.open({ limits: { pingMs: 600_000 } })
    const made = rig.tokenFile.create({ role: 'provider', subject: 'provider:p' })
    const other = await socketOf(tokenOf({ role: 'provider', subject: 'provider:q' }))
    const sockets = await Promise.all([1, 2, 3].map(() => socketOf(made.token)))
    const offer = { kinds: ['ai'], models: ['m'], slots: 1 }
    await sockets[0]?.call('aicf.pollLeases', { ...offer, worker_id: 's', push: true })
    const poll = call(made.token, 'aicf.pollLeases', { ...offer, worker_id: 'w', wait_ms: 30_000 })
    while ((await call(rig.tokens.operator, 'stats.get', {})).result['polls'] === 0);
    const began = performance.now()
    rig.tokenFile.revoke(made.record.id)
    for (const { closed } of sockets) {
      expect(await closed).toEqual({ code: 4001, reason: 'the token was revoked or has expired' })
    }
    const socketsMs = Math.round(performance.now() - began)
    expect(await poll).toMatchObject({ status: 401, code: 'Unauthorized' })
    const pollMs = Math.round(performance.now() - began)
    console.log(`revoked: sockets closed after ${socketsMs} ms, the poll after ${pollMs} ms`)
    expect(
      await other.call('aicf.pollLeases', { ...offer, worker_id: 'o', push: true }),
    ).toBeTruthy()
    expect((await call(made.token, 'aicf.heartbeat', {})).code).toBe('Unauthorized')
  })

  it('AUTH-3: one that is changed holds from then on, and its sockets connect again', async () => {
    rig = await HostileRig.open({ limits: { pingMs: 600_000 } })
    const made = rig.tokenFile.create({ role: 'requester', subject: 'shop' })
    const socket = await socketOf(made.token)
    rig.tokenFile.changeScope(made.record.id, { readOnly: true })
    expect(await socket.closed).toMatchObject({ code: 1013 })
    const again = await socketOf(made.token)
    const task = { kind: 'task', payload: { name: 'n', args: {} } }
    await expect(again.call('aicf.enqueue', task)).rejects.toMatchObject({ code: 'Forbidden' })
  })
})

describe('tokens that are gone', () => {
  const gone: readonly (readonly [string, (path: string) => void])[] = [
    ['removed', (path) => rmSync(path)],
    ['emptied', (path) => writeFileSync(path, '')],
    ['a list of none', (path) => writeFileSync(path, '{"version":1,"tokens":[]}')],
    [
      'a link to nothing',
      (path) => {
        rmSync(path)
        symlinkSync(`${path}.elsewhere`, path)
      },
    ],
  ]
  it.each(gone)(
    'TOKEN-1: %s, the server stays closed, also when it starts again',
    async (_, end) => {
      rig = await HostileRig.open()
      const path = join(rig.folder, 'tokens.json')
      const socket = await socketOf(rig.tokens.victim)
      end(path)
      await rig.logs(/the tokens cannot be read: every call is refused/)
      expect((await call(null, 'policy.get', {})).code).toBe('Unauthorized')
      expect((await call(rig.tokens.operator, 'policy.get', {})).code).toBe('StoreUnavailable')
      await expect(socketOf(null)).rejects.toThrow('401')
      expect(await socket.call('aicf.listJobs', {})).toMatchObject({ jobs: [] })

      await rig.kill()
      const people = {}
      await expect(rig.start({ people })).rejects.toThrow(
        /this store had tokens, and there are none now|is a link to nothing|cannot be read/,
      )
    },
  )

  it('TOKEN-1: a file that comes back opens the door to those in it', async () => {
    rig = await HostileRig.open()
    const path = join(rig.folder, 'tokens.json')
    renameSync(path, `${path}.away`)
    await rig.logs(/the tokens cannot be read/)
    renameSync(`${path}.away`, path)
    for (;;) {
      const { code } = await call(rig.tokens.operator, 'policy.get', {})
      if (code === 'ok') break
      expect(code).toBe('StoreUnavailable')
    }
    expect((await call(null, 'policy.get', {})).code).toBe('Unauthorized')
  })

  it('TOKEN-1: --insecure-local is the way back, at a start, until there are tokens again', async () => {
    rig = await HostileRig.open()
    await rig.kill()
    const path = join(rig.folder, 'tokens.json')
    rmSync(path)
    await expect(rig.start({ people: {} })).rejects.toThrow(/--insecure-local/)
    await rig.start({ people: {}, isInsecureLocal: true })
    expect((await call(null, 'policy.get', {})).code).toBe('ok')
    rig.tokenFile.create({ role: 'admin', subject: 'new' })
    while ((await call(null, 'policy.get', {})).code === 'ok');
    rmSync(path)
    await rig.logs(/the tokens cannot be read/)
    expect((await call(null, 'policy.get', {})).code).toBe('Unauthorized')
  })
})

describe('behind a proxy', () => {
  it.each([
    ['x-forwarded-for', '203.0.113.9'],
    ['X-Forwarded-Proto', 'https'],
    ['Forwarded', 'for=203.0.113.9'],
  ])('TOKEN-3: a server without tokens refuses a request with %s', async (name, value) => {
    rig = await HostileRig.open({ people: {} })
    expect((await call(null, 'policy.get', {})).code).toBe('ok')
    const { status, message } = await call(null, 'policy.get', {}, { [name]: value })
    expect(status).toBe(401)
    expect(message).toContain('fairlead token create --role admin')
    const socket = new RawSocket(`${rig.url.replace('http', 'ws')}/ws`, {
      protocols: [],
      headers: { [name]: value },
    })
    await expect(socket.opened).rejects.toThrow('401')
    const token = tokenOf({ role: 'admin', subject: 'a' })
    expect((await call(token, 'policy.get', {}, { [name]: value })).code).toBe('ok')
  })
})

describe('the audit log of tokens', () => {
  interface Entry {
    readonly action: string
    readonly subject: string
    readonly actor: string
    readonly details: Record<string, unknown>
  }
  async function changes(token: string, count: number): Promise<Entry[]> {
    for (;;) {
      const { result } = await call(token, 'audit.list', { limit: 1_000 })
      const entries = (result['entries'] as Entry[]).filter(
        ({ action }) => action === 'tokenChanged',
      )
      if (entries.length >= count) return entries
    }
  }

  it('TOKEN-2: tells of each change, made while a server runs or not, once and without secrets', async () => {
    rig = await HostileRig.open()
    const { operator } = rig.tokens
    const people = Object.keys(PEOPLE).length
    expect(await changes(operator, people)).toHaveLength(people)
    const made = rig.tokenFile.create({
      role: 'requester',
      subject: 'shop',
      scope: { kinds: ['task'] },
    })
    const subject = `token:${made.record.id}`
    await changes(operator, people + 1)
    await rig.kill()
    rig.tokenFile.changeScope(made.record.id, { readOnly: true })
    await rig.start({ people: {} })
    const { token: late, record } = rig.tokenFile.create({ role: 'operator', subject: 'o2' })
    await changes(operator, people + 3)
    rig.tokenFile.revoke(made.record.id)
    const all = (await changes(late, people + 4)).filter((entry) => entry.subject === subject)
    expect(all.map(({ details }) => [details['change'], details['scope']])).toEqual([
      ['created', 'kinds task'],
      ['changed', 'kinds task; read-only'],
      ['revoked', 'kinds task; read-only'],
    ])
    expect(all[0]).toMatchObject({ actor: 'tokens', details: { role: 'requester' } })
    expect(all[0]?.details['holder']).toMatch(/^0x[0-9a-f]{64}$/)

    // Removed by hand, which nobody is meant to do.
    const path = join(rig.folder, 'tokens.json')
    const file = JSON.parse(readFileSync(path, 'utf8')) as { tokens: { id: string }[] }
    const tokens = file.tokens.filter(({ id }) => id !== made.record.id)
    writeFileSync(path, JSON.stringify({ ...file, tokens }))
    const last = (await changes(late, people + 5)).at(-1)
    expect(last).toMatchObject({ subject, details: { change: 'removed' } })

    const text = JSON.stringify((await call(late, 'audit.list', { limit: 1_000 })).result)
    expect(text).not.toContain(made.token.slice(17))
    expect(text).not.toContain('shop')
    expect(text).toContain(record.id)
    expect((await call(late, 'audit.verify', {})).result).toMatchObject({ broken_seq: null })
  })
})
