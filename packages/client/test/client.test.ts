import { once } from 'node:events'
import { createServer } from 'node:net'
import type { FairleadError } from '@fairlead/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connect, PermanentFailure, type WireEvent } from '../src/index.ts'
import { ServerRig } from './server-rig.ts'

let rig: ServerRig
beforeEach(async () => {
  rig = await ServerRig.open()
})
afterEach(() => rig.close())

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'nothing',
    (error: FairleadError) => error.code,
  )

describe('a requester', () => {
  it('enqueues a job and waits for what its handler returns', async () => {
    rig.worker(({ payload }) => `echo ${payload.args['n']}`)
    const taskId = await rig.enqueue(7)
    const { text, output, record } = await rig.client.waitForResult(taskId)
    expect(text).toBe('echo 7')
    expect(output).toEqual(new TextEncoder().encode('echo 7'))
    expect(record).toMatchObject({ task_id: taskId, kind: 'task', provider_id: 'provider:atlas' })
  })

  it('sends prompts and circuits as text or bytes, and handlers get bytes', async () => {
    const seen: unknown[] = []
    const both = rig.client.worker({
      providerId: 'provider:both',
      kinds: ['ai', 'quantum'],
      concurrency: 2,
      drainMs: null,
      handler: (job) => {
        seen.push(job.payload)
      },
    })
    const ai = await rig.client.aiEnqueue('llama3-8b', 'grüß', { max_tokens: 5, temperature: 0.5 })
    const circuit = Uint8Array.of(0, 255)
    const quantum = await rig.client.quantumEnqueue(circuit, { shots: 3, max_fee_u64: 9 })
    await rig.client.waitForResult(ai.task_id)
    await rig.client.waitForResult(quantum.task_id)
    const prompt = Buffer.from('grüß')
    expect(seen.map((payload) => ({ ...(payload as object) }))).toEqual([
      { model: 'llama3-8b', prompt, max_tokens: 5, temperature: 0.5, qos_hint_ms: 0 },
      { circuit: Buffer.from(circuit), shots: 3, depth_hint: 0 },
    ])
    expect((await rig.client.getJob(quantum.task_id)).job.request.max_fee_u64).toBe(9)
    await both.stop()
  })

  it('waits for many at once on one subscription, and hears of each', async () => {
    rig.worker(({ payload }) => String(payload.args['n']), { concurrency: 20 })
    const ids = await Promise.all(Array.from({ length: 200 }, (_, n) => rig.enqueue(n)))
    const results = await Promise.all(ids.map((id) => rig.client.waitForResult(id)))
    expect(results.map(({ text }) => Number(text))).toEqual(ids.map((_, n) => n))
  })

  it('asks from time to time where the server lets it listen no more', async () => {
    const listening = Array.from({ length: 16 }, () => rig.client.events())
    await Promise.all(listening.map((events) => events.ready()))
    const taskId = await rig.enqueue(1)
    const result = rig.client.waitForResult(taskId)
    rig.worker(() => 'polled')
    expect((await result).text).toBe('polled')
  })

  it('gets the error of its own for each other end', async () => {
    const canceled = await rig.enqueue(1)
    expect(await codeOf(rig.client.readResult(canceled))).toBe('NoResultYet')
    const waiting = rig.client.waitForResult(canceled)
    await rig.client.cancel(canceled)
    expect(await codeOf(waiting)).toBe('InvalidState')
    const short = await rig.client.enqueue({
      kind: 'task',
      payload: { name: 'x', args: {} },
      ttl_abs_secs: 1,
    })
    expect(await codeOf(rig.client.waitForResult(short.task_id))).toBe('JobExpired')
    rig.worker(() => {
      throw new PermanentFailure('invalid_input')
    })
    const failed = await rig.enqueue(2)
    expect(await codeOf(rig.client.waitForResult(failed))).toBe('InvalidState')
    expect(await codeOf(rig.client.getJob(`0x${'0'.repeat(64)}`))).toBe('NotFound')
  })

  it('waits no longer than it is told to', async () => {
    const taskId = await rig.enqueue(1)
    expect(await codeOf(rig.client.waitForResult(taskId, { timeoutMs: 20 }))).toBe('NoResultYet')
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(rig.client.waitForResult(taskId, { signal })).rejects.toThrow('enough')
  })

  it('lists jobs over as many pages as there are', async () => {
    const ids = []
    for (let n = 0; n < 25; n++) ids.push(await rig.enqueue(n))
    const listed = []
    for await (const job of rig.client.listJobs({ kind: 'task', limit: 10 }))
      listed.push(job.task_id)
    expect(listed).toEqual(ids)
  })

  it('cancels, also if the answer to the first try was lost', async () => {
    const taskId = await rig.enqueue(1)
    await rig.client.cancel(taskId)
    // As a second try finds it.
    await rig.client.cancel(taskId)
    expect((await rig.client.getJob(taskId)).status).toBe('CANCELED')
  })

  it('explains why a job waits', async () => {
    const explanation = await rig.client.explain(await rig.enqueue(1))
    expect(explanation).toMatchObject({ status: 'QUEUED', wait_reason: 'no_provider' })
    expect(explanation.text).toContain('There is no provider at all.')
  })
})

