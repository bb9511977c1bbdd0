import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CertificateMaker } from '@fairlead/testkit/certificates'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CliProcess, fairlead, serve } from './cli-process.ts'

const BIN = join(import.meta.dirname, '..', 'bin', 'fairlead.mjs')

let folder: string
const running: CliProcess[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-tokens-'))
})
afterEach(async () => {
  for (const one of running.splice(0)) {
    one.kill('SIGTERM')
    await one.ended
  }
  rmSync(folder, { recursive: true })
})

const run = (args: readonly string[], env: Record<string, string> = {}) =>
  fairlead(args, { cwd: folder, env })
const create = (role: string, subject: string, ...rest: string[]) =>
  run(['token', 'create', '--role', role, '--subject', subject, ...rest])

describe('fairlead token', () => {
  it('SCOPE-1: scopes are created, listed and changed', async () => {
    const scope = ['--kinds', 'ai,task', '--models', 'llama*, shop.mail', '--limits', 'shop:*']
    const made = await create('requester', 'shop', ...scope, '--read-only', '--json')
    const { id, scope: kept } = JSON.parse(made.out)
    expect(kept).toEqual({
      kinds: ['ai', 'task'],
      models: ['llama*', 'shop.mail'],
      limits: ['shop:*'],
      readOnly: true,
    })
    const listed = await run(['token', 'list'])
    expect(listed.out).toContain(
      'kinds ai, task; models llama*, shop.mail; limits shop:*; read-only',
    )
    const changed = await run(['token', 'change', id, '--models', '*', '--no-read-only'])
    expect(changed.out).toContain(
      `Token ${id} of requester shop is held to: kinds ai, task; models *; limits shop:*.`,
    )
    const [{ scope: now }] = JSON.parse((await run(['token', 'list', '--json'])).out)
    expect(now).toEqual({ kinds: ['ai', 'task'], models: ['*'], limits: ['shop:*'] })
    expect(await run(['token', 'change', id])).toMatchObject({ code: 2 })
    expect(await create('requester', 's', '--kinds', 'llm')).toMatchObject({ code: 2 })
    const half = await create('provider', 'provider:p', '--kinds', 'registration')
    expect(half).toMatchObject({ code: 2 })
    expect(half.err).toContain('platforms: expected the booking platforms')
    const plain = await create('provider', 'provider:p')
    expect(plain.err).toContain('It gets no registrations')
  })

  it.each(['000', '027', '0777'])(
    'AUTH-3: under umask %s the file is its owner’s alone, and can be read by it',
    (umask) => {
      const args = "token create --role admin --subject me --store 'f.db'"
      const line = `umask ${umask}; '${process.execPath}' '${BIN}' ${args}`
      const { status, stderr } = spawnSync('sh', ['-c', line], { cwd: folder, encoding: 'utf8' })
      expect(status, stderr).toBe(0)
      expect(readdirSync(folder)).toEqual(['f.db.tokens.json'])
      expect(statSync(join(folder, 'f.db.tokens.json')).mode & 0o777).toBe(0o600)
    },
  )
})

describe('fairlead serve', () => {
  it('TOKEN-1: does not start without the tokens that there were, unless it is told to', async () => {
    const first = await serve(folder)
    const file = join(folder, 'fairlead.db.tokens.json')
    const token = (await create('admin', 'me')).out.trim()
    const env = { FAIRLEAD_URL: first.url, FAIRLEAD_TOKEN: token }
    // The server has noticed it by the time that it is in the audit log.
    while (!(await run(['audit', 'list'], env)).out.includes('tokenChanged'));
    await first.stop()
    rmSync(file)
    const refused = await run(['serve', '--port', '0'])
    expect(refused.code).toBe(2)
    expect(refused.err).toContain('this store had tokens, and there are none now')
    expect(refused.err).toContain('--insecure-local')
    writeFileSync(file, '{"version":1,"tokens":[]}')
    expect((await run(['serve', '--port', '0'])).code).toBe(2)
    rmSync(file)
    const open = await serve(folder, '--insecure-local')
    expect((await run(['jobs', 'list', '--url', open.url])).code).toBe(0)
    await open.stop()
    expect((await run(['serve', '--port', '0'])).code).toBe(2)
    await create('admin', 'me')
    const last = await serve(folder)
    expect((await run(['jobs', 'list', '--url', last.url])).code).toBe(3)
    await last.stop()
  })

  it('TLS-1: commands and workers reach a server with a certificate of their own authority', async () => {
    const maker = new CertificateMaker(folder)
    const root = maker.authority('root')
    const { cert, key } = maker.signed('server', root)
    const alone = await run(['serve', '--port', '0', '--tls-cert', cert])
    expect(alone).toMatchObject({ code: 2 })
    expect(alone.err).toContain('server.tls_key: expected a file')
    const flags = ['--port', '0', '--log-level', 'silent', '--tls-cert', cert, '--tls-key', key]
    const server = new CliProcess(['serve', ...flags], { cwd: folder })
    running.push(server)
    const [, url = ''] = await server.says(/serves (https:\S+) on/)
    const trust = { NODE_EXTRA_CA_CERTS: root.cert, FAIRLEAD_URL: url }
    const worker = new CliProcess(['worker', '--exec', 'cat'], { cwd: folder, env: trust })
    running.push(worker)
    await worker.says(/is served by/)
    // Node reads the variable at its start, so the command is a process of its own.
    const enqueue = ['enqueue', 'task', 'echo', '{"n":1}', '--wait']
    const { code, out } = await new CliProcess(enqueue, { cwd: folder, env: trust }).ended
    expect(code).toBe(0)
    expect(out).toContain('"n":1')
    expect((await run(['jobs', 'list'], { FAIRLEAD_URL: url })).code).not.toBe(0)
  })
})
