import { inspect } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type FairleadError, openQueue, type Queue, RetryAfter } from '../../dist/index.js'

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
  [() => queue.add('email', {}, { delay: Number.NaN }), /^delay: expected milliseconds.*got NaN$/],
  [() => queue.add('email', {}, { backoff: null as never }), /^backoff: expected .*got null$/],
  [
    () => queue.add('email', {}, { backoff: { base: 1, factor: 11 } }),
    /^backoff\.factor: expected a number from 1 to 10, got 11$/,
  ],
  [
    () => queue.add('email', {}, { tags: 'abc' as never }),
    /^tags: expected a list of text.*got a string$/,
  ],
  [
    () => queue.add('email', {}, { tags: ['a', 5 as never] }),
    /^tags\[1\]: expected text, got a number$/,
  ],
  [() => queue.add('email', {}, { tags: ['a b'] }), /^tags\[0\]: expected/],
  [
    () => queue.add('email', {}, { dependsOn: [null as never] }),
    /^dependsOn\[0\]: expected a job, or its id, got null$/,
  ],
  [
    () => queue.add('email', {}, { dependsOn: 5 as never }),
    /^dependsOn: expected a job, or its id, got a number$/,
  ],
  [() => queue.add('email', {}, 5 as never), /^options: expected an object .*got a number$/],
  [() => queue.addMany({} as never), /^jobs: expected a list of \{ name, data, options \}/],
  [() => queue.addMany([null as never]), /^jobs\[0\]: expected an object.*got null$/],
  [
    () => queue.addMany([{ name: 'a', data: {} }, { name: 'a', data: {}, opts: {} } as never]),
    /^jobs\[1\]\.opts: expected only the fields name, data, options$/,
  ],
  [
    () =>
      queue.addMany([
        { name: 'a', data: {} },
        { name: 'a', data: { args: 1n } },
      ]),
    /^jobs\[1\]\.data\.args: expected a number, or the digits as text/,
  ],
  [() => queue.add('email', 'text'), /^data: expected an object, got a string/],
  [() => queue.add('', {}), /^name: expected the name of a task/],
  [() => queue.work('email', () => 1, { concurrency: 0 }), /^concurrency: expected/],
  [() => queue.work('email', () => 1, { concurency: 1 } as never), /^concurency: expected/],
  [() => queue.work('email', 'no function' as never), /^handler: expected a function/],
  [() => queue.on('complete' as never, () => {}), /^event: expected one of added, .*got complete/],
  [() => queue.find({ nme: 'x' } as never).next(), /^nme: expected only the fields name/],
  [() => queue.find(null as never).next(), /^filter: expected an object/],
  [() => queue.cancelMany({}), /^filter: expected at least one of name/],
  [() => queue.retryMany({}), /^filter: expected at least one of name/],
  [() => queue.retryMany(undefined as never), /^filter: expected at least one of name/],
  [() => queue.cancelMany(undefined as never), /^filter: expected at least one of name/],
  [() => queue.cancelMany('email' as never), /^filter: expected an object.*got a string$/],
  [() => queue.cancelMany({ name: 'a' }, { limt: 1 } as never), /^limt: expected only the options/],
  [() => queue.schedule('s', 'every day', 'email', {}), /^cron: expected/],
  [() => openQueue(':memory:', { onerror: () => {} } as never), /^onerror: expected only/],
  [() => openQueue('./jobs.db', { clock: {} as never }), /^clock: expected/],
  [() => openQueue(':memory:', null as never), /^options: expected an object.*got null$/],
  [
    () => openQueue(':memory:', { defaults: { attemps: 3 } as never }),
    /^defaults\.attemps: expected only the options/,
  ],
  [() => openQueue(':memory:', { defaults: { delay: 'soon' } }), /^defaults\.delay: expected/],
  [
    () => openQueue(':memory:', { closeOnSignals: 'yes' as never }),
    /^closeOnSignals: expected true, false or/,
  ],
  [
    () => openQueue(':memory:', { closeOnSignals: { deadline: 'soon' } }),
    /^closeOnSignals\.deadline: expected/,
  ],
  [
    () => openQueue(':memory:', { closeOnSignals: { dedline: 1 } as never }),
    /^closeOnSignals\.dedline: expected/,
  ],
  [
    () => openQueue(':memory:', { onError: 'log' as never }),
    /^onError: expected a function.*got a string$/,
  ],
  [
    () => openQueue(':memory:', { tasks: { email: { dta: {} } as never } }),
    /^tasks\.email\.dta: expected only the schemas/,
  ],
  [() => openQueue(':memory:', { tasks: null as never }), /^tasks: expected/],
  [
    () => openQueue({ url: 'http://127.0.0.1:1', tokn: 'x' } as never),
    /^target\.tokn: expected only the fields url, token, workerToken/,
  ],
  [
    () => openQueue('localhost:7433'),
    /^target: expected the URL of a server, such as http:\/\/localhost:7433, or a file, such as \.\/localhost:7433, got/,
  ],
  [() => openQueue('127.0.0.1:7433/x'), /such as http:\/\/127\.0\.0\.1:7433\/x/],
  [() => openQueue('[::1]:7433'), /such as http:\/\/\[::1\]:7433/],
  [
    () => queue.pause(undefined as never),
    /^name: expected the name of a task, or \* for all, got undefined$/,
  ],
  [() => (queue.pause as () => unknown)(), /^name: expected/],
  [() => queue.resume('' as never), /^name: expected/],
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

