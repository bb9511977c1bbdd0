import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { connect } from '@fairlead/client'
import { type Engine, openEngine } from '@fairlead/engine'
import { type RunningServer, startServer } from '@fairlead/server'
import { MemoryStore } from '@fairlead/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'

const SCRIPT = `export const words = '${'word '.repeat(500)}'\n`
const HTML = '<!doctype html><html><head><title>Fairlead</title></head><body></body></html>\n'
const SECRET = 'outside of the folder'

let above: string
let folder: string
beforeAll(() => {
  above = mkdtempSync(join(tmpdir(), 'fairlead-page-'))
  folder = join(above, 'dist')
  mkdirSync(join(folder, 'assets'), { recursive: true })
  writeFileSync(join(above, 'secret.txt'), SECRET)
  writeFileSync(join(folder, 'index.html'), HTML)
  writeFileSync(join(folder, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  writeFileSync(join(folder, 'assets', 'main-Ab_d1-34.js'), SCRIPT)
  writeFileSync(join(folder, 'assets', 'main-Ab_d1-34.js.map'), '{}')
})
afterAll(() => rmSync(above, { recursive: true }))

let engine: Engine
let server: RunningServer
afterEach(async () => {
  await server.close()
  await engine.close()
})

async function start(given: { basePath?: string; dashboard?: string } = {}): Promise<void> {
  engine = await openEngine({ store: new MemoryStore() })
  const listen = { host: '127.0.0.1', port: 0 }
  server = await startServer({ engine, listen, dashboard: folder, ...given })
}

interface Answer {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: Buffer
}

/** Asks for a path as it is written: `fetch` would tidy it up. */
function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ port: server.port, path, headers, method }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const { statusCode: status = 0, headers: own } = response
        resolve({ status, headers: own, body: Buffer.concat(chunks) })
      })
    })
    sent.on('error', reject)
    sent.end()
  })
}

const UPGRADE = {
  connection: 'upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': Buffer.alloc(16).toString('base64'),
}

describe.each(['', '/x', '/x/y'])('a page below "%s"', (base) => {
  it('PAGE-2: everything is below the path: page, calls, sockets and metrics', async () => {
    await start({ basePath: base })
    expect(server.url).toBe(`http://127.0.0.1:${server.port}${base}`)
    const page = await get(`${base}/`)
    expect(page.status).toBe(200)
    expect(page.body.toString()).toContain(`<head><base href="${base}/">`)
    expect((await get(`${base}/assets/main-Ab_d1-34.js`)).body.toString()).toBe(SCRIPT)
    expect((await get(`${base}/livez`)).status).toBe(200)
    expect((await get(`${base}/metrics`)).status).toBe(200)
    expect((await get(`${base}/v1/admin/limits`)).status).toBe(200)
    const client = connect(server.url)
    expect((await client.call('auth.whoami', {})).role).toBe('admin')
    await client.close()
  })

  it('PAGE-2: nothing is beside the path', async () => {
    await start({ basePath: base })
    for (const path of ['', '/x', '/x/y', '/x/y/z'].filter((one) => one !== base)) {
      const isBelow = path.startsWith(`${base}/`)
      expect((await get(`${path}/assets/main-Ab_d1-34.js`)).status).toBe(404)
      expect((await get(`${path}/livez`)).status).toBe(isBelow ? 200 : 404)
    }
    for (const path of ['/other/ws', `${base}/ws/more`]) {
      expect((await get(path, UPGRADE)).status).toBe(404)
    }
  })

  it('PAGE-3: a path of a view gives the page, and other unknown paths nothing', async () => {
    await start({ basePath: base })
    for (const path of ['/jobs', '/jobs/0x12', '/waiting?kind=ai']) {
      expect((await get(base + path)).body.toString()).toContain('<title>Fairlead</title>')
    }
    for (const path of ['/nothing.js', '/assets/other-12345678', '/v1/nothing']) {
      expect((await get(base + path)).status).toBe(404)
    }
    expect((await get(`${base}/jobs`, {}, 'POST')).status).toBe(405)
  })
})

