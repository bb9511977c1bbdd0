import { encodeCbor } from '@fairlead/core'
import { JSONRPCClient, JSONRPCServer, JSONRPCServerAndClient } from 'json-rpc-2.0'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import { type FormName, inCbor, NO_ID, Rig, TASK } from './rig.ts'

let rig: Rig
beforeAll(async () => {
  rig = await Rig.open()
})
afterAll(() => rig.close())

const ok = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'aicf.listJobs', params: { limit: 1 } })
const note = { jsonrpc: '2.0', method: 'aicf.listJobs', params: { limit: 1 } }
const invalid = (id: unknown = null) => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32600, message: 'Invalid Request' },
})
const listed = (id: unknown) =>
  expect.objectContaining({ jsonrpc: '2.0', id, result: expect.anything() as unknown }) as unknown

/** The cases of the standard, and what it says of them. `null`: nothing is answered. */
const CASES: readonly [name: string, sent: unknown, answered: unknown][] = [
  ['a call with a number', ok(1), listed(1)],
  ['a call with a text', ok('a'), listed('a')],
  ['a call with null', ok(null), listed(null)],
  ['a call with a fraction', ok(1.5), listed(1.5)],
  ['a notification', note, null],
  ['a notification of a method that there is not', { ...note, method: 'foobar' }, null],
  ['a notification with wrong params', { ...note, params: { odd: 1 } }, null],
  ['an empty batch', [], invalid()],
  ['a batch of nonsense', [1], [invalid()]],
  ['a batch of more nonsense', [1, 2, 3], [invalid(), invalid(), invalid()]],
  ['a batch in a batch', [[ok(1)]], [invalid()]],
  ['a batch of notifications', [note, note], null],
  ['a mixed batch', [ok(1), note, { foo: 'boo' }, ok('2')], [listed(1), invalid(), listed('2')]],
  ['version 1.0', { ...ok(3), jsonrpc: '1.0' }, invalid(3)],
  ['no version', { id: 3, method: 'aicf.listJobs' }, invalid(3)],
  ['a method that is no text', { ...ok(3), method: 1 }, invalid(3)],
  ['no method', { jsonrpc: '2.0', id: 3 }, invalid(3)],
  ['an id that is an object', { ...ok(3), id: {} }, invalid()],
  ['an id that is true', { ...ok(3), id: true }, invalid()],
  ['params that are text', { ...ok(3), params: 'bar' }, invalid(3)],
  ['a number', 1, invalid()],
  ['null', null, invalid()],
  ['text', 'text', invalid()],
  [
    'a method that there is not',
    { ...ok(3), method: 'foobar' },
    { jsonrpc: '2.0', id: 3, error: { code: -32601, message: 'Method not found: foobar' } },
  ],
]

describe.each(['json', 'cbor'] as FormName[])('over HTTP in %s', (form) => {
  it.each(CASES)('RPC-2: %s', async (_, sent, answered) => {
    const { status, body } = await rig.post('alice', sent, form)
    expect(status).toBe(answered === null ? 204 : 200)
    expect(body).toEqual(answered)
  })
})

describe.each(['json', 'cbor'] as FormName[])('over a WebSocket in %s', (form) => {
  it.each(CASES)('RPC-2: %s', async (_, sent, answered) => {
    const socket = await rig.socket('alice')
    const frame = (message: unknown) =>
      form === 'json' ? JSON.stringify(message) : encodeCbor(inCbor(message))
    socket.send(frame(sent))
    // What is answered to this comes last: whatever else there is came before it.
    socket.send(frame(ok('end')))
    await socket.find(({ id }) => id === 'end')
    const before = socket.messages.filter(({ id }) => id !== 'end')
    const wanted = answered === null ? [] : Array.isArray(answered) ? answered : [answered]
    expect(before).toHaveLength(wanted.length)
    expect(before).toEqual(expect.arrayContaining(wanted))
    if (Array.isArray(answered)) expect(socket.frames).toContain(answered.length)
    socket.terminate()
  })
})

