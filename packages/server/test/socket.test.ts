import { callerOf } from '@fairlead/core'
import { BATCH_PROTOCOL, BEARER_PROTOCOL_PREFIX, PLAIN_PROTOCOL } from '@fairlead/protocol'
import { afterEach, describe, expect, it } from 'vitest'
import { Bench } from './bench.ts'
import { RawSocket } from './raw-socket.ts'
import { AI, Rig, type RigOptions, TASK } from './rig.ts'

const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

let rig: Rig
async function open(options: RigOptions = {}): Promise<Rig> {
  rig = await Rig.open(options)
  return rig
}
afterEach(() => rig.close())

describe('a session by hand', () => {
  it('WS-1: enqueue, serve, listen and read over one socket, message by message', async () => {
    await open({ tokens: false })
    const socket = await rig.socket(null)
    socket.send('{"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"after_seq":0}}')
    socket.send(
      '{"jsonrpc":"2.0","id":2,"method":"aicf.pollLeases","params":[{"provider_id":"provider:me","worker_id":"w","slots":1,"kinds":["task"],"models":["hello"],"push":true}]}',
    )
    await socket.find(({ id }) => id === 2)
    socket.send(
      '{"jsonrpc":"2.0","id":3,"method":"aicf.enqueue","params":{"kind":"task","payload":{"name":"hello","args":{}}}}',
    )
    const offered = await socket.notification('leases.offered')
    const { leases } = offered.params as { leases: [{ lease_id: string; task_id: string }] }
    const [{ lease_id, task_id }] = leases
    socket.send(
      `{"jsonrpc":"2.0","id":4,"method":"aicf.ackLease","params":{"lease_id":"${lease_id}"}}`,
    )
    await socket.find(({ id }) => id === 4)
    socket.send(
      `{"jsonrpc":"2.0","id":5,"method":"aicf.completeLease","params":{"lease_id":"${lease_id}","output":"0x6869"}}`,
    )
    await socket.find(({ id }) => id === 5)
    socket.send(
      `{"jsonrpc":"2.0","id":6,"method":"aicf.getResult","params":{"task_id":"${task_id}"}}`,
    )
    const { result } = await socket.find(({ id }) => id === 6)
    expect(result).toMatchObject({ task_id, output: '0x6869' })
    const done = await socket.find(({ params: p }) =>
      JSON.stringify(p ?? {}).includes('jobCompleted'),
    )
    expect(done.method).toBe('events.notify')
    expect(socket.events.map(({ type }) => type)).toEqual([
      'providerRegistered',
      'workerConnected',
      'jobEnqueued',
      'jobAssigned',
      'jobStarted',
      'jobCompleted',
    ])
    expect(socket.frames.every((messages) => messages === 0)).toBe(true)
  })
})

describe('frames', () => {
  it('WS-2: a client that asks for it gets what is ready in one frame, and may send so', async () => {
    await open()
    const socket = await rig.socket('alice', { protocols: [BATCH_PROTOCOL] })
    expect(socket.ws.protocol).toBe(BATCH_PROTOCOL)
    const calls = Array.from({ length: 50 }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'aicf.enqueue',
      params: TASK,
    }))
    socket.send(calls)
    await Promise.all(calls.map(({ id }) => socket.find((message) => message.id === id)))
    expect(socket.messages).toHaveLength(50)
    expect(Math.max(...socket.frames)).toBeGreaterThan(1)
  })

  it('WS-2: in such a frame no call waits for another', async () => {
    await open()
    const socket = await rig.socket('atlas', { protocols: [BATCH_PROTOCOL] })
    socket.send([
      {
        jsonrpc: '2.0',
        id: 'poll',
        method: 'aicf.pollLeases',
        params: { worker_id: 'w', slots: 1, kinds: ['task'], wait_ms: 30_000 },
      },
      { jsonrpc: '2.0', id: 'list', method: 'aicf.listProviders', params: {} },
    ])
    await socket.find(({ id }) => id === 'list')
    expect(socket.messages.some(({ id }) => id === 'poll')).toBe(false)
  })

  it('WS-2: others may say that they are plain, and a token may come as a subprotocol', async () => {
    await open()
    const protocols = [PLAIN_PROTOCOL, `${BEARER_PROTOCOL_PREFIX}${rig.tokens.alice}`]
    const socket = await rig.socket(null, { protocols })
    expect(socket.ws.protocol).toBe(PLAIN_PROTOCOL)
    expect(await socket.call('aicf.listJobs', {})).toEqual({ jobs: [], cursor: null })
  })
})