/** What only the server finds is told in the words of the library all the same. */
const found: readonly (readonly [call: () => unknown, code: string, message: RegExp])[] = [
  [
    () => queue.add('x', {}, { delay: '400d' }),
    'InvalidParams',
    /^delay: expected a whole number of milliseconds from 0/,
  ],
  [
    () => queue.add('x', {}, { timeout: 5 }),
    'InvalidParams',
    /^timeout: expected a whole number of milliseconds from 1000/,
  ],
  [() => queue.add('x', {}, { runAt: 9e15 }), 'InvalidParams', /^runAt: expected a time/],
  [
    () => queue.add('x', {}, { backoff: '400d' }),
    'InvalidParams',
    /^backoff\.base: .*; backoff\.max: /,
  ],
  [() => queue.add('x', {}, { dependsOn: ['none'] }), 'InvalidParams', /^dependsOn\[0\]: expected/],
  [
    () => queue.add('x', {}, { onDependency: 'run' }),
    'InvalidParams',
    /^onDependency: expected dependsOn beside it/,
  ],
  [() => queue.add('x', {}, { key: '' }), 'InvalidParams', /^key: expected/],
  [
    () => queue.add('x', {}, { dedupeKey: 'k'.repeat(999) }),
    'LimitExceeded',
    /^dedupeKey: 999 is over/,
  ],
  [() => queue.add('x', { a: 'a'.repeat(70_000) }), 'LimitExceeded', /^data: 70008 is over/],
  [
    () => queue.addMany([{ name: 'x', data: {}, options: { timeout: 5 } }]),
    'InvalidParams',
    /^jobs\[0\]\.timeout: /,
  ],
  [() => queue.get('none'), 'InvalidParams', /^id: expected/],
  [
    () => queue.find({ waitReason: 'none' as never }).next(),
    'InvalidParams',
    /^waitReason: expected/,
  ],
  [() => queue.cancelMany({ dedupeKey: 5 as never }), 'InvalidParams', /^dedupeKey: expected/],
  [() => queue.counts({ name: 5 as never }), 'InvalidParams', /^name: expected/],
  [
    () => queue.schedule('s', '0 * * * *', 'x', {}, { timeout: 5 }),
    'InvalidParams',
    /^timeout: expected/,
  ],
]

it.each(found)(
  'QUEUE-2: a refusal of the server names the option (%s)',
  async (call, code, message) => {
    const refusal = await (async () => call())().then(
      () => null,
      (error: FairleadError) => error,
    )
    expect(refusal).toMatchObject({ code, message: expect.stringMatching(message) })
    const { field, limit } = refusal?.details ?? {}
    expect(refusal?.message.startsWith(`${field ?? limit}: `)).toBe(true)
  },
)

it('QUEUE-2: a key that was used for other data is a conflict of that key', async () => {
  await queue.add('x', { a: 1 }, { key: 'order-17' })
  await expect(queue.add('x', { a: 2 }, { key: 'order-17' })).rejects.toMatchObject({
    code: 'IdempotencyConflict',
    details: { field: 'key' },
  })
})

it('QUEUE-2: a dependency is a job or an id, alone or in a list', async () => {
  const first = await queue.add('first', {})
  for (const dependsOn of [first, first.id, [first.id], [first]]) {
    const job = await queue.add('second', {}, { dependsOn })
    expect((await job.refresh()).waitReason).toBe('dependencies')
  }
})

it('QUEUE-2: a job knows what it was added with', async () => {
  const runAt = new Date(Date.now() + 3_600_000)
  const job = await queue.add('later', {}, { tags: ['a', 'b'], runAt })
  expect(job).toMatchObject({ tags: ['a', 'b'], readyAt: runAt })
  expect(await job.refresh()).toMatchObject({ tags: ['a', 'b'], readyAt: runAt })
  const once = await queue.add('later', {}, { dedupeKey: 'once', tags: ['first'] })
  const again = await queue.add('later', {}, { dedupeKey: 'once', tags: ['second'] })
  expect(again).toMatchObject({ id: once.id, isDuplicate: true, tags: [] })
})
