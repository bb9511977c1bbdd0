import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CertificateMaker } from '@fairlead/testkit/certificates'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CliServer, fairlead, serve, serveWith } from './cli-process.ts'
import { ProgramProcess } from './program-process.ts'

const SECRET = randomBytes(32).toString('base64')

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-hooks-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function configure(port: number, fields: Readonly<Record<string, unknown>> = {}): void {
  const billing = {
    url: `http://127.0.0.1:${port}/`,
    events: ['jobEnqueued'],
    secret: '${file:billing.secret}',
    allow: ['127.0.0.1'],
    ...fields,
  }
  writeFileSync(join(folder, 'fairlead.yaml'), JSON.stringify({ hooks: { billing } }))
}

/** The receiver of the guide, as a reader would copy it. */
async function receiver(
  secret: string,
): Promise<{ readonly program: ProgramProcess; port: number }> {
  const guide = readFileSync(join(import.meta.dirname, '../../../docs/webhooks.md'), 'utf8')
  const [, code = ''] = /```js\n(.*?)```/s.exec(guide) ?? []
  const file = join(folder, 'receiver.mjs')
  writeFileSync(file, code)
  const env = { BILLING_SECRET: secret, PORT: '0' }
  const program = new ProgramProcess([process.execPath, file], { env })
  const [, port] = await program.says(/listening on (\d+)/)
  return { program, port: Number(port) }
}

async function counted(server: CliServer, outcome: string): Promise<string> {
  const text = await (await fetch(`${server.url}/metrics`)).text()
  const line = text.split('\n').find((one) => one.includes(`hook="billing",outcome="${outcome}"`))
  return line?.split(' ')[1] ?? '0'
}

it('HOOK-5, HOOK-7: the receiver of the guide takes what the server signs, and the server counts', async () => {
  const { program, port } = await receiver(SECRET)
  writeFileSync(join(folder, 'billing.secret'), SECRET, { mode: 0o600 })
  configure(port)
  const server = await serve(folder)
  try {
    await fairlead(['enqueue', 'task', 'resize', '--url', server.url])
    await program.says(/jobEnqueued \d+ resize/)
    const list = [
      'jobs',
      'list',
      '--name',
      'fairlead.webhook.billing',
      '--json',
      '--url',
      server.url,
    ]
    await expect
      .poll(async () => JSON.parse((await fairlead(list)).out))
      .toMatchObject([{ status: 'COMPLETED' }])
    expect(await counted(server, 'delivered')).toBe('1')
  } finally {
    await server.stop()
    program.kill('SIGTERM')
    await program.ended
  }
})

it('HOOK-5, HOOK-7: the receiver of the guide refuses what others sign', async () => {
  const { program, port } = await receiver(randomBytes(32).toString('base64'))
  writeFileSync(join(folder, 'billing.secret'), SECRET, { mode: 0o600 })
  configure(port, { attempts: 1 })
  const server = await serve(folder)
  try {
    await fairlead(['enqueue', 'task', 'resize', '--url', server.url])
    const list = ['jobs', 'list', '--name', 'fairlead.webhook.billing', '--error', 'http_401']
    const failed = async () =>
      JSON.parse((await fairlead([...list, '--json', '--url', server.url])).out)
    await expect.poll(failed).toMatchObject([{ status: 'FAILED' }])
    expect(await counted(server, 'failed')).toBe('1')
  } finally {
    await server.stop()
    program.kill('SIGTERM')
    expect((await program.ended).out).not.toContain('jobEnqueued')
  }
})

it('HOOK-6: over https the name in the certificate is checked, on the address that was checked', async () => {
  const maker = new CertificateMaker(folder)
  const root = maker.authority('root')
  const { cert, key } = maker.signed('first', root)
  const taken: string[] = []
  const receiving = createServer(
    { cert: readFileSync(cert), key: readFileSync(key) },
    (request, response) => {
      taken.push(String(request.headers.host))
      response.writeHead(200).end()
    },
  )
  receiving.listen(0, '127.0.0.1')
  await once(receiving, 'listening')
  const { port } = receiving.address() as AddressInfo
  writeFileSync(join(folder, 'billing.secret'), SECRET, { mode: 0o600 })
  const allow = ['127.0.0.1', '::1']
  configure(port, { url: `https://localhost:${port}/`, allow, attempts: 1 })
  const name = ['--name', 'fairlead.webhook.billing', '--json']
  for (const [env, ended] of [
    [{}, { status: 'FAILED' }],
    [{ NODE_EXTRA_CA_CERTS: root.cert }, { status: 'COMPLETED' }],
  ] as const) {
    const server = await serveWith(folder, env)
    try {
      await fairlead(['enqueue', 'task', 'resize', '--url', server.url])
      const newest = async () =>
        JSON.parse((await fairlead(['jobs', 'list', ...name, '--url', server.url])).out)[0] ?? null
      await expect.poll(newest).toMatchObject(ended)
    } finally {
      await server.stop()
    }
  }
  expect(taken).toEqual([`localhost:${port}`])
  receiving.close()
})

it('HOOK-1, HOOK-7: a secret that cannot be read refuses the start, and doctor says so', async () => {
  configure(1)
  const started = await fairlead(['serve', '--port', '0'], { cwd: folder })
  expect(started.code).not.toBe(0)
  expect(started.err).toContain('hooks.billing.secret: cannot read')
  const told = await fairlead(['doctor'], { cwd: folder })
  expect(told.out).toContain('hooks.billing.secret: cannot read')
  writeFileSync(join(folder, 'billing.secret'), SECRET, { mode: 0o600 })
  const inOrder = await fairlead(['doctor'], { cwd: folder })
  expect(inOrder.out).toContain('1 webhook: secrets and addresses are in order.')
  configure(1, { allow: [] })
  const inside = await fairlead(['doctor'], { cwd: folder })
  expect(inside.out).toContain('127.0.0.1 is not a public address')
  const checked = await fairlead(['policy', 'check'], { cwd: folder })
  expect(checked.code).toBe(2)
  expect(checked.err).toMatch(
    /webhooks have 1 problem:\n- hooks.billing.url: 127.0.0.1 is not a public/,
  )
  const json = await fairlead(['policy', 'check', '--json'], { cwd: folder })
  expect(JSON.parse(json.err).error.details.problems).toEqual([
    expect.stringMatching(/^hooks.billing.url: 127.0.0.1 is not/),
  ])
  const staked = ['doctor', '--set', 'registry.min_stake.task=5']
  const needy = (await fairlead(staked, { cwd: folder })).out
  expect(needy).toContain('fairlead stake provider:fairlead.webhook.<id> 5')
  const denied = ['doctor', '--set', 'registry.requesters_allow=[]']
  const denies = 'The policy denies the caller of deliveries'
  expect((await fairlead(denied, { cwd: folder })).out).toContain(denies)
  const both = ['policy', 'check', ...denied.slice(1)]
  expect((await fairlead(both, { cwd: folder })).err).toMatch(/2 problems:[\s\S]*The policy denies/)
  configure(1)
  expect(await fairlead(['policy', 'check'], { cwd: folder })).toMatchObject({ code: 0, err: '' })
})