describe('who may connect', () => {
  const statusOf = async (headers: Record<string, string>, path = '/ws'): Promise<string> => {
    const socket = new RawSocket(`${rig.server.url.replace('http', 'ws')}${path}`, {
      protocols: [],
      headers,
    })
    const error: unknown = await socket.opened.catch((thrown: unknown) => thrown)
    return (error as Error).message
  }

  it('AUTH-1: not without a right token', async () => {
    await open()
    expect(await statusOf({})).toContain('401')
    expect(await statusOf({ authorization: 'Bearer flt_000000000000_x' })).toContain('401')
    expect(await statusOf(rig.authorization('alice'), '/elsewhere')).toContain('404')
  })

  it('WS-4: a page of another origin only if it was named', async () => {
    await open({ origins: ['https://ops.example'] })
    const own = { ...rig.authorization('alice') }
    expect(await statusOf({ ...own, origin: 'https://evil.example' })).toContain('403')
    for (const origin of ['https://ops.example', rig.server.url]) {
      const socket = await rig.socket('alice', { headers: { origin } })
      expect(await socket.call('aicf.listJobs', {})).toBeDefined()
    }
  })

  it('AUTH-3: a socket ends with its token', async () => {
    await open({ limits: { pingMs: 300 } })
    const socket = await rig.socket('alice')
    const [id] = rig.tokenFile
      .list()
      .filter(({ subject }) => subject === 'alice')
      .map((one) => one.id)
    rig.tokenFile.revoke(id as string)
    expect(await socket.closed).toEqual({
      code: 4001,
      reason: 'the token was revoked or has expired',
    })
  })
})

