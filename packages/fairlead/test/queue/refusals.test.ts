import { inspect } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openQueue, type Queue, RetryAfter } from '../../dist/index.js'

let queue: Queue
beforeAll(async () => {
  queue = await openQueue(':memory:')
})
afterAll(() => queue.close())

/** As a program in JavaScript may call, which no type holds back. */
const slips: readonly (readonly [call: () => unknown, message: RegExp])[] = [
  [
    () => queue.add('email', {}, { atempts: 5 } as never),
    /^atempts: expected only the options delay/,
  ],
  [() => queue.add('email', {}, { delay: '10 minutes' }), /^delay: expected .*got "10 minutes"$/],
  [() => queue.add('email', {}, { delay: 1.5 }), /^delay: expected/],
  [() => queue.add('email', {}, { runAt: new Date('soon') }), /^runAt: expected/],
  [() => queue.add('email', {}, { attempts: 0 }), /^attempts: expected a whole number from 1/],
  [
    () => queue.add('email', {}, { backoff: { type: 'exponential', delay: 9 } as never }),
    /^backoff\.type: expected only the fields base, factor, max, jitter/,
  ],
  [() => queue.add('email', {}, { tags: ['a b'] }), /^tags\.0: expected/],
  [() => queue.add('email', 'text'), /^data: expected an object, got a string/],
  [() => queue.add('', {}), /^name: expected the name of a task/],
  [() => queue.work('email', () => 1, { concurrency: 0 }), /^concurrency: expected/],
  [() => queue.work('email', () => 1, { concurency: 1 } as never), /^concurency: expected/],
  [() => queue.work('email', 'no function' as never), /^handler: expected a function/],
  [() => queue.on('complete' as never, () => {}), /^event: expected one of added, .*got complete/],
  [() => queue.find({ nme: 'x' } as never).next(), /^nme: expected only the fields name/],
  [() => queue.cancelMany({}), /^filter: expected at least one of name/],
  [() => queue.retryMany({}), /^filter: expected at least one of name/],
  [() => queue.schedule('s', 'every day', 'email', {}), /^cron: expected/],
  [() => openQueue(':memory:', { onerror: () => {} } as never), /^onerror: expected only/],
  [() => openQueue('./jobs.db', { clock: {} as never }), /^clock: expected/],
  [() => new RetryAfter('soon'), /^wait: expected/],
]

it.each(slips)('QUEUE-2: a slip is refused by its name (%s)', async (call, message) => {
  const refusal = await (async () => call())().then(
    () => null,
    (error: Error) => error,
  )
  expect(refusal).toMatchObject({ code: 'InvalidParams', message: expect.stringMatching(message) })
})

it('QUEUE-2: a job without data has none, and shows what is known of it', async () => {
  const job = await queue.add('beep', undefined)
  expect(await job.refresh()).toMatchObject({ data: {}, status: 'QUEUED' })
  expect(inspect(job)).toContain("status: 'QUEUED'")
  expect(JSON.parse(JSON.stringify(job))).toMatchObject({ id: job.id, waitReason: 'no_provider' })
})
