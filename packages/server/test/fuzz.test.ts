import { connect } from 'node:net'
import { encodeCbor } from '@fairlead/core'
import { BATCH_PROTOCOL, METHODS, type Method } from '@fairlead/protocol'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Bench } from './bench.ts'
import { Fuzz } from './fuzz.ts'
import type { RawSocket } from './raw-socket.ts'
import { inCbor, Rig, TASK } from './rig.ts'

/** `FAIRLEAD_FUZZ_SEED=n` runs one again, `FAIRLEAD_FUZZ_COUNT=n` a longer one. */
const SEED = Number(process.env['FAIRLEAD_FUZZ_SEED'] ?? Date.now() % 1_000_000)
const COUNT = Number(
  process.env['FAIRLEAD_FUZZ_COUNT'] ?? (process.env['LONG_TESTS'] ? 21_000 : 6_000),
)
/** What the process may have grown by at the end. */
const GROWTH_MAX_BYTES = 300 * 1024 * 1024

let rig: Rig
const errors: unknown[] = []
const note = (error: unknown) => errors.push(error)

beforeAll(async () => {
  process.on('unhandledRejection', note)
  rig = await Rig.open({
    isOnFile: true,
    // Everything that is not a refusal ends up here.
    logger: { debug: () => {}, info: () => {}, warn: () => {}, error: (fields) => note(fields) },
    // A long run must not meet a connection that the server is about to close.
    limits: { requestsPerSecond: 1_000_000, requestsBurst: 1_000_000, keepAliveMs: 3_600_000 },
  })
})
afterAll(async () => {
  process.off('unhandledRejection', note)
  await rig.close()
})

it(
  `RPC-2: ${COUNT} random and mutated requests are answered, and nothing breaks (seed ${SEED})`,
  async () => {
    const fuzz = new Fuzz(SEED)
    const calls = await rightCalls()
    const before = process.memoryUsage().rss
    const perWay = Math.ceil(COUNT / 10)

    // One after the other: by HTTP in both forms, by WebSocket in both forms, and by bare TCP.
    for (let i = 0; i < 2 * perWay; i += PARALLEL) {
      await Promise.all(Array.from({ length: PARALLEL }, () => overHttp(fuzz, calls, 'json')))
    }
    for (let i = 0; i < perWay; i += PARALLEL) {
      await Promise.all(Array.from({ length: PARALLEL }, () => overHttp(fuzz, calls, 'cbor')))
    }
    for (let i = 0; i < perWay; i += PARALLEL) {
      await Promise.all(Array.from({ length: PARALLEL }, () => overLimits(fuzz)))
    }
    for (const form of ['json', 'cbor'] as const) {
      for (let i = 0; i < 3 * perWay; i += FRAMES) await overSocket(fuzz, calls, form)
    }
    for (let i = 0; i < 200; i++) await overTcp(fuzz)

    // An error inside of Fairlead is in its log, whatever the caller was told.
    expect(errors.slice(0, 3)).toEqual([])
    expect(process.memoryUsage().rss - before).toBeLessThan(GROWTH_MAX_BYTES)
    await stillWorks()
  },
  Math.max(120_000, 10 * COUNT),
)

const PARALLEL = 50
const FRAMES = 250

/** A right call of every method, with ids that there are. */
async function rightCalls(): Promise<object[]> {
  const bench = await Bench.open(rig)
  const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
  const { lease_id } = await bench.offered(task_id)
  const own = { task_id, lease_id, provider_id: 'provider:atlas', wait_ms: 0 }
  return (Object.values(METHODS) as Method[]).map(({ name, example }) => {
    const params = { ...(example.params as Record<string, unknown>) }
    for (const [key, value] of Object.entries(own)) if (key in params) params[key] = value
    return { jsonrpc: '2.0', id: 1, method: name, params }
  })
}

async function overHttp(
  fuzz: Fuzz,
  calls: readonly object[],
  form: 'json' | 'cbor',
): Promise<void> {
  const body = bodyOf(fuzz, calls, form)
  const headers = { ...rig.authorization('admin'), 'content-type': `application/${form}` }
  // A poll that lost its wait_ms would wait for half a minute.
  const patience = AbortSignal.timeout(250)
  const response = await fetch(`${rig.server.url}/rpc`, {
    method: 'POST',
    headers,
    body: body as NonNullable<RequestInit['body']>,
    signal: patience,
  }).catch((error: unknown) => {
    if (patience.aborted) return null
    throw error
  })
  if (response === null) return
  if (response.status >= 500) note({ status: response.status, body: String(body) })
  await response.arrayBuffer().catch(() => null)
}

/** The routes of limits, which are no JSON-RPC. */
const LIMIT_ROUTES = [
  ['PUT', '/v1/admin/limits', METHODS['limits.define'].example.params.limit],
  ['POST', '/v1/reserve', METHODS['limits.reserve'].example.params],
  ['POST', '/v1/reserve/batch', METHODS['limits.reserveMany'].example.params],
  ['POST', '/v1/complete', METHODS['limits.complete'].example.params],
  ['POST', '/v1/complete/batch', METHODS['limits.completeMany'].example.params],
  ['POST', '/v1/admin/reset', METHODS['limits.reset'].example.params],
] as const

