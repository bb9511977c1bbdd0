import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { FairleadError } from '@fairlead/core'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { connect, type Job, type StandardSchema, WireLeaseSource, worker } from '../src/index.ts'
import { ServerRig } from './server-rig.ts'

let rig: ServerRig
afterEach(() => rig.close())

/** A handler that the test lets go on, and what it was given. */
class Gate {
  readonly begun: Promise<Job<'task'>>
  #tell: (job: Job<'task'>) => void = () => {}
  #open: (result: string) => void = () => {}

  constructor() {
    this.begun = new Promise((resolve) => {
      this.#tell = resolve
    })
  }

  readonly handler = (job: Job<'task'>): Promise<string> => {
    this.#tell(job)
    return new Promise((resolve) => {
      this.#open = resolve
    })
  }

  finish(result: string): void {
    this.#open(result)
  }
}

function aborted(signal: AbortSignal): Promise<FairleadError> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true })
    if (signal.aborted) resolve(signal.reason)
  })
}

describe('a worker over the wire', () => {
  beforeEach(async () => {
    rig = await ServerRig.open()
  })

  it('WORKER-9: registers its provider, and says what it takes when it comes with something else', async () => {
    const first = rig.worker(() => 'x', { models: ['a'] })
    const provider = async () =>
      (await rig.client.call('aicf.getProvider', { provider_id: 'provider:atlas' })).provider
    await rig.connected()
    expect(await provider()).toMatchObject({ kinds: ['task'], models: ['a'], lease_cap: 2 })
    await first.stop()
    rig.worker(() => 'x', { models: ['b', 'c'], concurrency: 5 })
    await rig.connected()
    expect(await provider()).toMatchObject({ models: ['b', 'c'], lease_cap: 5 })
  })

  it('WORKER-9: tells that it is connected, and after a cut that it is again', async () => {
    const told: string[] = []
    let heard = (): void => {}
    const tell = (word: string): void => {
      if (word !== told.at(-1)) told.push(word)
      heard()
    }
    const hears = async (word: string): Promise<void> => {
      while (told.at(-1) !== word) await new Promise<void>((resolve) => (heard = resolve))
    }
    rig.line.isDown = true
    rig.worker(() => 'x', {
      onConnected: () => {
        tell('connected')
        throw new Error('of its listener')
      },
      onError: (error) => tell(error instanceof FairleadError ? 'lost' : 'thrown'),
    })
    await hears('lost')
    rig.line.isDown = false
    await hears('thrown')
    rig.line.cut()
    await hears('lost')
    await hears('thrown')
    const once = ['lost', 'connected', 'thrown']
    expect(told).toEqual([...once, ...once])
  })

  it('carries the trace context of the requester to the handler', async () => {
    const seen: (string | null)[] = []
    rig.worker((job) => {
      seen.push(job.traceparent)
      return 'x'
    })
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const payload = { name: 'traced', args: {} }
    const { task_id } = await rig.client.enqueue({ kind: 'task', payload, traceparent })
    await rig.client.waitForResult(task_id)
    await rig.client.waitForResult(await rig.enqueue(1))
    expect(seen).toEqual([expect.stringContaining('0af7651916cd43dd8448eb211c80319c'), null])
  })

  it('WORKER-4: takes its leases up again when the line was cut, and nobody is charged', async () => {
    const gate = new Gate()
    rig.worker(gate.handler)
    const taskId = await rig.enqueue(1)
    const job = await gate.begun
    rig.line.cut()
    await rig.line.nextConnection()
    gate.finish('after the cut')
    expect((await rig.client.waitForResult(taskId)).text).toBe('after the cut')
    expect(job.signal.aborted).toBe(false)
    // Its ack may have been cut off with the line, and the completion stands for it then.
    const story = (await rig.story(taskId)).filter((action) => action !== 'jobStarted')
    expect(story).toEqual(['jobEnqueued', 'jobAssigned', 'jobCompleted'])
  })

  it('WORKER-8: reports what was finished while the line was down, once it is up again', async () => {
    const gate = new Gate()
    rig.worker(gate.handler)
    const taskId = await rig.enqueue(1)
    await gate.begun
    rig.line.isDown = true
    rig.line.cut()
    gate.finish('in the dark')
    rig.line.isDown = false
    expect((await rig.client.waitForResult(taskId)).text).toBe('in the dark')
    expect((await rig.client.getJob(taskId)).job).toMatchObject({ attempt: 0, retries: 0 })
  })

  it('WORKER-8: stops a handler whose job was cancelled', async () => {
    const gate = new Gate()
    rig.worker(gate.handler)
    const taskId = await rig.enqueue(1)
    const { signal } = await gate.begun
    const reason = aborted(signal)
    await rig.client.cancel(taskId)
    expect(await reason).toMatchObject({ code: 'LeaseNotLive', details: { reason: 'job_ended' } })
  })

  it('WORKER-8: a result that is too long to be sent fails its lease, and the line stays up', async () => {
    const troubles: string[] = []
    rig.worker(() => 'x'.repeat(1_200_000), {
      onError: (error) => troubles.push((error as FairleadError).code),
    })
    const taskId = await rig.enqueue(1)
    await rig.happened('jobRequeued', taskId)
    const { entries } = await rig.client.call('aicf.getTimeline', { task_id: taskId })
    expect(entries.at(-1)).toMatchObject({
      action: 'jobRequeued',
      details: { reason: 'PROVIDER_FAIL' },
    })
    expect(troubles).toEqual(['LimitExceeded'])
    const all = await rig.client.call('audit.list', {})
    expect(all.entries.map(({ action }) => action)).not.toContain('workerLeft')
  })

  it('LIMITS-1: of a server that takes less, calls get through and the one that is too long is refused', async () => {
    const narrow = await ServerRig.open({}, { limits: { bodyBytes: 4_096 } })
    onTestFinished(() => narrow.close())
    const enqueue = (n: number, text = '') =>
      narrow.client.enqueue({ kind: 'task', payload: { name: 'echo', args: { n, text } } })
    // In one frame they are too long, alone they are not.
    const receipts = await Promise.all(Array.from({ length: 60 }, (_, n) => enqueue(n)))
    expect(new Set(receipts.map(({ task_id }) => task_id)).size).toBe(60)
    const [tooLong, other] = await Promise.allSettled([enqueue(60, 'x'.repeat(5_000)), enqueue(61)])
    expect(tooLong).toMatchObject({
      status: 'rejected',
      reason: { code: 'LimitExceeded', details: { limit: 'message' } },
    })
    expect(other.status).toBe('fulfilled')
  })

  it('LIMITS-1: a call that is too long is refused before it is sent', async () => {
    const args = { text: 'x'.repeat(2_100_000) }
    await expect(
      rig.client.enqueue({ kind: 'task', payload: { name: 'echo', args } }),
    ).rejects.toMatchObject({ code: 'LimitExceeded', details: { limit: 'message' } })
  })

  it('WORKER-13: declines what it does not accept, and another provider gets it', async () => {
    const declined: string[] = []
    rig.worker(() => 'never', { accepts: (job) => declined.push(job.jobId) < 0 })
    const taskId = await rig.enqueue(1)
    await rig.happened('jobRequeued', taskId)
    rig.worker(() => 'here', { providerId: 'provider:borea' })
    expect((await rig.client.waitForResult(taskId)).text).toBe('here')
    expect(declined).toEqual([taskId])
  })

  it('WORKER-10: a second worker under the same id takes the place of the first, which ends', async () => {
    const first = rig.worker(() => 'first', { workerId: 'w-1' })
    await rig.connected()
    rig.worker(() => 'second', { workerId: 'w-1' })
    await expect(first.closed).rejects.toMatchObject({ code: 'InvalidState' })
    expect((await rig.client.waitForResult(await rig.enqueue(1))).text).toBe('second')
  })

  it('WORKER-11: stops by finishing what it has begun, and gives back what it has not', async () => {
    const gate = new Gate()
    const worker = rig.worker(gate.handler, { concurrency: 1 })
    const taskId = await rig.enqueue(1)
    await gate.begun
    const stopped = worker.stop()
    const later = await rig.enqueue(2)
    gate.finish('done')
    await stopped
    expect((await rig.client.getJob(taskId)).status).toBe('COMPLETED')
    expect((await rig.client.getJob(later)).status).toBe('QUEUED')
  })

  it('gives results that fit a schema, and requesters read them by it', async () => {
    const worker = rig.client.worker({
      providerId: 'provider:sums',
      kinds: ['task'],
      concurrency: 1,
      drainMs: null,
      result: totals,
      handler: ({ payload }) => ({ total: Number(payload.args['n']) + 1 }),
    })
    const taskId = await rig.enqueue(41)
    const { value } = await rig.client.waitForResult(taskId, { schema: totals })
    expect(value.total).toBe(42)
    const odd: StandardSchema<unknown, string> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () => ({ issues: [{ message: 'no' }] }),
      },
    }
    await expect(rig.client.readResult(taskId, { schema: odd })).rejects.toThrow('does not fit')
    await worker.stop()
  })
})

