import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  JobError,
  openQueue,
  PermanentError,
  type Queue,
  type QueueOptions,
  RetryAfter,
} from '../../dist/index.js'
import { BACKENDS, deferred, type Place } from './backends.ts'

interface Tasks {
  email(data: { to: string }): { sent: string }
  sum(data: { numbers: number[] }): number
  slow(data: Record<string, never>): string
  flaky(data: { fails: number }): string
}

const quiet: QueueOptions = { onError: () => {} }

describe.each(BACKENDS)('a queue in %s', (_, make) => {
  let place: Place
  let queue: Queue<Tasks>
  beforeEach(async () => {
    place = await make()
    queue = await openQueue<Tasks>(place.target, quiet)
  })
  afterEach(async () => {
    await queue.close()
    await place.remove()
  })

  it('QUEUE-1: does in five lines what a queue is for', async () => {
    queue.work('email', async ({ to }, job) => ({ sent: `${to} ${job.name} ${job.attempt}` }))
    const job = await queue.add('email', { to: 'a@b.c' }, { attempts: 5, tags: ['welcome'] })
    expect(job).toMatchObject({ name: 'email', data: { to: 'a@b.c' }, status: 'QUEUED' })
    expect(await job.result()).toEqual({ sent: 'a@b.c email 0' })
    await job.refresh()
    expect(job).toMatchObject({
      status: 'COMPLETED',
      isEnded: true,
      attempts: 1,
      tags: ['welcome'],
    })
    expect(job.endedAt).toBeInstanceOf(Date)
  })

  it('QUEUE-2: the same key is the same job, also after its end', async () => {
    queue.work('sum', ({ numbers }) => numbers.reduce((a, b) => a + b, 0))
    const first = await queue.add('sum', { numbers: [1, 2, 39] }, { key: 'order-17' })
    expect(await first.result()).toBe(42)
    const again = await queue.add('sum', { numbers: [1, 2, 39] }, { key: 'order-17' })
    expect(again.id).toBe(first.id)
    await expect(queue.add('sum', { numbers: [1] }, { key: 'order-17' })).rejects.toMatchObject({
      code: 'IdempotencyConflict',
    })
  })

  it('QUEUE-2: a live job with the dedupe key is the answer', async () => {
    const first = await queue.add('email', { to: 'a' }, { dedupeKey: 'a' })
    const second = await queue.add('email', { to: 'a' }, { dedupeKey: 'a' })
    expect(first.isDuplicate).toBe(false)
    expect(second).toMatchObject({ id: first.id, isDuplicate: true })
  })

  it('QUEUE-2: options become those of the job', async () => {
    const first = await queue.add('email', { to: 'x' })
    const job = await queue.add(
      'email',
      { to: 'a' },
      {
        delay: '1h30m',
        attempts: 3,
        backoff: '5s',
        timeout: '2m',
        priority: 7,
        dependsOn: [first],
      },
    )
    const found = await queue.get(job.id)
    expect(found).toMatchObject({ waitReason: 'scheduled', data: { to: 'a' }, name: 'email' })
    const at = Date.now() + 3_600_000
    const later = await queue.add('email', { to: 'b' }, { runAt: new Date(at) })
    expect(await later.refresh()).toMatchObject({ waitReason: 'scheduled' })
    await first.cancel()
    expect(await job.refresh()).toMatchObject({ status: 'CANCELED', reason: 'dependency_failed' })
  })

  it('QUEUE-2: addMany sends none if one is wrong, and answers in order', async () => {
    const wrong = { name: 'sum' as const, data: { numbers: [Number.NaN] } }
    await expect(
      queue.addMany([{ name: 'sum', data: { numbers: [1] } }, wrong]),
    ).rejects.toMatchObject({ code: 'InvalidParams' })
    expect((await queue.counts()).QUEUED).toBe(0)
    queue.work('sum', ({ numbers }) => (numbers[0] ?? 0) * 2, { concurrency: 20 })
    const jobs = await queue.addMany(
      Array.from({ length: 50 }, (_each, i) => ({ name: 'sum' as const, data: { numbers: [i] } })),
    )
    const results = await Promise.all(jobs.map((job) => job.result()))
    expect(results).toEqual(jobs.map((_each, i) => 2 * i))
    expect((await queue.counts({ name: 'sum' })).COMPLETED).toBe(50)
  })

  it('QUEUE-4: data that JSON would change is refused with its place, and nothing is added', async () => {
    const add = (data: object) => (queue as unknown as Queue).add('email', data)
    await expect(add({ when: new Date(0) })).rejects.toThrow(
      /^data\.when: expected .*, got a Date$/,
    )
    await expect(add({ a: [1, new Map()] })).rejects.toThrow(/^data\.a\[1\]: expected .* a Map$/)
    await expect(add({ a: undefined })).rejects.toThrow(/^data\.a: expected .*, got undefined$/)
    await expect(add([1])).rejects.toThrow(/^data: expected an object, got an array/)
    expect((await queue.counts()).QUEUED).toBe(0)
  })

  it('QUEUE-4: data is taken as it is at the call', async () => {
    const data = { to: 'a' }
    const adding = queue.add('email', data)
    data.to = 'b'
    const job = await adding
    expect((await queue.get(job.id))?.data).toEqual({ to: 'a' })
  })

  it('QUEUE-8: an error is tried again, and the last one shows in JobError', async () => {
    queue.work('flaky', (_data, job) => {
      throw Object.assign(new Error(`attempt ${job.attempt} broke`), { code: 'EPIPE' })
    })
    const job = await queue.add('flaky', { fails: 9 }, { attempts: 3, backoff: 1 })
    const error = await job.result().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(JobError)
    expect(error).toMatchObject({
      code: 'epipe',
      attempts: 3,
      status: 'FAILED',
      reason: 'retries_exhausted',
      jobId: job.id,
    })
    expect((error as Error).message).toMatch(
      /^flaky 0x\w{10} is FAILED .* after 3 attempts: epipe: attempt 2 broke$/,
    )
    expect(job.error).toMatchObject({ code: 'epipe', message: 'attempt 2 broke', attempt: 2 })
  })

  it('QUEUE-6: a PermanentError ends the job, and RetryAfter says when to try again', async () => {
    let begun = 0
    queue.work('flaky', ({ fails }, job) => {
      begun++
      if (fails === 0) throw new PermanentError('no such address', { code: 'bounced' })
      if (job.attempt < fails) throw new RetryAfter('1ms')
      return `done at ${job.attempt}`
    })
    const bounced = await queue.add('flaky', { fails: 0 }, { attempts: 9 })
    await expect(bounced.result()).rejects.toMatchObject({ code: 'bounced', attempts: 1 })
    const retried = await queue.add('flaky', { fails: 2 }, { backoff: 1 })
    expect(await retried.result()).toBe('done at 2')
    expect(begun).toBe(4)
  })

  it('QUEUE-6: a result that would come back as another value ends the job', async () => {
    queue.work('slow', () => ({ at: new Date(0) }) as never)
    const job = await queue.add('slow', {})
    await expect(job.result()).rejects.toMatchObject({
      code: 'invalid_result',
      attempts: 1,
      message: expect.stringContaining('result.at: expected'),
    })
  })

  it('QUEUE-6: text, bytes, nothing and JSON come back as they were returned', async () => {
    const values = ['text', null, 0, true, [1, { a: 'b' }], { '': [] }, undefined, Buffer.from('é')]
    const any = queue as unknown as Queue
    any.work('echo', ({ i }) => values[i])
    for (const [i, value] of values.entries()) {
      const back = await (await any.add('echo', { i })).result()
      expect(back instanceof Uint8Array ? Buffer.from(back) : back).toEqual(value)
    }
  })

  it('QUEUE-7: the signal of a handler fires when its job is cancelled', async () => {
    const heard = deferred<string>()
    queue.work('slow', async (_data, job) => {
      job.progress(30, 'a third')
      await once(job.signal, 'abort')
      heard.resolve((job.signal.reason as Error).message)
      return 'too late'
    })
    const job = await queue.add('slow', {})
    const progress = deferred<number>()
    queue.on('progress', ({ percent }) => progress.resolve(percent))
    await expect
      .poll(() => job.progress(), { timeout: 20_000 })
      .toEqual({ percent: 30, message: 'a third' })
    expect(await job.cancel()).toBe(true)
    expect(await heard.promise).toMatch(/job_ended/)
    expect(await job.cancel()).toBe(true)
    await expect(job.result()).rejects.toMatchObject({ status: 'CANCELED', code: 'canceled' })
  })

  it('QUEUE-7: the signal of a handler fires when its time is over', async () => {
    let fired = 0
    queue.work('slow', async (_data, job) => {
      if (job.attempt > 0) return 'the second time'
      await once(job.signal, 'abort')
      fired++
      throw job.signal.reason
    })
    const job = await queue.add('slow', {}, { timeout: '1s', backoff: 1 })
    expect(await job.result()).toBe('the second time')
    expect(fired).toBe(1)
    expect(job.error ?? (await job.refresh()).error).toMatchObject({ code: 'timeout' })
  })

  it('QUEUE-7: a handler can make sure that the job is still its own, and log', async () => {
    queue.work('slow', async (_data, job) => {
      job.log('one\ntwo')
      await job.extend()
      return 'mine'
    })
    const job = await queue.add('slow', {})
    expect(await job.result()).toBe('mine')
    expect((await job.logs()).map(({ text }) => text)).toEqual(['one', 'two'])
    expect(await job.explain()).toContain('COMPLETED')
  })

  it('QUEUE-9: close waits for handlers, and gives back what lasts longer', async () => {
    const begun = [deferred<void>(), deferred<void>()] as const
    const go = deferred<void>()
    let aborted = 0
    const second = place.target === ':memory:' ? queue : await openSame(place, queue)
    second.work(
      'sum',
      async ({ numbers }, job) => {
        begun[numbers[0] as 0 | 1].resolve()
        if (numbers[0] === 0) await go.promise
        else await once(job.signal, 'abort').then(() => aborted++)
        return 1
      },
      { concurrency: 2 },
    )
    const [ends, lasts] = await second.addMany([
      { name: 'sum', data: { numbers: [0] } },
      { name: 'sum', data: { numbers: [1] } },
    ])
    await Promise.all(begun.map(({ promise }) => promise))
    go.resolve()
    await ends?.result()
    await second.close({ deadline: 0 })
    expect(aborted).toBe(1)
    await expect(second.add('sum', { numbers: [] })).rejects.toMatchObject({
      code: 'SchedulerClosed',
    })
    if (place.target === ':memory:') return
    queue = await openQueue<Tasks>(place.target, quiet)
    const job = await queue.get(lasts?.id ?? '')
    // Given back: no attempt was charged, and it is the next in line.
    expect(job).toMatchObject({ status: 'QUEUED', waitReason: 'no_provider' })
    queue.work('sum', () => 7)
    expect(await job?.result()).toBe(7)
  })

  it('QUEUE-10: tells what happens, from the next call on', async () => {
    const heard: string[] = []
    const names = ['added', 'started', 'retrying', 'completed', 'failed', 'canceled'] as const
    const stops = names.map((name) =>
      queue.on(name, ({ id }: { readonly id: string }) => heard.push(`${name} ${id}`)),
    )
    queue.work('flaky', (_data, job) => {
      if (job.attempt === 0) throw new Error('once')
      return ''
    })
    const completed = new Promise<Date>((resolve) => queue.on('completed', ({ at }) => resolve(at)))
    const job = await queue.add('flaky', { fails: 1 }, { backoff: 1 })
    expect(await completed).toBeInstanceOf(Date)
    const actions = heard.filter((line) => line.endsWith(job.id)).map((line) => line.split(' ')[0])
    expect(actions.filter((action) => action !== 'started')).toEqual([
      'added',
      'retrying',
      'completed',
    ])
    for (const stop of stops) stop()
    const before = heard.length
    await (await queue.add('flaky', { fails: 1 }, { backoff: 1 })).result()
    expect(heard.length).toBe(before)
  })

  it('QUEUE-11: finds, counts, cancels and retries many', async () => {
    queue.work('flaky', () => {
      throw new PermanentError('no', { code: 'nope' })
    })
    const failed = await queue.addMany(
      [1, 2, 3].map((fails) => ({
        name: 'flaky' as const,
        data: { fails },
        options: { tags: ['x'] },
      })),
    )
    await Promise.allSettled(failed.map((job) => job.result()))
    const waiting = await queue.add('email', { to: 'a' })
    const found: string[] = []
    for await (const job of queue.find({ tag: 'x', error: 'nope' })) found.push(job.id)
    expect(found).toEqual(failed.map(({ id }) => id))
    expect(await queue.counts()).toMatchObject({ FAILED: 3, QUEUED: 1 })
    expect(await queue.stats()).toEqual([{ name: 'email', ready: 1, held: 0 }])
    expect(await queue.cancelMany({ name: 'email' })).toMatchObject({ done: 1 })
    expect(await waiting.refresh()).toMatchObject({ status: 'CANCELED' })
    expect(await queue.retryMany({ status: 'FAILED' })).toMatchObject({ done: 3 })
    const again: (string | null)[] = []
    for await (const job of queue.find({ name: 'flaky', order: 'newest' })) again.push(job.retryOf)
    expect(again.slice(0, 3).toSorted()).toEqual(failed.map(({ id }) => id).toSorted())
    expect(await queue.get(`0x${'0'.repeat(64)}`)).toBeNull()
  })

  it('QUEUE-11: pauses hold jobs back', async () => {
    queue.work('sum', () => 1)
    await queue.pause('sum')
    const job = await queue.add('sum', { numbers: [] })
    expect(await job.refresh()).toMatchObject({ status: 'QUEUED', waitReason: 'paused' })
    expect(await queue.stats()).toEqual([{ name: 'sum', ready: 1, held: 1 }])
    expect(await queue.resume('sum')).toBe(true)
    expect(await job.result()).toBe(1)
    expect(await queue.resume('sum')).toBe(false)
  })

  it('QUEUE-11: a pause of * holds all back', async () => {
    queue.work('sum', () => 1)
    await queue.pause('*')
    const job = await queue.add('sum', { numbers: [] })
    expect(await job.refresh()).toMatchObject({ status: 'QUEUED', waitReason: 'paused' })
    expect(await queue.resume('sum')).toBe(false)
    expect(await queue.resume('*')).toBe(true)
    expect(await job.result()).toBe(1)
  })

  it('QUEUE-11: schedules add jobs by the clock', async () => {
    queue.work('email', ({ to }) => ({ sent: to }))
    const options = { timezone: 'Europe/Berlin', overlap: 'skip', catchUp: 'none' } as const
    const { nextAt } = await queue.schedule('daily', '0 9 * * *', 'email', { to: 'all' }, options)
    expect(nextAt?.getTime()).toBeGreaterThan(Date.now())
    expect(await queue.schedules()).toMatchObject([{ id: 'daily', timezone: 'Europe/Berlin' }])
    const job = await queue.trigger('daily')
    expect(await job.result()).toEqual({ sent: 'all' })
    expect(await queue.unschedule('daily')).toBe(true)
    expect(await queue.unschedule('daily')).toBe(false)
  })

  it('QUEUE-6: each name has its own handlers, and * takes the rest', async () => {
    const any = queue as unknown as Queue
    any.work('one', () => 'one')
    any.work('Ünusual Name / with 47 characters, longer than ids', () => 'odd')
    const others = any.work('*', (_data, job) => `any ${job.name}`, { concurrency: 2 })
    const odd = await any.add('Ünusual Name / with 47 characters, longer than ids', {})
    const two = await any.add('two', {})
    expect(await odd.result()).toMatch(/odd|any/)
    expect(await two.result()).toBe('any two')
    await others.stop()
    expect(await (await any.add('one', {})).result()).toBe('one')
  })
})

