import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callerOf } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { startServer, TokenFile } from '@fairlead/server'
import { MemoryStore } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Rig, type RigOptions, TASK } from './rig.ts'

/** Of one job. Its result is read alike, once it has one. */
const READS = ['aicf.getJob', 'aicf.getTimeline', 'aicf.explainJob'] as const

describe('the tokens file', () => {
  let folder: string
  let path: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fairlead-tokens-'))
    path = join(folder, 'tokens.json')
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('AUTH-3: keeps what a token hashes to, never the token, and for its owner only', () => {
    const { token, record } = new TokenFile(path).create({ role: 'requester', subject: 'alice' })
    const text = readFileSync(path, 'utf8')
    expect(text).toContain(record.id)
    expect(text).not.toContain(token.slice(17))
    expect(statSync(path).mode & 0o077).toBe(0)
    expect(token).toMatch(/^flt_[0-9a-f]{12}_[\w-]{43}$/)
  })

  it('AUTH-3: a token made or ended by another process counts at once, or a moment later', () => {
    const server = new TokenFile(path)
    expect(server.isEmpty()).toBe(true)
    const cli = new TokenFile(path)
    const { token, record } = cli.create({ role: 'requester', subject: 'alice', tier: 'PRO' })
    expect(server.verify(token)).toEqual({
      tokenId: record.id,
      role: 'requester',
      subject: 'alice',
      tier: 'PRO',
    })
    cli.revoke(record.id)
    expect(new TokenFile(path).verify(token)).toBe(null)
    expect(cli.list()).toMatchObject([{ id: record.id, subject: 'alice' }])
    expect(cli.list()[0]?.revokedAt).not.toBe(null)
  })

  it('TOKEN-1: the first token counts at once, however lately the file was looked at', () => {
    const server = new TokenFile(path)
    expect(server.isEmpty()).toBe(true)
    new TokenFile(path).create({ role: 'requester', subject: 'alice' })
    expect(server.isEmpty()).toBe(false)
  })

  it('AUTH-3: a token is right in all its parts, or wrong', () => {
    const tokens = new TokenFile(path)
    const { token } = tokens.create({ role: 'admin', subject: 'a' })
    const other = tokens.create({ role: 'admin', subject: 'b' }).token
    const wrong = [
      '',
      'x',
      `${token}x`,
      token.slice(0, -1),
      token.toUpperCase(),
      `${token.slice(0, 17)}${other.slice(17)}`,
      ` ${token}`,
    ]
    for (const one of wrong) expect(tokens.verify(one), one).toBe(null)
    expect(tokens.verify(token)).toMatchObject({ subject: 'a' })
  })

  it('AUTH-3: it ends at its time', () => {
    const tokens = new TokenFile(path)
    const { token } = tokens.create({ role: 'admin', subject: 'a', expiresAt: Date.now() + 60_000 })
    expect(tokens.verify(token)).not.toBe(null)
    const text = readFileSync(path, 'utf8')
    const past = JSON.parse(text) as { tokens: { expiresAt: number }[] }
    ;(past.tokens[0] as { expiresAt: number }).expiresAt = Date.now() - 1
    writeFileSync(path, `${JSON.stringify(past)} `)
    expect(new TokenFile(path).verify(token)).toBe(null)
  })

  it.each([
    [{ role: 'king', subject: 'a' }, 'role'],
    [{ role: 'provider', subject: 'atlas' }, 'subject'],
    [{ role: 'requester', subject: '' }, 'subject'],
    [{ role: 'requester', subject: 'a', tier: 'best' }, 'tier'],
    [{ role: 'requester', subject: 'a', expiresAt: 5 }, 'expires'],
  ])('AUTH-3: %j is refused by the name of its field', (wanted, field) => {
    expect(() => new TokenFile(path).create(wanted as never)).toThrow(
      expect.objectContaining({ code: 'InvalidParams', details: { field } }) as Error,
    )
  })

  it('AUTH-3: a file that cannot be read is not one without tokens', () => {
    writeFileSync(path, '{"version":1,"tok')
    expect(() => new TokenFile(path)).toThrow(/cannot be read/)
  })

  it('AUTH-3: a draft that somebody else has put there is not written to', () => {
    const draft = `${path}.${process.pid}.tmp`
    const elsewhere = join(folder, 'elsewhere')
    writeFileSync(elsewhere, '', { mode: 0o666 })
    symlinkSync(elsewhere, draft)
    new TokenFile(path).create({ role: 'requester', subject: 'alice' })
    expect(readFileSync(elsewhere, 'utf8')).toBe('')
    writeFileSync(draft, '', { mode: 0o666 })
    new TokenFile(path).create({ role: 'requester', subject: 'bob' })
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('AUTH-3: many at a time lose nothing', () => {
    const files = Array.from({ length: 5 }, () => new TokenFile(path))
    for (let i = 0; i < 20; i++) files[i % 5]?.create({ role: 'requester', subject: `s${i}` })
    expect(new TokenFile(path).list()).toHaveLength(20)
  })
})

describe('a server', () => {
  let rig: Rig
  const open = async (options: RigOptions) => {
    rig = await Rig.open(options)
  }
  afterEach(() => rig?.close())

  it('AUTH-2: without tokens everybody on loopback is a local admin, by a loopback name', async () => {
    await open({ tokens: false })
    expect(await rig.outcome(null, 'policy.get', {})).toBe('ok')
    expect(await rig.outcome(null, 'aicf.enqueue', TASK)).toBe('ok')
    const status = await new Promise((resolve, reject) => {
      const asked = request(
        `${rig.server.url}/rpc`,
        { method: 'POST', headers: { host: 'evil.example', 'content-type': 'application/json' } },
        (response) => {
          response.resume()
          resolve(response.statusCode)
        },
      )
      asked.on('error', reject)
      asked.end('{"jsonrpc":"2.0","id":1,"method":"policy.get"}')
    })
    expect(status).toBe(403)
  })

  it('AUTH-2: the first token ends that', async () => {
    await open({ tokens: false, limits: { pingMs: 300 } })
    const socket = await rig.socket(null)
    rig.tokenFile.create({ role: 'admin', subject: 'ada' })
    expect(await socket.closed).toEqual({
      code: 4001,
      reason: 'there are tokens by now; connect again with one',
    })
    expect(await rig.outcome(null, 'policy.get', {})).toBe('Unauthorized')
  })

  it('AUTH-2: it does not start without tokens where others can reach it', async () => {
    await open({})
    const engine = await openEngine({ store: new MemoryStore() })
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.org', '127.evil.example']) {
      await expect(startServer({ engine, listen: { host, port: 0 } })).rejects.toMatchObject({
        code: 'InvalidParams',
        details: { field: 'listen' },
        message: expect.stringContaining('fairlead token create') as string,
      })
    }
    await engine.close()
  })

  it('AUTH-2: a port that is taken is named, and nothing is left behind', async () => {
    await open({})
    const engine = await openEngine({ store: new MemoryStore() })
    const listen = { host: '127.0.0.1', port: rig.server.port }
    await expect(startServer({ engine, listen })).rejects.toMatchObject({
      code: 'InvalidParams',
      message: expect.stringContaining('another process does') as string,
    })
    await engine.close()
  })

  it('AUTH-3: tokens that cannot be read let nobody in, and say so to nobody but the operator', async () => {
    await open({})
    const socket = await rig.socket('alice')
    writeFileSync(rig.tokenFile.path, 'broken')
    // It is noticed after a quarter of a second at the latest.
    let text = ''
    while (!text.includes('StoreUnavailable')) {
      const { body } = await rig.post('bob', { jsonrpc: '2.0', id: 1, method: 'aicf.listJobs' })
      text = JSON.stringify(body)
    }
    expect(text).not.toContain(rig.tokenFile.path)
    expect((await rig.get('/metrics', 'admin')).status).toBe(503)
    expect(await socket.call('aicf.listJobs', {})).toMatchObject({ jobs: [] })
  })

  it('AUTH-5: refused attempts are in the audit log, counted, and not at any rate', async () => {
    await open({ limits: { refusalsPerSecond: 1, refusalsBurst: 50 } })
    const codes = new Set<string>()
    for (let i = 0; i < 60; i++) codes.add(await rig.outcome(null, 'policy.get', {}))
    expect(codes).toEqual(new Set(['Unauthorized', 'RateLimited']))
    for (let i = 0; i < 5; i++) await rig.outcome('alice', 'policy.set', { policy: {} })
    // A right token is let in all the while.
    expect(await rig.outcome('admin', 'policy.get', {})).toBe('ok')
    const noted = await refusals(2)
    expect(noted).toMatchObject([
      { subject: 'authentication', actor: 'engine', details: { reason: 'no_token', attempts: 1 } },
      { subject: 'policy.set', details: { reason: 'forbidden', attempts: 1 } },
    ])
    expect(noted[0]?.details['by']).toMatch(/127\.0\.0\.1$/)
    await rig.server.close()
    const all = (await rig.engine.view.read.journal(0, 1_000)).filter(
      ({ action }) => action === 'accessRefused',
    )
    expect(all).toHaveLength(4)
    const counts = all.map(({ details }) => details['attempts'])
    expect(counts.slice(2)).toEqual([59, 4])
  })

  it('AUTH-5: a refused call at /metrics is in the audit log, too', async () => {
    await open({})
    expect((await rig.get('/metrics', 'alice')).status).toBe(403)
    const { id } = rig.tokenFile.list().find(({ subject }) => subject === 'alice') ?? {}
    expect(await refusals(1)).toMatchObject([
      { subject: '/metrics', details: { by: `token:${id}`, reason: 'forbidden', attempts: 1 } },
    ])
  })

  it('AUDIT-12: who is shown what belongs to another caller is in the audit log, in bounded space', async () => {
    await open({})
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    await rig.call('bob', 'aicf.enqueue', TASK)
    for (const method of READS) {
      // The owner's own reads are nobody's affair.
      await rig.outcome('alice', method, { task_id })
      await rig.outcome('auditor', method, { task_id })
    }
    for (let i = 0; i < 200; i++) await rig.call('operator', 'aicf.listJobs', {})
    await rig.call('admin', 'signup.list', {})
    await rig.server.close()
    const reads = (await rig.engine.view.read.journal(0, 1_000)).filter(
      ({ action }) => action === 'dataRead',
    )
    const tokens = new Map(rig.tokenFile.list().map(({ id, role }) => [`token:${id}`, role]))
    const alice = callerOf('alice')
    expect(
      reads.map(({ subject, details: { by, caller, reads } }) => [
        ...[tokens.get(by as string), subject, caller, reads],
      ]),
    ).toEqual([
      ['auditor', 'aicf.getJob', alice, 1],
      ['auditor', 'aicf.getTimeline', alice, 1],
      ['auditor', 'aicf.explainJob', alice, 1],
      ['operator', 'aicf.listJobs', 'several', 1],
      ['operator', 'aicf.listJobs', 'several', 199],
    ])
  })

  it('AUTH-7: what an operator changes for others is in the audit log, with its token', async () => {
    await open({})
    const provider_id = 'provider:atlas'
    await rig.call('atlas', 'aicf.registerProvider', { provider_id })
    await rig.call('operator', 'aicf.updateProvider', { provider_id, kinds: ['task'] })
    await rig.call('operator', 'aicf.setProviderStatus', { provider_id, status: 'SUSPENDED' })
    await rig.call('admin', 'aicf.stake', { provider_id, amount_u64: 5 })
    await rig.call('admin', 'policy.set', { policy: {} })
    expect(await rig.outcome('admin', 'policy.set', { policy: { odd: 1 } })).toBe('InvalidParams')
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    await rig.call('operator', 'aicf.cancelJob', { task_id })
    await rig.outcome('alice', 'policy.set', { policy: {} })
    await refusals(1)
    const { entries } = await rig.call('auditor', 'audit.list', {})
    const roles = new Map(rig.tokenFile.list().map(({ id, role }) => [`token:${id}`, role]))
    const acts = entries.map(({ action, subject, actor }) => [action, subject, roles.get(actor)])
    expect(acts).toEqual([
      ['providerRegistered', provider_id, undefined],
      ['providerUpdated', provider_id, 'operator'],
      ['providerStatus', provider_id, 'operator'],
      ['providerStaked', provider_id, 'admin'],
      ['policyChanged', 'policy', 'admin'],
      ['jobEnqueued', task_id, undefined],
      ['jobCanceled', task_id, 'operator'],
      ['accessRefused', 'policy.set', undefined],
    ])
    expect(entries[3]?.details).toEqual({ providerId: provider_id, amount: 5, stake: 5 })
    expect(await rig.call('auditor', 'audit.verify', {})).toMatchObject({ broken_seq: null })
  })

  it('AUTH-6: a token has so many calls a second', async () => {
    await open({ limits: { requestsPerSecond: 1, requestsBurst: 3 } })
    const outcomes = []
    for (let i = 0; i < 5; i++) outcomes.push(await rig.outcome('alice', 'aicf.listJobs', {}))
    expect(outcomes.slice(0, 3)).toEqual(['ok', 'ok', 'ok'])
    expect(outcomes.slice(3)).toContain('RateLimited')
    const { status, headers, body } = await rig.post('alice', {
      jsonrpc: '2.0',
      id: 1,
      method: 'aicf.listJobs',
    })
    expect(status).toBe(429)
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect(body).toMatchObject({ error: { data: { code: 'RateLimited', retryable: true } } })
    expect(await rig.outcome('bob', 'aicf.listJobs', {})).toBe('ok')
    const batch = Array.from({ length: 4 }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'aicf.listProviders',
    }))
    const answers = (await rig.post('operator', batch)).body as { error?: unknown }[]
    expect(answers.filter(({ error }) => error !== undefined)).toHaveLength(1)
  })

  /** Waits until so many are written. */
  async function refusals(count: number) {
    for (;;) {
      const { entries } = await rig.call('auditor', 'audit.list', { limit: 1_000 })
      const found = entries.filter(({ action }) => action === 'accessRefused')
      if (found.length >= count) return found
    }
  }
})
