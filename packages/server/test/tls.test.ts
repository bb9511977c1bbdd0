import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { openEngine } from '@fairlead/engine'
import {
  type Logger,
  type RunningServer,
  startServer,
  type TlsPaths,
  TokenFile,
} from '@fairlead/server'
import { MemoryStore } from '@fairlead/testkit'
import { type Certificate, CertificateMaker } from '@fairlead/testkit/certificates'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import WebSocket from 'ws'

let folder: string
let root: Certificate
let first: Certificate
let second: Certificate
let clients: Certificate
let client: Certificate
const paths = (): { cert: string; key: string } => ({
  cert: join(folder, 'used.pem'),
  key: join(folder, 'used.key'),
})

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-tls-'))
  const maker = new CertificateMaker(folder)
  root = maker.authority('root')
  first = maker.signed('first', root)
  second = maker.signed('second', root)
  clients = maker.authority('clients')
  client = maker.signed('client', clients)
})
afterAll(() => rmSync(folder, { recursive: true }))

function use({ cert, key }: Certificate): void {
  copyFileSync(key, paths().key)
  copyFileSync(cert, paths().cert)
}

/** What was logged, for tests that wait for it. */
class Heard implements Logger {
  readonly texts: string[] = []
  #tell: () => void = () => {}
  readonly debug = () => {}
  readonly info = (_: object, text: string) => this.#add(text)
  readonly warn = (_: object, text: string) => this.#add(text)
  readonly error = (_: object, text: string) => this.#add(text)

  async until(text: string): Promise<void> {
    while (!this.texts.includes(text)) {
      await new Promise<void>((resolve) => {
        this.#tell = resolve
      })
    }
  }

  #add(text: string): void {
    this.texts.push(text)
    this.#tell()
  }
}

let server: RunningServer
let heard: Heard
let close: () => Promise<void> = async () => {}
afterEach(() => close())

async function start(tls: TlsPaths | undefined, host = '127.0.0.1'): Promise<void> {
  heard = new Heard()
  const engine = await openEngine({ store: new MemoryStore() })
  const tokens = new TokenFile(join(folder, 'tokens.json'))
  if (host !== '127.0.0.1') tokens.create({ role: 'admin', subject: 'a' })
  const listen = { host, port: 0 }
  close = () => engine.close()
  server = await startServer({
    engine,
    listen,
    tokens,
    logger: heard,
    limits: { headersTimeoutMs: 1_000 },
    ...(tls === undefined ? {} : { tls }),
  })
  close = async () => {
    await server.close(1_000)
    await engine.close()
    rmSync(join(folder, 'tokens.json'), { force: true })
    close = async () => {}
  }
}

/** Whom the server says to be, to a client that trusts the root. */
async function livez(
  options: { agent?: Agent; cert?: Buffer; key?: Buffer } = {},
): Promise<string> {
  const asked = request(`${server.url}/livez`, {
    ca: readFileSync(root.cert),
    agent: false,
    ...options,
  })
  asked.end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  const name = (answer.socket as TLSSocket).getPeerCertificate().subject.CN
  answer.resume()
  await once(answer, 'end')
  return `${answer.statusCode} ${name}`
}

describe('a server with a certificate', () => {
  it('TLS-1: answers over TLS, by HTTP and by WebSocket, and nobody in clear text', async () => {
    use(first)
    await start(paths())
    expect(server.url).toMatch(/^https:/)
    expect(await livez()).toBe('200 first')
    const untrusting = request(`${server.url}/livez`, { agent: false })
    untrusting.end()
    await expect(once(untrusting, 'response')).rejects.toThrow(/certificate|verify/)
    const ws = new WebSocket(`${server.url.replace('https', 'wss')}/ws`, {
      ca: readFileSync(root.cert),
    })
    await once(ws, 'open')
    ws.send('{"jsonrpc":"2.0","id":1,"method":"policy.get"}')
    const [answer] = (await once(ws, 'message')) as [Buffer]
    expect(answer.toString()).toContain('"result"')
    ws.terminate()
    const plain = connect(server.port, '127.0.0.1')
    plain.on('error', () => undefined)
    plain.resume()
    plain.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await once(plain, 'close')
    // One that says nothing at all is closed too.
    const silent = connect(server.port, '127.0.0.1')
    silent.on('error', () => undefined)
    silent.resume()
    await once(silent, 'close')
    expect(await livez()).toBe('200 first')
  })

  it('TLS-2: new files are taken while it runs, and no connection is dropped', async () => {
    use(first)
    await start(paths())
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: readFileSync(root.cert) })
    const ws = new WebSocket(`${server.url.replace('https', 'wss')}/ws`, {
      ca: readFileSync(root.cert),
    })
    await once(ws, 'open')
    expect(await livez({ agent })).toBe('200 first')
    use(second)
    await heard.until('the certificate was read again')
    expect(await livez()).toBe('200 second')
    // Over the connection that there was, and the socket.
    expect(await livez({ agent })).toBe('200 first')
    ws.send('{"jsonrpc":"2.0","id":1,"method":"policy.get"}')
    expect(String((await once(ws, 'message'))[0])).toContain('"result"')
    ws.terminate()
    agent.destroy()
  })

  it.each([
    ['a key that does not fit', () => copyFileSync(first.key, paths().key)],
    ['no certificate', () => writeFileSync(paths().cert, 'nonsense')],
    ['a file that is missing', () => rmSync(paths().key)],
  ])('TLS-2: with %s the old ones stay, and it is logged', async (_, spoil) => {
    use(second)
    await start(paths())
    spoil()
    await heard.until('the certificate stays as it was: the new files will not do')
    expect(await livez()).toBe('200 second')
    use(first)
    await heard.until('the certificate was read again')
    expect(await livez()).toBe('200 first')
  })

  it('TLS-3: with an authority for clients, only those it vouches for are let in', async () => {
    use(first)
    await start({ ...paths(), clientCa: clients.cert })
    const own = (of: Certificate) => ({ cert: readFileSync(of.cert), key: readFileSync(of.key) })
    expect(await livez(own(client))).toBe('200 first')
    await expect(livez()).rejects.toThrow()
    await expect(livez(own(second))).rejects.toThrow()
    // Also after the files were read again.
    use(second)
    await heard.until('the certificate was read again')
    expect(await livez(own(client))).toBe('200 second')
    await expect(livez()).rejects.toThrow()
  })

  it('TLS-1: files that will not do are refused by the name of their setting', async () => {
    use(first)
    const wrong: readonly (readonly [TlsPaths, string])[] = [
      [{ ...paths(), cert: join(folder, 'none.pem') }, 'server.tls_cert'],
      [{ ...paths(), cert: paths().key }, 'server.tls_cert'],
      [{ ...paths(), key: second.key }, 'server.tls_key'],
      [{ ...paths(), clientCa: paths().key }, 'server.tls_client_ca'],
    ]
    for (const [tls, field] of wrong) {
      await expect(start(tls)).rejects.toMatchObject({ code: 'InvalidParams', details: { field } })
      await close()
    }
  })

  it('TLS-4: clear text on an address that others reach is warned of', async () => {
    const warning = 'tokens and payloads cross the network in clear text; use TLS'
    await start(undefined, '0.0.0.0')
    expect(heard.texts).toContain(warning)
    await close()
    await start(undefined)
    expect(heard.texts).not.toContain(warning)
    await close()
    use(first)
    await start(paths(), '0.0.0.0')
    expect(heard.texts).not.toContain(warning)
  })
})