async function overLimits(fuzz: Fuzz): Promise<void> {
  const [method, path, right] = fuzz.pick(LIMIT_ROUTES)
  const headers = { ...rig.authorization('admin'), 'content-type': 'application/json' }
  const request = fuzz.chance(0.2)
    ? { path: `/v1/admin/limits${fuzz.pick(PATH_ENDS)}`, init: { headers } }
    : {
        path,
        init: {
          method,
          headers,
          body: bodyOf(fuzz, [right], 'json') as NonNullable<RequestInit['body']>,
        },
      }
  const response = await fetch(`${rig.server.url}${request.path}`, request.init)
  if (response.status >= 500) note({ status: response.status, ...request })
  await response.arrayBuffer()
}

const PATH_ENDS = [
  '',
  '/',
  '/%',
  '/%00',
  '/../..',
  '/%2e%2e',
  '?limit=-1',
  '?cursor=%ff',
  '/__proto__',
]

async function overSocket(
  fuzz: Fuzz,
  calls: readonly object[],
  form: 'json' | 'cbor',
): Promise<void> {
  const socket = await rig.socket('admin', { protocols: fuzz.chance(0.5) ? [BATCH_PROTOCOL] : [] })
  for (let i = 0; i < FRAMES && socket.ws.readyState === socket.ws.OPEN; i++) {
    const body = bodyOf(fuzz, calls, form)
    socket.ws.send(body, { binary: fuzz.chance(0.02) ? form === 'json' : form === 'cbor' })
  }
  await answered(socket)
  for (const { error } of socket.messages) if (error?.code === -32603) note(error)
  socket.terminate()
}

/** A last call that is right: what came before it has been looked at by then. */
async function answered(socket: RawSocket): Promise<void> {
  socket.send({ jsonrpc: '2.0', id: 'last', method: 'stats.get' })
  await socket.find(({ id }) => id === 'last').catch(() => socket.closed)
}

/** Neither HTTP nor WebSocket, or almost. */
async function overTcp(fuzz: Fuzz): Promise<void> {
  const socket = connect(rig.server.port, '127.0.0.1')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => undefined)
  socket.resume()
  if (fuzz.chance(0.5)) {
    const auth = `Authorization: Bearer ${rig.tokens.admin}`
    const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='
    const version = `Sec-WebSocket-Version: ${fuzz.pick(['13', '13', '13', '8', 'x'])}`
    socket.write(
      `GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${auth}\r\n${key}\r\n${version}\r\n\r\n`,
    )
  }
  socket.write(fuzz.bytes(2_000))
  socket.end(fuzz.bytes(100))
  await closed
}

function bodyOf(fuzz: Fuzz, calls: readonly object[], form: 'json' | 'cbor'): string | Uint8Array {
  if (fuzz.chance(0.1)) return fuzz.bytes(400)
  const message: unknown = fuzz.chance(0.15)
    ? Array.from({ length: fuzz.below(6) }, () => fuzz.pick(calls))
    : fuzz.pick(calls)
  const mutated = fuzz.chance(0.9) ? fuzz.mutated(message) : message
  const bytes = form === 'json' ? jsonBytes(mutated) : cborBytes(mutated)
  return fuzz.chance(0.3) ? fuzz.damaged(bytes) : bytes
}

function jsonBytes(message: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(message) ?? 'undefined')
}

/** Some values have no encoding: then their JSON is sent as if it were one. */
function cborBytes(message: unknown): Uint8Array {
  try {
    return encodeCbor(inCbor(message))
  } catch {
    return jsonBytes(message)
  }
}

/** After all that, a job goes its way. */
async function stillWorks(): Promise<void> {
  await rig.call('admin', 'policy.set', { policy: {} })
  const { pauses } = await rig.call('admin', 'queues.list', {})
  for (const { kind, name, caller } of pauses) {
    await rig.call('admin', 'queues.resume', {
      kind,
      ...(name === null ? {} : { name }),
      ...(caller === null ? {} : { caller }),
    })
  }
  const bench = await Bench.open(rig, { as: 'borea', workerId: 'last', slots: 1_000 })
  await rig.outcome('admin', 'aicf.setProviderStatus', {
    provider_id: 'provider:borea',
    status: 'ACTIVE',
  })
  const { task_id } = await rig.call('alice', 'aicf.enqueue', {
    kind: 'task',
    payload: { name: 'last-of-all', args: {} },
  })
  const { lease_id } = await bench.offered(task_id)
  await bench.call('aicf.ackLease', lease_id)
  await bench.call('aicf.completeLease', lease_id, { output: '0x' })
  expect((await rig.call('alice', 'aicf.getJob', { task_id })).status).toBe('COMPLETED')
}