/** A file has one process, and within it one queue: this one is closed. */
async function openSame(place: Place, queue: Queue<Tasks>): Promise<Queue<Tasks>> {
  await queue.close()
  return openQueue<Tasks>(place.target, quiet)
}

describe.each(BACKENDS)('schemas in %s', (_, make) => {
  const names = ['remind', '*'] as const
  it.each(names)(
    'QUEUE-5: check what is given, and shape what is taken, by work("%s")',
    async (name) => {
      const place = await make()
      const tasks = {
        remind: {
          data: z.object({
            at: z.string().transform((text) => new Date(text)),
            times: z.int().default(1),
          }),
          result: z.object({ sent: z.string() }),
        },
      }
      const queue = await openQueue(place.target, { ...quiet, tasks })
      try {
        queue.work(name as 'remind', ({ at, times }) => {
          if (times === 0) return { sent: 1 } as never
          return { sent: `${at.getUTCFullYear()} ×${times}` }
        })
        const job = await queue.add('remind', { at: '2027-01-01T00:00:00Z' })
        expect(await job.result()).toEqual({ sent: '2027 ×1' })
        await expect(queue.add('remind', { at: 7 as never })).rejects.toThrow(/^data\.at: /)
        const wrong = await queue.add('remind', { at: '2027-01-01T00:00:00Z', times: 0 })
        await expect(wrong.result()).rejects.toMatchObject({ code: 'invalid_result', attempts: 1 })
      } finally {
        await queue.close()
        await place.remove()
      }
    },
  )
})
