import { randomBytes } from 'node:crypto'
import {
  type Caller,
  callerOf,
  type FairleadError,
  type JobId,
  type ProviderId,
} from '@fairlead/core'
import { type Engine, type EngineEvent, openEngine } from '@fairlead/engine'
import type { Logger } from '@fairlead/server'
import { MemoryStore, TestClock } from '@fairlead/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Resolve } from '../dist/hooks/address-guard.js'
import { HOOK_CALLER, type Hook } from '../dist/hooks/delivery.js'
import { type RunningHooks, startHooks } from '../dist/hooks/start-hooks.js'
import { HookReceiver } from './hook-receiver.ts'

const ACME: Caller = callerOf('acme')
const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} }
const SECRET = randomBytes(32).toString('base64')
const NO_FILTER = { kind: [], name: [], tag: [], caller: [], providerId: [] }
/** All that an event waits for here: nothing takes longer than this. */
const BACKOFF_MS = 7_000

let receiver: HookReceiver
let store: MemoryStore
let clock: TestClock
let engine: Engine
let running: RunningHooks | null

beforeEach(async () => {
  receiver = await HookReceiver.open()
  store = new MemoryStore()
  clock = new TestClock(1_760_000_000_000)
  engine = await openEngine({ store, clock })
  running = null
})
afterEach(async () => {
  receiver.close()
  await running?.close()
  await engine.close()
})

function hook(fields: Partial<Hook> = {}): Hook {
  return {
    id: 'billing',
    url: receiver.url,
    events: ['jobEnqueued'],
    secret: '${env:SECRET}',
    filter: NO_FILTER,
    allow: ['127.0.0.0/8'],
    attempts: 12,
    timeoutMs: 10_000,
    ...fields,
  }
}

async function start(hooks: readonly Hook[], resolve?: Resolve): Promise<void> {
  const secrets = { folder: '.', env: { SECRET } }
  const given = resolve === undefined ? {} : { resolve }
  running = await startHooks({ engine, hooks, secrets, logger: SILENT, retryMs: 1, ...given })
}

function add(name: string, fields: Readonly<Record<string, unknown>> = {}): Promise<JobId> {
  return engine.enqueue({ kind: 'task', payload: { name, args: {} }, ...fields }, { caller: ACME })
}

/** Resolves with the first such event after now. */
function next(isIt: (event: EngineEvent) => boolean): Promise<EngineEvent> {
  return new Promise((resolve) => {
    const stop = engine.onEvent((event) => {
      if (!isIt(event)) return
      resolve(event)
      void stop.then((end) => end())
    })
  })
}

function ended(type: EngineEvent['type'], count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count
    void engine.onEvent((event) => {
      if (event.type === type && --left === 0) resolve()
    })
  })
}

const names = () => receiver.received.map(({ job }) => job?.['name'])

it('HOOK-2: an event goes to the webhooks that ask for it and whose filter fits', async () => {
  await start([
    hook({ id: 'names', filter: { ...NO_FILTER, name: ['resize', 'crop'] } }),
    hook({ id: 'tags', filter: { ...NO_FILTER, tag: ['eu'], kind: ['task'] } }),
    hook({ id: 'callers', filter: { ...NO_FILTER, caller: [callerOf('other')] } }),
    hook({ id: 'ends', events: ['jobCanceled'], filter: { ...NO_FILTER, caller: [ACME] } }),
    hook({ id: 'providers', filter: { ...NO_FILTER, providerId: ['provider:atlas'] } }),
  ])
  const sent = ended('jobCompleted', 4)
  const jobId = await add('resize')
  await add('render', { tags: ['eu', 'big'] })
  await add('crop')
  await engine.cancel(jobId, ACME)
  await sent
  const found = receiver.received.map(({ data, job }) => [data.type, job?.['name'], job?.['tags']])
  expect(found.sort()).toEqual([
    ['jobCanceled', 'resize', []],
    ['jobEnqueued', 'crop', []],
    ['jobEnqueued', 'render', ['eu', 'big']],
    ['jobEnqueued', 'resize', []],
  ])
})

it('HOOK-2: no event of a delivery is delivered', async () => {
  await start([hook({ events: ['*'] })])
  const done = next(({ type }) => type === 'jobCompleted')
  await add('resize')
  await done
  // Whatever the delivery caused has its number by now, and the event of the next job comes after it.
  const again = ended('jobCompleted', 1)
  await add('crop')
  await again
  expect(names()).toEqual(['resize', 'crop'])
})

