import { connect } from 'node:net'
import { Writable } from 'node:stream'
import { createLogger } from '@fairlead/server'
import parsePrometheus from 'parse-prometheus-text-format'
import { afterEach, describe, expect, it } from 'vitest'
import { Bench } from './bench.ts'
import { AI, Rig, type RigOptions, TASK } from './rig.ts'

let rig: Rig
async function open(options: RigOptions = {}): Promise<void> {
  rig = await Rig.open(options)
}
afterEach(() => rig.close())

/** A logger, and the lines that it has written. */
function logged() {
  const lines: string[] = []
  const to = new Writable({
    write(chunk, _, done) {
      lines.push(...String(chunk).trim().split('\n'))
      done()
    },
  })
  return { lines, logger: createLogger({ level: 'debug', to }) }
}

describe('limits', () => {
  it('LIMITS-1: a body has so many bytes', async () => {
    await open({ limits: { bodyBytes: 1_000 } })
    const params = { name: 'x', args: { text: 'y'.repeat(2_000) } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'aicf.enqueue', params })
    expect((await rig.raw('alice', body)).status).toBe(413)
    // The same without saying how long it is.
    const stream = new Blob([body]).stream()
    const response = await fetch(`${rig.server.url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...rig.authorization('alice') },
      body: stream,
      duplex: 'half',
    } as RequestInit).catch(() => null)
    expect(response === null || response.status === 413).toBe(true)
    const socket = await rig.socket('alice')
    socket.send(body)
    expect((await socket.closed).code).toBe(1009)
  })

  it('LIMITS-1: a batch has so many calls', async () => {
    await open({ limits: { batchCalls: 10 } })
    const calls = Array.from({ length: 11 }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'aicf.listJobs',
    }))
    const { body } = await rig.post('alice', calls)
    expect(body).toMatchObject({
      id: null,
      error: {
        data: { code: 'LimitExceeded', details: { limit: 'batch', max: 10, observed: 11 } },
      },
    })
    expect((await rig.post('alice', calls.slice(1))).body).toHaveLength(10)
  })

  it('LIMITS-1: a server has so many sockets', async () => {
    await open({ limits: { sockets: 2 } })
    await rig.socket('alice')
    await rig.socket('alice')
    await expect(rig.socket('alice')).rejects.toThrow('503')
  })

  it('LIMITS-2: who sends its headers too slowly is cut off', async () => {
    await open({ limits: { headersTimeoutMs: 100, requestTimeoutMs: 100 } })
    const socket = connect(rig.server.port, '127.0.0.1')
    let answer = ''
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text
    })
    socket.write('POST /rpc HTTP/1.1\r\nHost: localhost\r\n')
    await new Promise((resolve) => socket.once('close', resolve))
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d .+\r\nConnection: close\r\n/)
    expect((await rig.get('/livez')).status).toBe(200)
  })

  it('LIMITS-1: a socket that has too many calls open is not read, and none is lost', async () => {
    await open({ limits: { callsPerSocket: 4 } })
    const socket = await rig.socket('alice')
    const calls = Array.from({ length: 200 }, () => socket.call('aicf.enqueue', TASK))
    expect(new Set((await Promise.all(calls)).map(({ task_id }) => task_id)).size).toBe(200)
  })
})

describe('operations', () => {
  it('METRICS-1: are read by a parser, follow the naming rules, and have no ids in labels', async () => {
    await open()
    const bench = await Bench.open(rig)
    for (const job of [AI, TASK]) {
      const { task_id } = await rig.call('alice', 'aicf.enqueue', job)
      const { lease_id } = await bench.offered(task_id)
      await bench.call('aicf.ackLease', lease_id)
      await bench.call('aicf.completeLease', lease_id, { output: '0x' })
    }
    await rig.outcome('alice', 'aicf.getJob', { task_id: 'x' })
    await rig.post('alice', { jsonrpc: '2.0', id: 1, method: 'made.up' })
    const response = await rig.get('/metrics', 'auditor')
    expect(response.headers.get('content-type')).toContain('text/plain')
    const metrics = parsePrometheus(await response.text())
    const own = metrics.filter(({ name }) => name.startsWith('fairlead_'))
    const names = own.map(({ name }) => name)
    expect(names).toEqual(
      expect.arrayContaining([
        'fairlead_queue_jobs',
        'fairlead_queue_oldest_wait_seconds',
        'fairlead_jobs_assigned_total',
        'fairlead_jobs_completed_total',
        'fairlead_jobs_requeued_total',
        'fairlead_jobs_expired_total',
        'fairlead_lease_duration_seconds',
        'fairlead_enqueue_to_assign_seconds',
        'fairlead_assign_to_complete_seconds',
        'fairlead_append_bytes',
        'fairlead_append_duration_seconds',
        'fairlead_engine_loop_lag_seconds',
        'fairlead_providers',
        'fairlead_provider_health_min_ratio',
        'fairlead_websocket_connections',
        'fairlead_rpc_requests_total',
        'fairlead_fairness_jain_ratio',
      ]),
    )
    for (const { name, type, help, metrics: samples } of own) {
      expect(name).toMatch(/^[a-z][a-z0-9_]*$/)
      expect(help).not.toBe('')
      expect(name.endsWith('_total'), name).toBe(type === 'COUNTER')
      if (type === 'HISTOGRAM') expect(name, name).toMatch(/_(?:seconds|bytes)$/)
      expect(JSON.stringify(samples)).not.toMatch(/0x[0-9a-f]{8}|provider:|made\.up|alice/)
    }
    const of = (name: string) => own.find((metric) => metric.name === name)?.metrics
    expect(of('fairlead_jobs_completed_total')).toEqual(
      expect.arrayContaining([{ value: '1', labels: { kind: 'ai' } }]),
    )
    expect(of('fairlead_rpc_requests_total')).toEqual(
      expect.arrayContaining([
        { value: '1', labels: { method: 'aicf.getJob', code: 'InvalidParams' } },
        { value: '1', labels: { method: 'unknown', code: 'MethodNotFound' } },
      ]),
    )
    expect((await rig.get('/metrics')).status).toBe(401)
    expect((await rig.get('/metrics', 'alice')).status).toBe(403)
  })

  it('READY-1: is alive, and ready until the store refuses writes; and again afterwards', async () => {
    const { lines, logger } = logged()
    await open({ logger })
    expect((await rig.get('/livez')).status).toBe(200)
    expect((await rig.get('/readyz')).status).toBe(200)
    rig.store.fate = () => 'fails'
    expect(await rig.outcome('alice', 'aicf.enqueue', TASK)).toBe('StoreUnavailable')
    const ready = await rig.get('/readyz')
    expect([ready.status, await ready.text()]).toEqual([503, 'the store refuses writes\n'])
    expect((await rig.get('/livez')).status).toBe(200)
    rig.store.fate = () => 'ok'
    expect(await rig.outcome('alice', 'aicf.enqueue', TASK)).toBe('ok')
    expect((await rig.get('/readyz')).status).toBe(200)
    const said = lines.map((line) => JSON.parse(line)).filter(({ msg }) => /store/.test(msg))
    expect(said).toMatchObject([
      { level: 'error', msg: 'the store refuses writes', err: { message: expect.any(String) } },
      { level: 'warn', msg: 'the store takes writes again' },
    ])
  })

  it('READY-1: is not ready while the event loop lags', async () => {
    await open({ limits: { lagMs: 200 } })
    const until = performance.now() + 600
    while (performance.now() < until);
    const ready = await rig.get('/readyz')
    expect([ready.status, await ready.text()]).toEqual([503, 'the event loop lags\n'])
  })

  it('LIMITS-3: beyond its connections a server answers probes, and nothing else', async () => {
    await open({ limits: { connections: 1 } })
    const socket = await rig.socket('alice')
    expect((await rig.get('/livez')).status).toBe(200)
    expect((await rig.get('/readyz')).status).toBe(200)
    expect((await rig.raw('alice', '{}')).status).toBe(503)
    expect((await rig.get('/openrpc.json')).status).toBe(503)
    expect(await socket.call('aicf.listJobs', {})).toMatchObject({ jobs: [] })
  })

  it('LOG-1: logs are JSON lines without secrets, with the id of the request', async () => {
    const { lines, logger } = logged()
    await open({ logger })
    logger.info(
      { token: rig.tokens.alice, headers: { authorization: 'x' }, payload: { a: 1 } },
      'leak',
    )
    await rig.raw(null, '{}')
    const response = await rig.raw('alice', '{}', 'application/json', { 'x-request-id': 'mine-17' })
    expect(response.headers.get('x-request-id')).toBe('mine-17')
    const other = await rig.raw('alice', '{}', 'application/json', { 'x-request-id': 'no good' })
    expect(other.headers.get('x-request-id')).toMatch(/^[\w-]+$/)
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty('msg')
    const all = lines.join('\n')
    expect(all).toContain('access refused')
    expect(all).not.toContain(rig.tokens.alice)
    expect(all).toContain('"token":"[redacted]"')
  })
})

describe('attempts that fail', () => {
  it('METRICS-1: are counted by codes of a fixed list, and all others as other', async () => {
    const patient = { queue: { ack_timeout_ms: 30_000, retries: { worker_lost_max: 1 } } }
    await open({ policy: patient })
    const counts = async () => {
      const response = await rig.get('/metrics', 'auditor')
      const metrics = parsePrometheus(await response.text())
      const own = metrics.find(({ name }) => name === 'fairlead_attempt_failures_total')
      return Object.fromEntries(
        (own?.metrics ?? []).map(({ labels, value }) => [labels?.['code'], Number(value)]),
      )
    }
    const bench = await Bench.open(rig)
    const work = async () => {
      const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
      return bench.offered(task_id)
    }
    for (const code of ['timeout', 'timeout', 'made-up-17', 'alice', undefined]) {
      const { lease_id } = await work()
      await bench.call('aicf.failLease', lease_id, code === undefined ? {} : { code })
    }
    expect(await counts()).toEqual({ timeout: 2, other: 2, error: 1 })
    const watcher = await rig.socket('operator')
    await watcher.call('events.subscribe', { topics: ['leaseCancelled', 'jobFailed'] })
    await rig.call('admin', 'policy.set', {
      policy: { queue: { ...patient.queue, ack_timeout_ms: 100 } },
    })
    await work()
    await watcher.find(({ params }) => JSON.stringify(params ?? '').includes('ack_timeout'))
    await rig.call('admin', 'policy.set', { policy: patient })
    const { lease_id } = await work()
    await bench.call('aicf.ackLease', lease_id)
    // The same worker comes back without its lease.
    await Bench.open(rig, { holds: [] })
    await watcher.find(({ params }) => JSON.stringify(params ?? '').includes('jobFailed'))
    expect(await counts()).toEqual({
      timeout: 2,
      other: 2,
      error: 1,
      ack_timeout: 1,
      worker_lost: 1,
    })
  })

  it('METRICS-1: a lease that reached its deadline is one of them, also as the last retry', async () => {
    const queue = { ack_timeout_ms: 2_900, lease: { task_secs: 3, renewals_max: 0 } }
    await open({ policy: { queue: { ...queue, retries: { attempt_max: 1 } } } })
    const bench = await Bench.open(rig)
    const watcher = await rig.socket('operator')
    await watcher.call('events.subscribe', { topics: ['jobExpired'] })
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const { lease_id } = await bench.offered(task_id)
    await bench.call('aicf.ackLease', lease_id)
    await watcher.find(({ params }) => JSON.stringify(params ?? '').includes('jobExpired'))
    const text = await (await rig.get('/metrics', 'auditor')).text()
    expect(text).toContain('fairlead_attempt_failures_total{code="lease_expired"} 1')
  })
})

describe('shutting down', () => {
  it('CLOSE-1: answers what was asked, tells workers, and is gone', async () => {
    await open()
    const bench = await Bench.open(rig)
    const polled = rig.call('borea', 'aicf.pollLeases', {
      worker_id: 'w',
      slots: 1,
      kinds: ['task'],
    })
    const asked = Array.from({ length: 20 }, () => bench.socket.call('aicf.heartbeat', {}))
    // The poll is open once its worker is connected.
    const watcher = await rig.socket('operator')
    await watcher.call('events.subscribe', { after_seq: 0, topics: ['workerConnected'] })
    await watcher.find(({ params }) => JSON.stringify(params ?? '').includes('provider:borea'))
    const closing = rig.server.close(5_000)
    expect((await polled).leases).toEqual([])
    await Promise.all(asked)
    await bench.socket.notification('server.closing')
    expect((await bench.socket.closed).code).toBe(1001)
    await closing
    await expect(rig.get('/livez')).rejects.toThrow()
    const left = (await rig.engine.view.read.journal(0, 100)).filter(
      ({ action }) => action === 'workerLeft',
    )
    expect(left.map(({ subject }) => subject).sort()).toEqual(['provider:atlas', 'provider:borea'])
  })

  it('CLOSE-1: by its deadline at the latest', async () => {
    await open()
    const socket = await rig.socket('alice')
    await socket.call('aicf.listJobs', {})
    // It takes nothing any more, not even the farewell.
    socket.ws.pause()
    const idle = connect(rig.server.port, '127.0.0.1')
    idle.on('error', () => undefined)
    await new Promise((resolve) => idle.once('connect', resolve))
    const isCut = new Promise((resolve) => idle.once('close', resolve))
    await rig.server.close(200)
    await isCut
    socket.ws.resume()
    // The farewell may have reached it before the cut.
    expect([1001, 1006]).toContain((await socket.closed).code)
    await expect(rig.get('/livez')).rejects.toThrow()
  })
})
