import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { exchange } from '../src/execute/exchange.ts'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0
const folder = mkdtempSync(join(tmpdir(), 'fairlead-tls-'))
afterAll(() => rmSync(folder, { recursive: true }))

// A certificate that nobody vouches for: the only kind that a test can make.
it.skipIf(!hasOpenssl)(
  'EXECUTE-2: a server whose certificate is not trusted is sent nothing',
  async () => {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
        ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'],
        ...['-days', '2', '-keyout', key, '-out', cert],
      ],
      { stdio: 'ignore' },
    )
    let requests = 0
    const server = createServer(
      { key: readFileSync(key), cert: readFileSync(cert) },
      (_, response) => {
        requests++
        response.writeHead(201, { 'content-type': 'application/json' }).end('{"ok":true}')
      },
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const call = { method: 'POST', url: `https://localhost:${port}/b`, headers: {}, body: '{}' }
    const options = {
      timeoutMs: 5_000,
      signal: new AbortController().signal,
      maySend: () => true,
      wallClock: Date.now,
    }
    expect(await exchange(call, options)).toEqual({ type: 'unsent', code: 'network' })
    expect(requests).toBe(0)

    // The same by a process that trusts it.
    const program = `
    import { exchange } from ${JSON.stringify(new URL('../dist/execute/exchange.js', import.meta.url).href)}
    const signal = new AbortController().signal
    const sent = await exchange(${JSON.stringify(call)}, { timeoutMs: 5000, signal, maySend: () => true, wallClock: Date.now })
    console.log(JSON.stringify({ status: sent.answer?.status, json: sent.answer?.json }))
  `
    const out = await new Promise<string>((resolve, reject) => {
      const env = { ...process.env, NODE_EXTRA_CA_CERTS: cert }
      const args = ['--input-type=module', '-e', program]
      execFile(process.execPath, args, { env }, (error, stdout) =>
        error === null ? resolve(stdout) : reject(error),
      )
    })
    expect(JSON.parse(out)).toEqual({ status: 201, json: { ok: true } })
    server.close()
  },
)