it('HOOK-3: a task of that name which somebody else enqueues is not signed', async () => {
  await start([hook()])
  const failed = next(({ type }) => type === 'jobFailed')
  const args = { id: 'evt_1', body: '{"data":{}}' }
  const payload = { name: 'fairlead.webhook.billing', args }
  const jobId = await engine.enqueue({ kind: 'task', payload }, { caller: ACME })
  await failed
  const [failure] = await engine.failures(jobId)
  expect(failure?.code).toBe('invalid_input')
  expect(receiver.received).toEqual([])
})

it('HOOK-3: where providers are not trusted, deliveries keep their own terms', async () => {
  // The clock of this test goes faster than a worker can tell that it lives.
  await engine.setPolicy({ registry: { heartbeat_timeout_ms: 86_400_000 } }, 'fund')
  await start([hook()])
  receiver.answer = () => 500
  for (let attempt = 1; attempt <= 4; attempt++) {
    const requeued = next(({ type }) => type === 'jobRequeued')
    if (attempt === 1) await add('first')
    else await clock.advance(2 ** attempt * BACKOFF_MS)
    await requeued
  }
  receiver.answer = () => 204
  const done = next(({ type }) => type === 'jobCompleted')
  await clock.advance(2 ** 5 * BACKOFF_MS)
  await done
  const provider = engine.view.provider('provider:fairlead.webhook.billing' as ProviderId)
  expect(provider).toMatchObject({ health: 1_000, failures: 0 })
})

it('HOOK-4: what an endpoint refuses comes again after the backoff, with the same id', async () => {
  await start([hook()])
  const answers = [500, 302, 204]
  receiver.answer = () => answers.shift() ?? 204
  for (let attempt = 1; attempt < 3; attempt++) {
    const requeued = next(({ type }) => type === 'jobRequeued')
    if (attempt === 1) await add('resize')
    else await clock.advance(BACKOFF_MS)
    await requeued
    expect(receiver.received).toHaveLength(attempt)
  }
  const done = next(({ type }) => type === 'jobCompleted')
  await clock.advance(2 * BACKOFF_MS)
  await done
  const ids = new Set(receiver.received.map(({ headers }) => headers['webhook-id']))
  const bodies = new Set(receiver.received.map(({ body }) => body))
  expect([receiver.received.length, ids.size, bodies.size]).toEqual([3, 1, 1])
})

it('HOOK-4: a delivery ends with its last attempt, and says why', async () => {
  await start([hook({ attempts: 1, url: 'http://127.0.0.1:1/closed' })])
  const failed = next(({ type }) => type === 'jobFailed')
  await add('resize')
  const { jobId } = (await failed) as { readonly jobId: JobId } & EngineEvent
  expect(await engine.failures(jobId)).toMatchObject([
    { code: 'network', message: 'no answer: ECONNREFUSED' },
  ])
})

it('HOOK-4: an endpoint that does not answer costs an attempt after timeout_ms', async () => {
  receiver.answer = () => null
  await start([hook({ attempts: 1, timeoutMs: 100 })])
  const failed = next(({ type }) => type === 'jobFailed')
  await add('resize')
  const { jobId } = (await failed) as { readonly jobId: JobId } & EngineEvent
  expect((await engine.failures(jobId))[0]?.code).toBe('timeout')
})

it('HOOK-4: an endpoint says how long to wait', async () => {
  receiver.answer = (_, response) => {
    response.setHeader('retry-after', '120')
    return 503
  }
  await start([hook()])
  const requeued = next(({ type }) => type === 'jobRequeued')
  await add('resize')
  const { jobId } = (await requeued) as { readonly jobId: JobId } & EngineEvent
  const { notBefore } = await engine.getJob(jobId)
  expect(notBefore).toBe(clock.now() + 120_000)
})

it('HOOK-4, FOLLOW-1: no event is lost and none makes two jobs, whenever the process ends', async () => {
  await start([hook()])
  // The process ends before it can note how far it has come.
  engine.followers.reached = () => Promise.reject(new Error('the process ended'))
  const sent = ended('jobCompleted', 2)
  await add('first')
  await add('second')
  await sent
  await crash()
  expect(engine.followers.list().get('fairlead.webhook.billing')).toBe(0)
  // While no server runs a webhook, the journal goes on.
  await add('third')
  const rest = ended('jobCompleted', 1)
  await start([hook()])
  await rest
  const all = next(({ type }) => type === 'jobCompleted')
  await add('fourth')
  await all
  expect(names().sort()).toEqual(['first', 'fourth', 'second', 'third'])
})

