import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { SPARE_MAX } from '../../src/http/connections.ts'
import { HostileRig, type Person, wasServed } from './rig.ts'

const SLOW_MS = 120_000
let rig: HostileRig
afterEach(() => rig?.close())

describe('LIMITS-4: a connection that does not take its answer', () => {
  it(
    'is closed with a log line, and its memory is free',
    async () => {
      rig = await HostileRig.open({ limits: { stallMs: 400 } })
      const damage = await rig.suffer('10 connections that read nothing', async () => {
        for (let i = 0; i < 10; i++) await rig.mute(post('attacker', discoveries(200)))
        await rig.logs(/it did not take its answer/, 10)
      })
      expect(wasServed(damage)).toBe(true)
    },
    SLOW_MS,
  )

  it(
    'has its pipelined requests answered one after the other, in their order',
    async () => {
      rig = await HostileRig.open()
      const socket = connect(Number(new URL(rig.url).port), '127.0.0.1')
      await once(socket, 'connect')
      let text = ''
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        text += chunk
      })
      const ids = Array.from({ length: 30 }, (_, i) => `r${i}`)
      const requests = ids.map((id, i) => get(i % 2 ? '/openrpc.json' : '/livez', id))
      socket.write(requests.join('') + get('/livez', 'last', 'close'))
      await once(socket, 'close')
      const answered = [...text.matchAll(/^x-request-id: (\w+)\r$/gm)].map(([, id]) => id)
      expect(answered).toEqual([...ids, 'last'])
    },
    SLOW_MS,
  )

  it(
    'and waits long for the next one keeps its connection',
    async () => {
      rig = await HostileRig.open({ limits: { stallMs: 300 } })
      const socket = connect(Number(new URL(rig.url).port), '127.0.0.1')
      await once(socket, 'connect')
      let text = ''
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        text += chunk
      })
      const poll = { worker_id: 'w', slots: 1, kinds: ['task'], models: ['*'], wait_ms: 1_500 }
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 7,
        method: 'aicf.pollLeases',
        params: poll,
      })
      socket.write(get('/livez', 'first') + post('provider', body) + get('/livez', 'z', 'close'))
      await once(socket, 'close')
      expect(text).toContain('"id":7,"result"')
    },
    SLOW_MS,
  )

  it(
    'and pipelines without end is cut off',
    async () => {
      rig = await HostileRig.open()
      const damage = await rig.suffer('100 connections × 100 pipelined requests', async () => {
        const many = get('/openrpc.json', 'x').repeat(100)
        await Promise.all(Array.from({ length: 100 }, () => rig.mute(many)))
        await rig.logs(/too many pipelined requests/, 100)
      })
      expect(wasServed(damage)).toBe(true)
    },
    SLOW_MS,
  )

  it(
    'RPC-7: the description of the methods has an ETag, and is not sent to who has it',
    async () => {
      rig = await HostileRig.open()
      const first = await rig.get('/openrpc.json')
      const etag = String(first.headers.etag)
      expect(JSON.parse(first.text).openrpc).toBe('1.3.2')
      const again = await rig.get('/openrpc.json', { 'if-none-match': etag })
      expect([again.status, again.text, again.headers.etag]).toEqual([304, '', etag])
    },
    SLOW_MS,
  )
})

