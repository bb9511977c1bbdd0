import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { JobError } from '../../dist/index.js'
import {
  openTestQueue,
  type QueueMatchers,
  queueMatchers,
  type TestQueue,
} from '../../dist/test/index.js'

declare module 'vitest' {
  // biome-ignore lint/suspicious/noExplicitAny: as Vitest declares it
  interface Matchers<T = any> extends QueueMatchers {}
}

expect.extend(queueMatchers)

interface Tasks {
  email(data: { to: string; cc?: string[] }): string
  report(data: { day: number }): number
}

let queue: TestQueue<Tasks>
beforeEach(async () => {
  queue = await openTestQueue<Tasks>({ now: new Date('2027-03-01T08:00:00Z') })
})
afterEach(() => queue.close())

it('QUEUE-12: the time of a test queue stands still until it is moved', async () => {
  queue.work('email', ({ to }) => `sent to ${to}`)
  const job = await queue.add('email', { to: 'a' }, { delay: '10m' })
  await expect(job).toBeWaiting('scheduled')
  expect(job.readyAt).toEqual(new Date('2027-03-01T08:10:00Z'))
  await queue.advance('9m59s999ms')
  await expect(job).toBeWaiting('scheduled')
  await queue.advance(1)
  await expect(job).toHaveCompleted('sent to a')
  expect(queue.now).toEqual(new Date('2027-03-01T08:10:00Z'))
})

it('QUEUE-12: schedules fire as the time moves', async () => {
  queue.work('report', ({ day }) => day)
  await queue.schedule('daily', '0 9 * * *', 'report', { day: 1 })
  await queue.advance('3d')
  await expect(queue).toHaveAddedTimes('report', 3)
  const times: (Date | null)[] = []
  for await (const job of queue.find({ name: 'report' })) times.push(job.endedAt)
  expect(times[1]).toEqual(new Date('2027-03-02T09:00:00Z'))
})

it('QUEUE-12: a timeout ends an attempt when the time moves, and its signal fires', async () => {
  let reason: unknown
  queue.work('email', async (_data, job) => {
    if (job.attempt > 0) return 'second'
    await once(job.signal, 'abort')
    reason = job.signal.reason
    throw reason
  })
  const job = await queue.add('email', { to: 'a' }, { timeout: '5m' })
  await queue.advance('5m')
  expect(reason).toMatchObject({ code: 'LeaseNotLive' })
  await queue.drain()
  await expect(job).toHaveCompleted('second')
  expect(job.attempts).toBe(2)
})

it('QUEUE-12: drain does all that can be done, over delays, backoffs and jobs that handlers add', async () => {
  queue.work('email', async ({ to }) => {
    await delay(5)
    if (to === 'first') await queue.add('report', { day: 7 }, { delay: '1d' })
    return to
  })
  queue.work('report', ({ day }) => day, { concurrency: 2 })
  const first = await queue.add('email', { to: 'first' }, { delay: '1h' })
  const second = await queue.add('email', { to: 'second' })
  const last = await queue.add('email', { to: 'last' }, { dependsOn: [first], delay: '3d' })
  await queue.drain({ delayed: false })
  await expect(second).toHaveCompleted('second')
  await expect(first).toBeWaiting('scheduled')
  await queue.drain()
  await expect(first).toHaveCompleted()
  await expect(last).toHaveCompleted()
  await expect(queue).toHaveAdded('report', { day: 7 })
  expect(queue.now).toEqual(new Date('2027-03-04T08:00:00Z'))
})

it('QUEUE-12: drain leaves jobs without a handler, and ends', async () => {
  const job = await queue.add('email', { to: 'a' })
  await queue.drain()
  await expect(job).toBeWaiting('no_provider')
  await queue.pause('report')
  queue.work('report', () => 1)
  const held = await queue.add('report', { day: 1 })
  await queue.drain()
  await expect(held).toBeWaiting('paused')
})

it('QUEUE-12: failNext fails the next attempts without their handler', async () => {
  const done: string[] = []
  queue.work('email', ({ to }) => {
    done.push(to)
    return to
  })
  queue.failNext('email', Object.assign(new Error('refused'), { code: 'smtp_down' }), 2)
  const job = await queue.add('email', { to: 'a' })
  await queue.drain()
  await expect(job).toHaveCompleted('a')
  expect(job.attempts).toBe(3)
  expect(done).toEqual(['a'])
  queue.failNext('email')
  const other = await queue.add('email', { to: 'b' }, { attempts: 1 })
  await queue.drain()
  await expect(other).toHaveFailed('error')
  await expect(other.result()).rejects.toBeInstanceOf(JobError)
})

it('QUEUE-12: matchers tell what is there instead', async () => {
  queue.work('email', () => 'sent')
  const job = await queue.add('email', { to: 'a', cc: ['b', 'c'] })
  await queue.drain()
  await expect(queue).toHaveAdded('email', { cc: [expect.any(String), 'c'] })
  await expect(queue).not.toHaveAdded('report')
  const message = (promise: Promise<unknown>) =>
    promise.then(String, (error: Error) => stripVTControlCharacters(error.message))
  expect(await message(expect(queue).toHaveAdded('email', { to: 'z' }))).toMatch(
    /a job "email" to have been added with .*"to": "z".*; the queue has .*"to": "a"/s,
  )
  expect(await message(expect(job).toHaveFailed())).toMatch(
    /email 0x\w+ to be "FAILED"; it is "COMPLETED"/,
  )
  expect(await message(expect(job).toHaveCompleted('other'))).toMatch(
    /with "other"; its result is "sent"/,
  )
  expect(await message(expect(queue).not.toHaveAdded('email'))).toMatch(/should not/)
})

it('QUEUE-12: two runs of a test decide alike', async () => {
  const run = async (): Promise<string[]> => {
    const own = await openTestQueue({ now: new Date(0) })
    const order: string[] = []
    own.work('n', ({ n }, job) => {
      order.push(`${n}.${job.attempt}`)
      if ((n + job.attempt) % 3 === 0) throw new Error('again')
    })
    await own.addMany(
      Array.from({ length: 20 }, (_each, n) => ({
        name: 'n',
        data: { n },
        options: { key: `k${n}`, delay: (n * 37) % 11, backoff: { base: 5, jitter: 0 } },
      })),
    )
    await own.drain()
    await own.close()
    return order
  }
  expect(await run()).toEqual(await run())
})

it('QUEUE-8: a job whose last attempt takes too long is EXPIRED, and its event is expired', async () => {
  const queue = await openTestQueue()
  const told: string[] = []
  for (const event of ['failed', 'expired'] as const) {
    queue.on(event, ({ id }) => told.push(`${event} ${id}`))
  }
  const late = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  queue.work('slow', (_data, job) => late(job.signal))
  const job = await queue.add('slow', {}, { timeout: '1s', attempts: 1 })
  await queue.advance('1h')
  expect(await job.refresh()).toMatchObject({ status: 'EXPIRED', error: { code: 'timeout' } })
  await expect(job.result()).rejects.toMatchObject({ status: 'EXPIRED', code: 'timeout' })
  expect(told).toEqual([`expired ${job.id}`])
  await queue.close()
})