/** The engine goes on from its store, as after a crash. */
async function crash(): Promise<void> {
  await running?.close()
  await engine.close()
  engine = await openEngine({ store, clock })
}

it('HOOK-4: deliveries wait while there is no room in the queue', async () => {
  await start([hook()])
  await running?.close()
  await engine.setPolicy({ queue: { max_depth: 2 } })
  await add('first')
  await add('second')
  let tell: (fields: object) => void = () => {}
  const told = new Promise<object>((resolve) => {
    tell = resolve
  })
  const secrets = { folder: '.', env: { SECRET } }
  const logger = { ...SILENT, warn: tell }
  running = await startHooks({ engine, hooks: [hook()], secrets, logger, retryMs: 1 })
  expect(await told).toMatchObject({ err: { code: 'QueueOverCapacity' }, hook: 'billing' })
  const sent = ended('jobCompleted', 2)
  await engine.setPolicy({ queue: { max_depth: 100 } })
  await sent
  expect(names().sort()).toEqual(['first', 'second'])
})

it('HOOK-6: an answer of DNS that changes after the check changes nothing', async () => {
  const other = await HookReceiver.open('127.0.0.2', receiver.port)
  let asked = 0
  const resolve: Resolve = (_, found) => {
    asked++
    found(null, [{ address: asked === 1 ? '127.0.0.2' : '127.0.0.1', family: 4 }])
  }
  try {
    await start(
      [hook({ url: `http://hooks.test:${receiver.port}/`, allow: ['127.0.0.2'] })],
      resolve,
    )
    const done = next(({ type }) => type === 'jobCompleted')
    await add('resize')
    await done
    expect([asked, other.received.length, receiver.received.length]).toEqual([1, 1, 0])
    const requeued = next(({ type }) => type === 'jobRequeued')
    await add('crop')
    const { jobId } = (await requeued) as { readonly jobId: JobId } & EngineEvent
    expect((await engine.failures(jobId))[0]).toMatchObject({
      code: 'address_refused',
      message: expect.stringContaining('hooks.test is 127.0.0.1'),
    })
    expect(receiver.received).toEqual([])
  } finally {
    other.close()
  }
})

it('HOOK-6: an address in the URL is checked, too', async () => {
  const urls = [
    'http://127.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://2130706433/',
  ]
  for (const [i, url] of urls.entries()) {
    await start([hook({ id: `h${i}`, url, allow: [], attempts: 1 })])
    const failed = next(({ type }) => type === 'jobFailed')
    await add('resize')
    const { jobId } = (await failed) as { readonly jobId: JobId } & EngineEvent
    expect((await engine.failures(jobId))[0]?.code).toBe('address_refused')
    await running?.close()
  }
})

it('HOOK-7: a webhook that is removed ends with its deliveries', async () => {
  receiver.answer = () => 500
  await start([hook()])
  const requeued = next(({ type }) => type === 'jobRequeued')
  await add('resize')
  const { jobId } = (await requeued) as { readonly jobId: JobId } & EngineEvent
  await running?.close()
  const cancelled = next(({ type }) => type === 'jobCanceled')
  await start([])
  await cancelled
  expect((await engine.getJob(jobId)).status).toBe('CANCELED')
  expect([...engine.followers.list()]).toEqual([])
  // It begins anew with the events after now.
  receiver.answer = () => 204
  await start([hook({ events: ['jobEnqueued'] })])
  const done = next(({ type }) => type === 'jobCompleted')
  await add('crop')
  await done
  expect(names()).toEqual(['resize', 'crop'])
})

it('HOOK-3: deliveries have a caller of their own', async () => {
  await start([hook()])
  const done = next(({ type }) => type === 'jobCompleted')
  await add('resize')
  const { jobId } = (await done) as { readonly jobId: JobId } & EngineEvent
  expect(await engine.getJob(jobId)).toMatchObject({
    caller: HOOK_CALLER,
    model: 'fairlead.webhook.billing',
    providerId: 'provider:fairlead.webhook.billing',
  })
  const foreign = await engine.cancel(jobId, ACME).catch((error: FairleadError) => error.code)
  expect(foreign).toBe('Forbidden')
})