describe('LIMITS-3: however many connections somebody opens', () => {
  it.each([
    ['in all', { connections: 8 }],
    ['from one address', { connectionsPerAddress: 8 }],
  ])(
    'the probes are answered: %s',
    async (_, limits) => {
      rig = await HostileRig.open({ limits })
      for (let i = 0; i < 8 + 2 * SPARE_MAX; i++) await rig.mute('')
      expect((await rig.get('/livez')).status).toBe(200)
      expect((await rig.get('/readyz')).status).toBe(200)
      const refused = await rig.get('/openrpc.json')
      expect([refused.status, refused.text]).toEqual([
        503,
        'too many connections are open; try later\n',
      ])
      const ws = new WebSocket(`${rig.url.replace('http', 'ws')}/ws`, bearer('victim'))
      const [error] = (await once(ws, 'error')) as [Error]
      expect(error.message).toContain('503')
    },
    SLOW_MS,
  )

  it(
    'those of one token are bounded, and others are not touched',
    async () => {
      rig = await HostileRig.open({ limits: { connectionsPerToken: 2 } })
      const open = () => {
        const ws = new WebSocket(`${rig.url.replace('http', 'ws')}/ws`, bearer('attacker'))
        return once(ws, 'open').then(() => 'open', String)
      }
      expect(await open()).toBe('open')
      expect(await open()).toBe('open')
      expect(await open()).toContain('429')
      const { status, text } = await rig.enqueue('attacker', 1)
      expect(status).toBe(429)
      expect(text).toContain('too many connections of this token are open')
      expect((await rig.enqueue('victim', 1)).text).toContain('"accepted":true')
    },
    SLOW_MS,
  )

  it(
    'a trusted proxy brings those of many, and each address has its own',
    async () => {
      const limits = { connectionsPerAddress: 1 }
      rig = await HostileRig.open({ limits, trustedProxies: ['127.0.0.0/8', '::1'] })
      const ask = (as: Person, from: string) =>
        rig.post(
          as,
          { jsonrpc: '2.0', id: 1, method: 'aicf.listJobs' },
          { 'x-forwarded-for': from },
        )
      // It never ends: the whole of its body does not come.
      const head = post('attacker', '').replace('Content-Length: 0', 'Content-Length: 9')
      await rig.mute(
        head.replace('\r\n', '\r\nX-Forwarded-For: 192.0.2.1, 203.0.113.9, 127.0.0.1\r\n'),
      )
      await ask('victim', '203.0.113.1')
      expect((await ask('attacker', '203.0.113.9')).status).toBe(503)
      // Only the proxy's own word counts: further left anybody can write anything.
      expect((await ask('victim', '203.0.113.9, 203.0.113.2')).status).toBe(200)
      expect((await ask('victim', 'nonsense')).status).toBe(200)
    },
    SLOW_MS,
  )

  it(
    'LIMITS-2: one that never asks is closed',
    async () => {
      rig = await HostileRig.open({ limits: { headersTimeoutMs: 300 } })
      const socket = await rig.mute('')
      let answer = ''
      socket.setEncoding('utf8').on('data', (text: string) => {
        answer += text
      })
      socket.resume()
      await once(socket, 'close')
      expect(answer).toMatch(/^HTTP\/1\.1 4\d\d .+\r\nConnection: close\r\n/)
      expect((await rig.get('/livez')).status).toBe(200)
    },
    SLOW_MS,
  )
})

describe('HOST-1: a request under a name that is not ours, or from a page elsewhere', () => {
  const PATHS = ['/livez', '/readyz', '/metrics', '/openrpc.json', '/rpc', '/v1/admin/limits', '/x']

  it(
    'is refused on every path, whatever its token',
    async () => {
      rig = await HostileRig.open()
      const own = { authorization: `Bearer ${rig.tokens.operator}` }
      for (const path of PATHS) {
        const foreign = { ...own, host: 'evil.example' }
        expect((await rig.get(path, foreign)).status).toBe(403)
        expect((await rig.get(path, { ...own, origin: 'https://evil.example' })).status).toBe(403)
        expect((await rig.get(path, { ...own, origin: 'null' })).status).toBe(403)
        expect((await rig.get(path, { ...own, origin: rig.url })).status).not.toBe(403)
      }
      for (const headers of [{ host: 'evil.example' }, { origin: 'https://evil.example' }]) {
        const ws = new WebSocket(`${rig.url.replace('http', 'ws')}/ws`, {
          headers: { ...bearer('victim').headers, ...headers },
        })
        const [error] = (await once(ws, 'error')) as [Error]
        expect(error.message).toContain('403')
      }
    },
    SLOW_MS,
  )

  it(
    'is taken under the names that the operator has given it',
    async () => {
      rig = await HostileRig.open({ hosts: ['queue.example'] })
      for (const host of [
        'queue.example',
        'Queue.Example:8080',
        'localhost',
        '[::1]:1',
        '10.0.0.7',
      ]) {
        expect((await rig.get('/livez', { host })).status).toBe(200)
      }
      for (const host of ['example', 'queue.example.evil']) {
        expect((await rig.get('/livez', { host })).status).not.toBe(200)
      }
    },
    SLOW_MS,
  )
})

function get(path: string, id: string, connection = 'keep-alive'): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: ${id}\r\nConnection: ${connection}\r\n\r\n`
}

function post(as: Person, body: string): string {
  return `POST /rpc HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${rig.tokens[as]}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

function discoveries(count: number): string {
  return JSON.stringify(
    Array.from({ length: count }, (_, id) => ({ jsonrpc: '2.0', id, method: 'rpc.discover' })),
  )
}

function bearer(as: Person) {
  return { headers: { authorization: `Bearer ${rig.tokens[as]}` } }
}