describe('events', () => {
  it('WS-3: old ones and then new ones, without a gap or a repeat, while others are busy', async () => {
    await open()
    const flood = async (count: number) => {
      await Promise.all(
        Array.from({ length: count }, () => rig.call('alice', 'aicf.enqueue', TASK)),
      )
    }
    await flood(300)
    const busy = flood(300)
    const socket = await rig.socket('operator')
    await socket.call('events.subscribe', { after_seq: 10 })
    await busy
    await socket.until(600)
    expect(socket.events.map(({ seq }) => seq)).toEqual(
      Array.from({ length: 590 }, (_, i) => i + 11),
    )
  })

  it('WS-3: a reader that comes back goes on behind the last that it has seen', async () => {
    await open()
    const seen: number[] = []
    let writes: Promise<unknown>[] = []
    for (let round = 0; round < 5; round++) {
      const socket = await rig.socket('operator')
      await socket.call('events.subscribe', { after_seq: seen.at(-1) ?? 0 })
      writes = Array.from({ length: 40 }, () => rig.call('alice', 'aicf.enqueue', TASK))
      await socket.until((seen.at(-1) ?? 0) + 20)
      socket.terminate()
      seen.push(...socket.events.map(({ seq }) => seq))
      await Promise.all(writes)
    }
    expect(seen).toEqual(seen.map((_, i) => i + 1))
  })

  it('WS-3: by topic, from now on, until it is ended', async () => {
    await open()
    await rig.call('alice', 'aicf.enqueue', TASK)
    const socket = await rig.socket('operator')
    const { subscription_id, seq } = await socket.call('events.subscribe', {
      topics: ['jobCanceled'],
    })
    expect(seq).toBe(1)
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    await rig.call('alice', 'aicf.cancelJob', { task_id })
    await socket.until(3)
    expect(socket.events).toMatchObject([{ type: 'jobCanceled', jobId: task_id, seq: 3 }])
    expect(await socket.call('events.unsubscribe', { subscription_id })).toEqual({ removed: true })
    expect(await socket.call('events.unsubscribe', { subscription_id })).toEqual({ removed: false })
    await expect(socket.call('events.subscribe', { after_seq: 99 })).rejects.toMatchObject({
      code: 'InvalidParams',
      details: { field: 'after_seq' },
    })
    await expect(socket.call('events.subscribe', { topics: ['odd'] })).rejects.toMatchObject({
      code: 'InvalidParams',
    })
  })

  it('AUTH-4: a requester hears of its own jobs, a provider of its own leases', async () => {
    await open()
    const alice = await rig.socket('alice')
    const borea = await rig.socket('borea')
    for (const socket of [alice, borea]) await socket.call('events.subscribe', { after_seq: 0 })
    const bench = await Bench.open(rig)
    const jobs = []
    for (const person of ['alice', 'bob', 'alice'] as const) {
      const { task_id } = await rig.call(person, 'aicf.enqueue', TASK)
      const { lease_id } = await bench.offered(task_id)
      await bench.call('aicf.ackLease', lease_id)
      await bench.call('aicf.renewLease', lease_id)
      await bench.call('aicf.completeLease', lease_id, { output: '0x' })
      jobs.push({ task_id, lease_id })
    }
    const last = (
      await rig.call('alice', 'aicf.getTimeline', { task_id: jobs[2]?.task_id as string })
    ).entries.at(-1)
    await alice.until(last?.seq as number)
    const types = ['jobEnqueued', 'jobAssigned', 'jobStarted', 'leaseRenewed', 'jobCompleted']
    expect(alice.events.map(({ type }) => type)).toEqual([...types, ...types])
    expect(JSON.stringify(alice.events)).not.toContain(jobs[1]?.task_id)
    // The same once all of it is old, and read from the store.
    const later = await rig.socket('alice')
    await later.call('events.subscribe', { after_seq: 0 })
    await later.until(last?.seq as number)
    expect(later.events).toEqual(alice.events)
    const atlas = await rig.socket('atlas')
    await atlas.call('events.subscribe', { after_seq: 0 })
    await atlas.until(last?.seq as number)
    expect(atlas.events.map(({ type }) => type)).not.toContain('jobEnqueued')
    expect(atlas.events.filter(({ type }) => type === 'jobCompleted')).toHaveLength(3)
    expect(borea.events).toEqual([])
  })

  it('WS-5: a reader that takes nothing is cut off with a reason, and holds up nobody', async () => {
    let isCut = false
    const warn = (_: object, text: string) => {
      isCut ||= text === 'a socket was cut off'
    }
    // Long enough for the quick one, also where the machine is busy.
    await open({ limits: { stallMs: 600 }, logger: { ...QUIET, warn } })
    const slow = await rig.socket('operator')
    await slow.call('events.subscribe', { after_seq: 0 })
    slow.ws.pause()
    const quick = await rig.socket('operator')
    await quick.call('events.subscribe', { after_seq: 0 })
    // More than the buffers of the system take, so that it really has to wait.
    const jobs = Array.from({ length: 500 }, () => TASK)
    let count = 0
    for (; !isCut && count < 200_000; count += jobs.length) {
      await rig.engine.enqueueMany(jobs, { caller: callerOf('alice') })
    }
    slow.ws.resume()
    const { code, reason } = await slow.closed
    expect({ code, reason }).toEqual({ code: 4008, reason: 'too slow: nothing was taken for 1 s' })
    await quick.until(count)
    expect(quick.events).toHaveLength(count)
  })

  it('WS-5: a socket has so many subscriptions and no more', async () => {
    await open({ limits: { subscriptionsPerSocket: 2 } })
    const socket = await rig.socket('operator')
    await socket.call('events.subscribe', {})
    await socket.call('events.subscribe', {})
    await expect(socket.call('events.subscribe', {})).rejects.toMatchObject({
      code: 'LimitExceeded',
    })
  })
})