describe('leases over the wire', () => {
  it('WORKER-8: are renewed before renew_by while the handler runs', async () => {
    rig = await ServerRig.open({ queue: { ack_timeout_ms: 500, lease: { task_secs: 1 } } })
    const gate = new Gate()
    rig.worker(gate.handler)
    const taskId = await rig.enqueue(1)
    const { signal } = await gate.begun
    // A lease of one second that was renewed is alive after the second.
    await rig.happened('leaseRenewed')
    await rig.happened('leaseRenewed')
    expect(signal.aborted).toBe(false)
    gate.finish('long work')
    expect((await rig.client.waitForResult(taskId)).text).toBe('long work')
  })

  it('WORKER-8: end at their deadline for the worker as for the server, also on a dead line', async () => {
    const lease = { task_secs: 1, renewals_max: 0 }
    rig = await ServerRig.open({ queue: { ack_timeout_ms: 500, lease } })
    const gate = new Gate()
    rig.worker(gate.handler)
    const taskId = await rig.enqueue(1)
    const { signal } = await gate.begun
    rig.line.isDown = true
    rig.line.cut()
    expect(await aborted(signal)).toMatchObject({ details: { reason: 'deadline' } })
    rig.line.isDown = false
    await rig.happened('jobRequeued', taskId)
    gate.finish('too late')
    expect((await rig.client.getJob(taskId)).job.retries).toBe(1)
  })
})