describe('a line that is cut', () => {
  it('is opened again, and what was asked is asked again without a second job', async () => {
    await rig.enqueue(0)
    const enqueues = Array.from({ length: 50 }, async (_, n) => {
      const key = `k-${n}`
      const request = { kind: 'task', payload: { name: 'echo', args: { n } } } as const
      return rig.client.enqueue({ ...request, idempotency_key: key })
    })
    await new Promise((resolve) => setImmediate(resolve))
    rig.line.cut()
    const receipts = await Promise.all(enqueues)
    expect(new Set(receipts.map(({ task_id }) => task_id)).size).toBe(50)
    const listed = []
    for await (const job of rig.client.listJobs()) listed.push(job.task_id)
    expect(listed).toHaveLength(51)
    expect(rig.line.connections).toBe(2)
  })

  it('is an error for what must not happen twice, because nobody knows whether it did', async () => {
    await rig.client.ready()
    const payload = { name: 'echo', args: {} }
    const unnamed = rig.client.call('aicf.enqueue', { kind: 'task', payload })
    const stake = rig.client.call('aicf.stake', { provider_id: 'provider:x', amount_u64: 1 })
    rig.line.cut()
    for (const call of [unnamed, stake]) {
      await expect(call).rejects.toMatchObject({ details: { reason: 'connection_lost' } })
    }
  })

  it('costs no event, and brings none twice', async () => {
    const seen: number[] = []
    const jobs = 100
    const cuts = new Set([40, 90, 150, 220, 300])
    rig.worker(() => 'x', { concurrency: 10 })
    const events = rig.client.events({ afterSeq: 0 })
    let left = jobs
    const all = (async () => {
      for await (const event of events) {
        seen.push(event.seq)
        if (cuts.has(seen.length)) {
          // The next cut is one of a line that is there: many events may come at once.
          const again = rig.line.nextConnection()
          rig.line.cut()
          await again
        }
        if (event.type === 'jobCompleted' && --left === 0) return
      }
    })()
    await Promise.all(Array.from({ length: jobs }, (_, n) => rig.enqueue(n)))
    await all
    expect(seen).toEqual(Array.from({ length: seen.length }, (_, i) => i + 1))
    expect(rig.line.connections).toBeGreaterThan(5)
  })

  it('does not end a wait for a result', async () => {
    const taskId = await rig.enqueue(1)
    const result = rig.client.waitForResult(taskId)
    rig.line.isDown = true
    rig.line.cut()
    await rig.engine.registerProvider('provider:x' as never, {})
    rig.line.isDown = false
    rig.worker(() => 'later')
    expect((await result).text).toBe('later')
  })

  it('with nobody at its other end is an error that says what to do', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    server.close()
    await once(server, 'close')
    const client = connect(`http://127.0.0.1:${port}`, { timeoutMs: 100 })
    await expect(client.getJob('0x')).rejects.toThrow(/no server answers .* `fairlead serve`/)
    await expect(client.ready()).rejects.toMatchObject({ code: 'StoreUnavailable' })
    const waiting = client.waitForResult('0x', { timeoutMs: 20 })
    await expect(waiting).rejects.toMatchObject({ code: 'NoResultYet' })
    await client.close()
    expect(() => connect('localhost:7433')).toThrow(/url: expected the address of a server/)
  })
})

describe('events', () => {
  it('are those of the topics, from a number on or from now', async () => {
    const first = await rig.enqueue(1)
    const fromNow = rig.client.events({ topics: ['jobEnqueued'] })
    await fromNow.ready()
    const second = await rig.enqueue(2)
    expect((await fromNow.next()).value).toMatchObject({ type: 'jobEnqueued', jobId: second })
    const fromStart = rig.client.events({ topics: ['jobEnqueued'], afterSeq: 0 })
    expect((await fromStart.next()).value).toMatchObject({ jobId: first })
    await fromStart.return?.()
  })

  it('end with their signal, and with the client', async () => {
    const stop = new AbortController()
    const events = rig.client.events({ signal: stop.signal })
    const next = events.next()
    stop.abort()
    expect(await next).toEqual({ value: undefined, done: true })
    const others = rig.client.events().next()
    await rig.client.close()
    expect((await others).done).toBe(true)
  })

  it('wait for a reader that is slow, and none is lost', async () => {
    const jobs = 11_000
    const events = rig.client.events({ topics: ['jobEnqueued'], afterSeq: 0 })
    await events.ready()
    await Promise.all(Array.from({ length: jobs }, (_, n) => rig.enqueue(n)))
    const seen: WireEvent[] = []
    for await (const event of events) if (seen.push(event) === jobs) break
    expect(seen.map(({ seq }) => seq)).toEqual(Array.from({ length: jobs }, (_, i) => i + 1))
  })
})