describe('workers', () => {
  it('WS-6: one that comes back goes on with its leases, and disowns what it does not name', async () => {
    await open()
    const first = await Bench.open(rig)
    const ids = []
    for (const job of [AI, TASK]) {
      const { task_id } = await rig.call('alice', 'aicf.enqueue', job)
      const { lease_id } = await first.offered(task_id)
      await first.call('aicf.ackLease', lease_id)
      ids.push({ task_id, lease_id })
    }
    const [kept, dropped] = ids as [(typeof ids)[0], (typeof ids)[0]]
    first.socket.terminate()
    const second = await Bench.open(rig, { holds: [kept.lease_id] })
    const held = await second.socket.notification('leases.held')
    expect(held.params?.['leases']).toMatchObject([{ lease_id: kept.lease_id }])
    expect((await second.offered(dropped.task_id, 1)).lease_id).not.toBe(dropped.lease_id)
    await second.call('aicf.completeLease', kept.lease_id, { output: '0x' })
  })

  it('WS-6: what was not acked goes to another worker of the same provider', async () => {
    await open()
    const one = await Bench.open(rig, { workerId: 'w-1', slots: 1 })
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const { lease_id } = await one.offered(task_id)
    const two = await Bench.open(rig, { workerId: 'w-2', slots: 1 })
    one.socket.terminate()
    expect((await two.offered(task_id)).lease_id).toBe(lease_id)
    await two.call('aicf.ackLease', lease_id)
  })

  it('WS-6: a second session takes the place of the first, which is told so', async () => {
    await open()
    const first = await Bench.open(rig)
    await Bench.open(rig)
    const { params } = await first.socket.notification('leases.closed')
    expect(params).toMatchObject({
      worker_id: 'w-1',
      error: { code: 'InvalidState', retryable: false },
    })
  })

  it('WS-6: a worker is told when its work is wanted no more', async () => {
    await open()
    const bench = await Bench.open(rig)
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const { lease_id } = await bench.offered(task_id)
    await bench.call('aicf.ackLease', lease_id)
    await rig.call('alice', 'aicf.cancelJob', { task_id })
    const { params } = await bench.socket.notification('leases.lost')
    expect(params?.['leases']).toEqual([{ lease_id, reason: 'job_ended' }])
  })

  it('WS-6: work of more than 1 MiB comes in parts, and cuts off nobody', async () => {
    const policy = { queue: { ack_timeout_ms: 50_000, quotas: { leases_max_per_provider: 1_000 } } }
    await open({ policy, limits: { unsentBytes: 4 * 1_024 * 1_024 } })
    const bench = await Bench.open(rig, { slots: 1_000 })
    const prompt = `0x${'61'.repeat(60_000)}`
    const job = { kind: 'ai', payload: { model: 'llama3-8b', prompt, max_tokens: 1 } }
    const jobs = Array.from({ length: 100 }, () => job)
    const enqueued = await rig.engine.enqueueMany(jobs, { caller: callerOf('alice') })
    for (const each of enqueued) await bench.offered((each as { value: string }).value)
    await bench.socket.call('aicf.heartbeat', { worker_id: 'w-1', slots: 0 })
    const parts = bench.socket.messages.filter(({ method }) => method === 'leases.offered')
    const most = Math.max(...parts.map(({ params }) => ((params?.['leases'] ?? []) as []).length))
    expect(most).toBe(Math.floor(1_048_576 / 60_060))
  })

  it('WS-6: slots change by a heartbeat of the connected worker', async () => {
    await open()
    const bench = await Bench.open(rig, { slots: 1 })
    await bench.socket.call('aicf.heartbeat', { worker_id: 'w-1', slots: 0 })
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    expect((await rig.call('alice', 'aicf.getJob', { task_id })).status).toBe('QUEUED')
    await bench.socket.call('aicf.heartbeat', { worker_id: 'w-1', slots: 1 })
    await bench.offered(task_id)
    await expect(
      bench.socket.call('aicf.heartbeat', { worker_id: 'w-7', slots: 1 }),
    ).rejects.toMatchObject({ code: 'InvalidState' })
    expect(await rig.outcome('atlas', 'aicf.heartbeat', { worker_id: 'w-1', slots: 1 })).toBe(
      'InvalidState',
    )
  })

  it('WS-1: a socket that does not answer pings is cut off, and its worker has left', async () => {
    await open({ limits: { pingMs: 30 } })
    const bench = await Bench.open(rig)
    bench.socket.ws.pause()
    const watcher = await rig.socket('operator')
    await watcher.call('events.subscribe', { topics: ['workerLeft'], after_seq: 0 })
    await watcher.find(({ method }) => method === 'events.notify')
    expect(watcher.events).toMatchObject([{ type: 'workerLeft', workerId: 'w-1' }])
    bench.socket.ws.resume()
    expect(await bench.socket.closed).toEqual({
      code: 4008,
      reason: 'too slow: 2 pings were not answered',
    })
  })
})