it('PAGE-2: the path without its slash leads to the page', async () => {
  await start({ basePath: 'x/y/' })
  expect(await get('/x/y')).toMatchObject({ status: 308, headers: { location: '/x/y/' } })
})

it.each(['/a b', '/x/../y', '/%2e', '/"', '/x//y'])('PAGE-2: refuses the path %s', async (path) => {
  await start()
  const listen = { host: '127.0.0.1', port: 0 }
  await expect(startServer({ engine, listen, basePath: path })).rejects.toMatchObject({
    code: 'InvalidParams',
    details: { field: 'base_path' },
  })
})

it('PAGE-1: files are packed, have a tag, and keep for ever if their name has a hash', async () => {
  await start()
  const packed = await get('/assets/main-Ab_d1-34.js', { 'accept-encoding': 'br, gzip' })
  expect(packed.headers).toMatchObject({
    'content-encoding': 'gzip',
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    vary: 'accept-encoding',
  })
  expect(gunzipSync(packed.body).toString()).toBe(SCRIPT)
  const plain = await get('/assets/main-Ab_d1-34.js', { 'accept-encoding': 'gzip;q=0' })
  expect(plain.headers['content-encoding']).toBeUndefined()
  const index = await get('/')
  expect(index.headers['cache-control']).toBe('no-cache')
  const etag = String(index.headers['etag'])
  for (const given of [etag, `W/${etag}`, `"other", ${etag}`]) {
    const again = await get('/', { 'if-none-match': given })
    expect([again.status, again.body.length]).toEqual([304, 0])
  }
  expect((await get('/', { 'if-none-match': '"other"' })).status).toBe(200)
  const head = await get('/', {}, 'HEAD')
  expect([head.status, head.body.length]).toEqual([200, 0])
})

it('PAGE-4: a strict policy of contents, and no page may have it in a frame', async () => {
  await start()
  for (const path of ['/', '/jobs', '/assets/main-Ab_d1-34.js', '/icon.svg']) {
    const policy = String((await get(path)).headers['content-security-policy'])
    const rules = new Map(
      policy.split('; ').map((rule) => rule.split(/ (.*)/, 2) as [string, string]),
    )
    expect(rules.get('default-src')).toBe("'none'")
    expect(rules.get('script-src')).toBe("'self'")
    expect(rules.get('style-src')).toBe("'self'")
    expect(rules.get('frame-ancestors')).toBe("'none'")
    expect(policy).not.toContain('unsafe')
  }
})

it('PAGE-1: only what was in the folder at the start is served, and no source map', async () => {
  await start()
  writeFileSync(join(folder, 'late.txt'), 'late')
  for (const path of [
    '/late.txt',
    '/../secret.txt',
    '/..%2fsecret.txt',
    '/assets/../../secret.txt',
    '/%2e%2e/secret.txt',
    '//secret.txt',
    '/assets/..\\..\\secret.txt',
    '/assets/main-Ab_d1-34.js.map',
    '/index.html\0.txt',
  ].map(encodeURI)) {
    const { status, body } = await get(path)
    expect([path, status]).toEqual([path, 404])
    expect(body.toString()).not.toContain(SECRET)
  }
})

it('PAGE-4: a foreign Host and a foreign Origin are refused, for the page as for calls', async () => {
  await start()
  for (const path of ['/', '/jobs', '/assets/main-Ab_d1-34.js', '/rpc']) {
    for (const foreign of [
      { host: 'evil.example' },
      { host: `127.0.0.1:${server.port}`, origin: 'https://evil.example' },
    ]) {
      expect((await get(path, foreign)).status).toBe(403)
    }
  }
  const upgrade = { ...UPGRADE, origin: 'https://evil.example' }
  expect((await get('/ws', upgrade)).status).toBe(403)
})

it('PAGE-1: without a folder there is no page; one without index.html is refused', async () => {
  await start()
  const listen = { host: '127.0.0.1', port: 0 }
  await expect(startServer({ engine, listen, dashboard: above })).rejects.toMatchObject({
    code: 'InvalidParams',
    details: { field: 'dashboard' },
  })
  const plain = await startServer({ engine, listen })
  expect((await fetch(`${plain.url}/`)).status).toBe(404)
  await plain.close()
})