it.each([
  ['{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]', 'application/json'],
  ['', 'application/json'],
  ['[{"jsonrpc":"2.0"', 'application/json'],
  [new Uint8Array([0x22, 0xff, 0x22]), 'application/json'],
  [new Uint8Array([0x18, 0x01]), 'application/cbor'],
  [new Uint8Array([0xbf, 0xff]), 'application/cbor'],
  [new Uint8Array([]), 'application/cbor'],
  [new Uint8Array([0xa0, 0x00]), 'application/cbor'],
])('RPC-2: %j cannot be read: −32700 (%s)', async (body, type) => {
  const response = await rig.raw('alice', body, type)
  expect(response.status).toBe(200)
  if (type !== 'application/json') return
  expect(await response.json()).toEqual({
    jsonrpc: '2.0',
    id: null,
    error: { code: -32700, message: 'Parse error' },
  })
})

it('RPC-6: CBOR has bytes where JSON has hex, and hex text is none', async () => {
  const call = (task_id: unknown) =>
    encodeCbor({ jsonrpc: '2.0', id: 1, method: 'aicf.getJob', params: { task_id } as never })
  const asBytes = await rig.raw('alice', call(new Uint8Array(32)), 'application/cbor')
  expect(Buffer.from(await asBytes.arrayBuffer()).includes('NotFound')).toBe(true)
  const asText = await rig.raw('alice', call(NO_ID), 'application/cbor')
  expect(Buffer.from(await asText.arrayBuffer()).includes('InvalidParams')).toBe(true)
})

it('RPC-2: another type of content, path or method is refused by HTTP', async () => {
  expect((await rig.raw('alice', '{}', 'text/plain')).status).toBe(415)
  expect((await rig.raw('alice', '{}', '')).status).toBe(415)
  expect((await rig.get('/nothing')).status).toBe(404)
  expect((await rig.get('/rpc')).status).toBe(405)
  expect((await rig.get('/ws')).status).toBe(426)
  expect((await rig.get('/__proto__')).status).toBe(404)
})

it('RPC-2: a client for JSON-RPC from elsewhere works over HTTP, with batches', async () => {
  const client: JSONRPCClient = new JSONRPCClient(async (request) => {
    const response = await rig.raw('alice', JSON.stringify(request))
    if (response.status === 200) client.receive((await response.json()) as never)
    else if (request.id !== undefined) throw new Error(String(response.status))
  })
  const { task_id } = (await client.request('aicf.enqueue', TASK)) as { task_id: string }
  const { status } = (await client.request('aicf.getJob', [{ task_id }])) as { status: string }
  expect(status).toBe('QUEUED')
  await expect(client.request('aicf.getJob', { task_id: NO_ID })).rejects.toMatchObject({
    code: -32004,
    data: { code: 'NotFound' },
  })
  client.notify('aicf.cancelJob', { task_id })
  const many = await client.requestAdvanced([ok(101), ok(102)] as never)
  expect(many).toHaveLength(2)
})

it('RPC-2: the same client works over a WebSocket, and hears the server', async () => {
  const ws = new WebSocket(`${rig.server.url.replace('http', 'ws')}/ws`, {
    headers: rig.authorization('alice'),
  })
  await new Promise((resolve) => ws.once('open', resolve))
  const both = new JSONRPCServerAndClient(
    new JSONRPCServer(),
    new JSONRPCClient((request) => ws.send(JSON.stringify(request))),
  )
  const heard = new Promise((resolve) => both.addMethod('events.notify', resolve))
  ws.on('message', (data) => void both.receiveAndSend(JSON.parse(String(data))))
  await both.request('events.subscribe', { topics: ['jobEnqueued'] })
  const { task_id } = (await both.request('aicf.enqueue', TASK)) as { task_id: string }
  expect(await heard).toMatchObject({ events: [{ type: 'jobEnqueued', jobId: task_id }] })
  ws.terminate()
})