describe('a line that went silent', () => {
  it('WORKER-9: is given up for another, though nobody has closed it', async () => {
    rig = await ServerRig.open({}, { limits: { pingMs: 200 } })
    const url = `${rig.line.url.replace('http', 'ws')}/ws`
    const gate = new Gate()
    const serving = worker({
      source: new WireLeaseSource({ url, patienceMs: 1_000 }),
      providerId: 'provider:silent',
      kinds: ['task'],
      concurrency: 1,
      handler: gate.handler,
      onError: () => {},
    })
    const taskId = await rig.enqueue(1)
    await gate.begun
    const again = rig.line.nextConnection()
    rig.line.freeze()
    await again
    gate.finish('heard again')
    const other = connect(rig.line.url)
    expect((await other.waitForResult(taskId)).text).toBe('heard again')
    await serving.stop()
    await other.close()
  })
})

describe('a worker process', () => {
  it('WORKER-11: drains all its workers on SIGTERM, and then ends by that signal', async () => {
    rig = await ServerRig.open()
    const program = join(import.meta.dirname, 'worker-process.mjs')
    const child = spawn(process.execPath, [program, rig.line.url], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: child.stdout })
    const ended = once(child, 'exit')
    const begun = new Promise<void>((resolve) => {
      let count = 0
      lines.on('line', () => ++count === 2 && resolve())
    })
    const ids = [await rig.enqueue(100), await rig.enqueue(600)]
    await begun
    child.kill('SIGTERM')
    expect(await ended).toEqual([null, 'SIGTERM'])
    const jobs = await Promise.all(ids.map((id) => rig.client.getJob(id)))
    expect(jobs.map(({ status }) => status)).toEqual(['COMPLETED', 'COMPLETED'])
  })

  it('is refused with a token that is none, and says so', async () => {
    rig = await ServerRig.open({}, { hasTokens: true })
    const client = connect(rig.line.url, { token: 'nonsense' })
    const worker = client.worker({
      providerId: 'provider:atlas',
      kinds: ['task'],
      concurrency: 1,
      drainMs: null,
      handler: () => 'x',
    })
    await expect(worker.closed).rejects.toMatchObject({ code: 'Unauthorized' })
    await expect(client.getJob(`0x${'0'.repeat(64)}`)).rejects.toMatchObject({
      code: 'Unauthorized',
    })
    await client.close()
  })
})

const totals: StandardSchema<{ total: number }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => ({ value: value as { total: number } }),
  },
}
